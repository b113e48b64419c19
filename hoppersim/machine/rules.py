"""What every number of a specification must satisfy, read from its annotations, and the check itself."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeGuard, get_args, get_type_hints

import msgspec

from hoppersim.errors import InputError
from hoppersim.machine.specification import Specification

COSTS = "costs"


@dataclass(frozen=True)
class FieldRule:
    """Type, unit and bounds of one number of the specification."""

    path: str
    kind: type
    unit: str
    description: str
    ge: float | None = None
    gt: float | None = None
    le: float | None = None

    @property
    def bounds(self) -> str:
        """The bounds in words; empty where there are none."""
        parts = [("at least", self.ge), ("above", self.gt), ("at most", self.le)]
        return " and ".join(f"{word} {whole(limit)}" for word, limit in parts if limit is not None)

    def check(self, value: object, path: str | None = None) -> int | float:
        """Return the value in the field's type.

        Parameters
        ----------
        value
            What a preset or a user gave, in the field's unit.
        path
            Name to report instead of the rule's own; costs share one rule.

        Raises
        ------
        InputError
            If the type is wrong or the value lies out of range.
        """
        where = path or self.path
        if not _is_finite(value):
            raise InputError(where, value, f"must be a finite number in {self.unit}", self.bounds or None)
        if self.kind is int and value != int(value):
            raise InputError(
                where, value, f"must be a whole number in {self.unit}", self._clamp(round(value))
            )
        if self._clamp(value) != value:
            raise InputError(where, value, f"must be {self.bounds} {self.unit}", self._clamp(value))
        return self.kind(value)  # type: ignore[no-any-return]

    def _clamp(self, value: float) -> float | str:
        if self.gt is not None and value <= self.gt:
            return f"any value above {whole(self.gt)}"
        lower = value if self.ge is None else max(value, self.ge)
        upper = lower if self.le is None else min(lower, self.le)
        return self.kind(upper)  # type: ignore[no-any-return]


def whole(number: float) -> str:
    """Write a number, whole ones below 10^15 with all their digits."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{number:g}"


def _is_finite(value: object) -> TypeGuard[int | float]:
    """Tell whether a value is a finite number; a whole one may be larger than any float."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def sections() -> dict[str, type[msgspec.Struct]]:
    """Give the section structs of the specification by name, costs and name left out."""
    hints = get_type_hints(Specification)
    return {
        name: hint
        for name, hint in hints.items()
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct)
    }


@cache
def section_rules(section: str) -> dict[str, FieldRule]:
    """Give the rules of a section by field name."""
    hints = get_type_hints(sections()[section], include_extras=True)
    fields = sections()[section].__struct_fields__
    return {name: _rule(f"{section}.{name}", hints[name]) for name in fields}


@cache
def cost_rule() -> FieldRule:
    """Give the rule that every operation cost must satisfy."""
    hint = get_type_hints(Specification, include_extras=True)[COSTS]
    return _rule(COSTS, get_args(hint)[1])


def _rule(path: str, hint: Any) -> FieldRule:
    kind, meta = get_args(hint)
    unit = (meta.extra or {})["unit"]
    return FieldRule(path, kind, unit, meta.description or "", meta.ge, meta.gt, meta.le)


def is_name(value: object) -> bool:
    """Tell whether a value can be the name of a machine or a floorplan: text that can be read."""
    return isinstance(value, str) and value.isprintable() and bool(value.strip())


def require_known(path: str, name: str, known: Iterable[str], what: str) -> None:
    """Refuse a name that is not among the known ones.

    Parameters
    ----------
    path
        Full path to report.
    name
        The name given.
    known
        All legal names.
    what
        What the names are, in the singular, for the message.

    Raises
    ------
    InputError
        Naming the closest legal name.
    """
    names = list(known)
    if name in names:
        return
    raise InputError(path, name, f"is no known {what}", closest(name, names))


def closest(name: str, names: Iterable[str]) -> str | None:
    """Give the known name that is most like the given one."""
    found = get_close_matches(name, list(names), n=1, cutoff=0.0)
    return found[0] if found else None
