"""What to run: a flow file, or a case said in one line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hoppersim.errors import InputError

if TYPE_CHECKING:
    from hoppersim.program.case_spec import Case
    from hoppersim.program.work import Work

BOX_HINT = "64x128"


@dataclass(frozen=True)
class CaseOptions:
    """The options of a one-line case; None leaves the case's own default."""

    box: str | None = None
    pattern: str | None = None
    memory: str = "l2"
    numbers: dict[str, int | None] = field(default_factory=dict)

    @property
    def given(self) -> dict[str, object]:
        """The options that the user gave."""
        named: dict[str, object] = {"box": self.box, "pattern": self.pattern, **self.numbers}
        named["memory"] = self.memory if self.memory != "l2" else None
        return {name: value for name, value in named.items() if value is not None}


def open_target(target: str, options: CaseOptions) -> Work:
    """Build the case that `target` names, or load the flow file that it is.

    Raises
    ------
    InputError
        If it is neither, if an option has no meaning, or if case options are given with a file.
    """
    from hoppersim.program.case_spec import MODES
    from hoppersim.program.cases import build_case

    if target.replace("-", "_") in MODES:
        return build_case(make_case(target.replace("-", "_"), options))
    if not Path(target).is_file():
        rule = f"must be a flow file that exists, or one of: {', '.join(MODES)}"
        raise InputError("target", target, rule, _nearest(target, MODES))
    for name, value in options.given.items():
        if name != "grid":
            rule = f"case options have no meaning for a flow file; edit {target}"
            raise InputError(f"--{name}", value, rule)
    from hoppersim.program.files import load_work

    return _with_grid(load_work(Path(target)), options.numbers.get("grid"))


def require_alike(target: str, against: str | None) -> None:
    """Refuse to compare a flow file with a mode, which would run loads of its own.

    Raises
    ------
    InputError
        If one is a file and the other a mode.
    """
    from hoppersim.program.case_spec import MODES

    if against is None:
        return
    modes = [name.replace("-", "_") in MODES for name in (target, against)]
    if modes[0] != modes[1]:
        kind = "a mode" if modes[0] else "a flow file"
        raise InputError(
            "--against", against, f"must be {kind}, as {target} is: a mode runs loads of its own"
        )


def _with_grid(work: Work, grid: int | None) -> Work:
    """Launch another number of CTAs."""
    from msgspec.structs import replace

    if grid is None:
        return work
    flows = (replace(flow, launch=replace(flow.launch, grid=grid)) for flow in work.flows)
    return replace(work, flows=tuple(flows))


def make_case(mode: str, options: CaseOptions) -> Case:
    """Make a case of the one-line options."""
    from hoppersim.program.case_spec import Case

    _choose("--memory", options.memory, ("l2", "hbm"))
    pattern = options.pattern or "sweep"
    _choose("--pattern", pattern, ("hot", "sweep", "one"))
    fields: dict[str, Any] = {name: value for name, value in options.numbers.items() if value is not None}
    fields["rows"], fields["row_bytes"] = parse_box(options.box or BOX_HINT)
    return Case(mode, pattern=pattern, memory=options.memory, **fields)  # type: ignore[arg-type]


def parse_box(text: str) -> tuple[int, int]:
    """Read ``ROWSxBYTES``: rows of a box, and bytes of a row.

    Raises
    ------
    InputError
        If the text is not two whole numbers with an ``x`` between them.
    """
    match = re.fullmatch(r"\s*(\d{1,18})\s*[xX]\s*(\d{1,18})\s*", text)
    if match is None:
        raise InputError("--box", text, "must read ROWSxBYTES, the bytes being those of one row", BOX_HINT)
    return int(match[1]), int(match[2])


def _choose(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(option, value, f"must be one of {', '.join(choices)}", _nearest(value, choices))


def _nearest(value: str, choices: tuple[str, ...]) -> str | None:
    from difflib import get_close_matches

    found = get_close_matches(value, choices, n=1, cutoff=0.3)
    return found[0] if found else None
