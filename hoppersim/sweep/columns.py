"""Which columns the table of a study has, which of them are limited, and which points are the baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hoppersim.errors import InputError
from hoppersim.machine.rules import closest
from hoppersim.sweep.axes import Factor
from hoppersim.sweep.figures import SPEEDUP, TEXTS, column_names, show, unit_of_column
from hoppersim.sweep.parameters import Parameters
from hoppersim.sweep.study import Limit, Settings, Sweep
from hoppersim.units import parse_bytes

OWN = ("point", "status", "pareto", "reason")
"""Columns that every table has; their names are taken."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    Attributes
    ----------
    parameters, figures
        What varies, slowest first; figures that are kept.
    units
        Unit of each; empty for a text or a share.
    limits
        Lowest and highest value of the columns that are limited; None where there is no end.
    against
        Values of the baseline.
    """

    parameters: tuple[str, ...]
    figures: tuple[str, ...]
    units: dict[str, str]
    limits: dict[str, tuple[float | None, float | None]]
    against: Settings

    def breach(self, values: Mapping[str, Any]) -> str:
        """Say which limit the values break, of those columns that they have; empty if none."""
        for name, (low, high) in self.limits.items():
            value = values.get(name)
            if value is None:
                continue
            if low is not None and value < low:
                return f"{name} = {show(name, value)} lies below the limit of {show(name, low)}"
            if high is not None and value > high:
                return f"{name} = {show(name, value)} lies above the limit of {show(name, high)}"
        return ""


def plan_columns(sweep: Sweep, found: Iterable[Factor], parameters: Parameters) -> Columns:
    """Check which columns a study asks for.

    Raises
    ------
    InputError
        If a column does not exist or cannot be compared, or no point can be the baseline.
    """
    varied: dict[str, list[Any]] = {}
    for factor in found:
        varied |= {name: [settings[name] for settings in factor] for name in factor[0]}
    names = (*varied, *column_names(derived=bool(sweep.against)))
    for name in sweep.columns:
        _require("columns", name, names)
    for where, chosen in (("objectives", sweep.objectives), ("limits", sweep.limits)):
        for name in chosen:
            _require(where, name, names)
            _require_number(where, name, varied.get(name, []))
    wanted = (*sweep.columns, *sweep.objectives, *sweep.limits, *([SPEEDUP] if sweep.against else []))
    figures = tuple(dict.fromkeys(name for name in wanted if name not in varied))
    units = {name: parameters.unit(name) for name in varied} | {
        name: unit_of_column(name) for name in figures
    }
    limits = {name: _ends(name, limit, units[name]) for name, limit in sweep.limits.items()}
    return Columns(tuple(varied), figures, units, limits, _baseline(sweep, varied, parameters))


def _require(where: str, name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        rule = "is no column: no figure, and no parameter that varies"
        raise InputError(f"{where}.{name}", name, rule, closest(name, names))


def _require_number(where: str, name: str, values: list[Any]) -> None:
    if name in TEXTS or any(
        isinstance(value, bool) or not isinstance(value, int | float) for value in values
    ):
        raise InputError(f"{where}.{name}", name, "must be a column of numbers", "cycles")


def _ends(name: str, limit: Limit, unit: str) -> tuple[float | None, float | None]:
    low, high = (_end(f"limits.{name}.{end}", getattr(limit, end), unit) for end in ("min", "max"))
    if low is None and high is None:
        raise InputError(f"limits.{name}", {}, "needs min, max, or both", {"max": 1})
    if low is not None and high is not None and high < low:
        raise InputError(f"limits.{name}.max", high, "must not lie below min", low)
    return low, high


def _end(field: str, value: float | str | None, unit: str) -> float | None:
    if not isinstance(value, str):
        return value
    try:
        if unit == "B":
            return parse_bytes(value)
    except ValueError:
        pass
    raise InputError(field, value, f"must be a number{f' in {unit}' if unit else ''}")


def _baseline(sweep: Sweep, varied: Mapping[str, list[Any]], parameters: Parameters) -> Settings:
    baseline = {}
    for name, value in sweep.against.items():
        if name not in varied:
            raise InputError(
                f"against.{name}", name, "must be a parameter that varies", closest(name, varied)
            )
        baseline[name] = parameters.check("against", name, value)
        if baseline[name] not in varied[name]:
            rule = f"must be a value that the study tries: {', '.join(map(str, varied[name]))}"
            near = closest(str(value), map(str, varied[name]))
            raise InputError(f"against.{name}", value, rule, near)
    return baseline
