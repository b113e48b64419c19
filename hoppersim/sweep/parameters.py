"""What a study can vary: every number of a machine, every field of a case, and places in a flow file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hoppersim.errors import InputError
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.machine.overrides import apply_overrides
from hoppersim.machine.rules import COSTS, closest, section_rules
from hoppersim.machine.tables import TABLES, ZERO
from hoppersim.program.case_spec import Case, check_case
from hoppersim.program.files import load_work
from hoppersim.program.plain import plain
from hoppersim.sweep.works import SIZES, case_names, case_value, make_case

MACHINE_FILES = ("preset", "floorplan")
FLOW = "flow"
_IN_FLOW = re.compile(r"flows\[\d+\]\.")
_TABLE_PATHS = tuple(f"tables.{name}" for name in TABLES)
_NEUTRAL = Case("unicast", pattern="sweep", consumer="warps")
"""Goes with any legal value of a field, so that what it refuses is illegal by itself."""


class Parameters:
    """The parameters that a study can vary on a base machine.

    Parameters
    ----------
    base
        The machine, with the numbers that are fixed in the study.
    flow
        Whether the work comes from a flow file instead of a case.
    """

    def __init__(self, base: Machine, *, flow: bool) -> None:
        self.flow = flow
        others = ("floorplan", *_TABLE_PATHS)
        self._entries = {path: entry for path, entry in base.provenance.items() if path not in others}

    def names(self) -> Iterator[str]:
        """List the names of all parameters; places in a flow file are too many to list."""
        yield from self._entries
        yield from _TABLE_PATHS
        yield from MACHINE_FILES
        yield from (FLOW,) if self.flow else case_names()

    def of_machine(self, name: str) -> bool:
        """Whether the parameter is a number or a table of the machine, as in ``--set``."""
        return name in self._entries or name in _TABLE_PATHS

    def of_flow(self, name: str) -> bool:
        """Whether the parameter is a place in the flow file."""
        return self.flow and _IN_FLOW.match(name) is not None

    def require(self, where: str, name: str) -> None:
        """Refuse a name that is no parameter.

        Raises
        ------
        InputError
            With the nearest name; `where` is the table of the study that has it.
        """
        if self.of_flow(name) or name in self.names():
            return
        rule = "is no parameter of the machine or of the work"
        if name in case_names() or _IN_FLOW.match(name):
            rule = "has no meaning here: the study runs a case or a flow file, not both"
        raise InputError(f"{where}.{name}", name, rule, closest(name, self.names()))

    def unit(self, name: str) -> str:
        """Give the unit of a parameter; empty where it has none."""
        if name in self._entries:
            return self._entries[name].unit
        return "B" if name in SIZES else "cycle" if name == "compute" else ""

    def is_whole(self, name: str) -> bool:
        """Whether a parameter takes whole numbers only."""
        section, _, field = name.partition(".")
        if name not in self._entries:
            return True
        return section != COSTS and section_rules(section)[field].kind is int

    def check(self, where: str, name: str, value: Any) -> Any:
        """Give a value as the parameter has it, if it is legal by itself.

        Parameters
        ----------
        where
            Table of the study, for the message.
        name, value
            The parameter and its value.

        Raises
        ------
        InputError
            With the nearest legal value.
        """
        try:
            return self._checked(name, value)
        except InputError as error:
            field = f"{where}.{error.field}" if error.field == name else f"{where}.{name}: {error.field}"
            raise InputError(field, error.value, error.rule, error.nearest) from None

    def _checked(self, name: str, value: Any) -> Any:
        if self.of_machine(name):
            return self._checked_number(name, value)
        if name in case_names():
            case = make_case(plain(_NEUTRAL) | {name: value})
            check_case(case)
            return case_value(name, value)
        if name in MACHINE_FILES and value is not None:
            load_machine(**{name: value})
        elif name == FLOW:
            load_work(value)
        return value

    def _checked_number(self, name: str, value: Any) -> Any:
        if not isinstance(value, int | float | str):
            raise InputError(name, value, "must be a number or a text")
        if name in _TABLE_PATHS and value != ZERO and not Path(str(value)).is_file():
            raise InputError(name, value, "must be a CSV file that exists", ZERO)
        entries = dict(self._entries)
        apply_overrides(entries, {}, [override(name, value)])
        return entries[name].value if name in entries else value


def override(name: str, value: Any) -> str:
    """Write a changed number of a machine as ``--set`` takes it."""
    return f"{name}={int(value) if isinstance(value, bool) else value}"
