"""What the rows of a study show, in sentences that are worked out from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from hoppersim.dataset import error_summary
from hoppersim.sweep.figures import KNOWN, show
from hoppersim.sweep.study import Aim

if TYPE_CHECKING:
    from hoppersim.sweep.plan import Plan

Row = Mapping[str, Any]

DEFAULT_GOALS: dict[str, Aim] = {"tb_per_second": "max", "cycles": "min"}
"""What a study without objectives is judged by: the first that its table has."""
_LEFT_OUT = {
    "refused": "cannot be launched",
    "outside": "lie outside the limits",
    "hang": "hang",
    "failed": "failed",
}
_MOST = {"min": "least", "max": "most"}


def describe(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Say which points are best, what matters most, and what was left out.

    Parameters
    ----------
    plan
        The study.
    rows
        Its rows.

    Returns
    -------
    list of str
        Sentences; the first is about the best points.
    """
    goal, aim = _goal(plan)
    able = [row for row in rows if row["status"] == "ok" and row.get(goal) is not None]
    if not able:
        return _left_out(rows)
    first = _front(plan, rows) if len(plan.sweep.objectives) > 1 else _best(plan, able, goal, aim)
    return [first, *_weights(plan, able, goal), *_left_out(rows), *_trust(plan)]


def _trust(plan: Plan) -> list[str]:
    """Say how far the times of the measured preset are from silicon."""
    summary = error_summary()
    if "set aside" not in summary.groups or all(point.machine != summary.preset for point in plan.points):
        return []
    error = summary.groups["set aside"]["p90"]
    return [
        f"Nine in ten times of {summary.preset} were within {error:.0%} of an H200, where it was measured."
    ]


def _goal(plan: Plan) -> tuple[str, Aim]:
    """Give what points are judged by: the first objective that is measured, else the first one."""
    objectives = plan.sweep.objectives
    measured = [name for name in objectives if name in plan.columns.figures and name not in KNOWN]
    if objectives:
        name = (measured or list(objectives))[0]
        return name, objectives[name]
    return next(
        ((name, aim) for name, aim in DEFAULT_GOALS.items() if name in plan.columns.figures), ("", "max")
    )


def value_text(plan: Plan, name: str, value: Any) -> str:
    """Write a value with its unit, unless its name is one."""
    unit = plan.columns.units.get(name, "")
    return show(name, value) if unit in name else f"{show(name, value)} {unit}"


def settings_text(plan: Plan, row: Row) -> str:
    """Write where a point lies; what is compared is said elsewhere."""
    names = [name for name in plan.columns.parameters if name not in plan.sweep.objectives]
    return ", ".join(f"{name} = {value_text(plan, name, row[name])}" for name in names)


def _best(plan: Plan, able: Sequence[Row], goal: str, aim: Aim) -> str:
    ordered = sorted(able, key=lambda row: row[goal], reverse=aim == "max")
    best, worst = ordered[0], ordered[-1]
    limit = f", limited by {best['limiter']}" if best.get("limiter") else ""
    where = [f"{settings_text(plan, row)}: {value_text(plan, goal, row[goal])}" for row in (best, worst)]
    return f"{goal} is best at {where[0]}{limit}; worst at {where[1]}."


def _front(plan: Plan, rows: Sequence[Row]) -> str:
    objectives = plan.sweep.objectives
    named = ", ".join(f"{name} ({_MOST[aim]})" for name, aim in objectives.items())
    first = next(iter(objectives))
    front = sorted((row for row in rows if row["pareto"]), key=lambda row: row[first])
    ends = [
        ", ".join(f"{name} {value_text(plan, name, row[name])}" for name in objectives)
        + f" at {settings_text(plan, row)}"
        for row in (front[0], front[-1])
    ]
    count = sum(row["status"] == "ok" for row in rows)
    return f"{len(front)} of {count} points form the Pareto set of {named}: from {ends[0]}; to {ends[1]}."


def _weights(plan: Plan, able: Sequence[Row], goal: str) -> list[str]:
    """Say which parameters move the goal most and least, all else equal."""
    spreads = {" with ".join(group): _spread(plan, able, goal, group) for group in plan.groups}
    known = sorted(((spread, name) for name, spread in spreads.items() if spread), reverse=True)
    if len(known) < 2:
        return []
    (most, strong), (least, weak) = known[0], known[-1]
    text = (
        f"All else equal, {goal} differs most by {strong}: {most:.2f}x from lowest to highest in the median; "
        f"least by {weak}: {least:.2f}x."
    )
    return [text]


def _spread(plan: Plan, able: Sequence[Row], goal: str, group: Sequence[str]) -> float:
    """Give highest over lowest among points that differ in `group` alone, in the median; 0 if unknown."""
    alike: dict[str, list[float]] = {}
    for row in able:
        others = [(name, row[name]) for name in plan.columns.parameters if name not in group]
        alike.setdefault(repr(others), []).append(row[goal])
    ratios = [max(values) / min(values) for values in alike.values() if len(values) > 1 and min(values) > 0]
    return median(ratios) if ratios else 0.0


def _left_out(rows: Sequence[Row]) -> list[str]:
    counts = Counter(row["status"] for row in rows)
    parts = [f"{counts[status]} {text}" for status, text in _LEFT_OUT.items() if counts[status]]
    return [f"Of {len(rows)} points, {', '.join(parts)}."] if parts else []
