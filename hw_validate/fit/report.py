"""A calibration in the terminal and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hw_validate.fit.calibration import Calibration
from hw_validate.fit.outcome import Estimate, Outcome, Step
from hw_validate.fit.writing import provisional_left

if TYPE_CHECKING:
    from rich.console import Console


def show_steps(screen: Console, steps: Sequence[Step]) -> None:
    """List steps in their order."""
    from rich.table import Table

    table = Table("step", "what it fits, and from which points", title="in this order", title_justify="left")
    for step in steps:
        table.add_row(step.name, step.about)
    screen.print(table)


def show(screen: Console, found: Calibration) -> None:
    """Print the numbers of each step with their intervals, then what the data cannot tell."""
    from rich.table import Table

    for outcome in found.outcomes:
        if outcome.estimates:
            screen.print(_title(outcome), markup=False)
            table = Table()
            for name, justify in (("number", "left"), ("value", "right"), ("95 % interval", "right"),
                                  ("unit", "left"), ("before", "right")):  # fmt: skip
                table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
            for item in outcome.estimates:
                table.add_row(
                    item.name, _number(item.value), _interval(item), item.unit, _number(item.before)
                )
            screen.print(table)
        else:
            screen.print(f"{outcome.step}: nothing fitted", markup=False)
        for one, other, r in outcome.correlations:
            text = f"hardly told apart: {one} and {other} (correlation {r:+.2f})"
            screen.print(f"  {text}", markup=False)
        for note in outcome.notes:
            screen.print(f"  note: {note}", markup=False)
    left = provisional_left(found)
    if left:
        screen.print(f"{len(left)} numbers are still provisional: {', '.join(left)}", markup=False)


def document(found: Calibration) -> dict[str, Any]:
    """Give a calibration as plain values; an infinite interval is null."""
    return {
        "preset": found.request.preset,
        "settings": list(found.request.overrides),
        "steps": [_step(outcome) for outcome in found.outcomes],
        "todo": list(found.todo),
        "provisional": provisional_left(found),
    }


def _step(outcome: Outcome) -> dict[str, Any]:
    return {
        "step": outcome.step, "runs": outcome.runs, "points": list(outcome.points),
        "error_before": outcome.error_before, "error_after": outcome.error_after,
        "correlations": [list(item) for item in outcome.correlations], "notes": list(outcome.notes),
        "estimates": [
            {
                "name": item.name, "paths": list(item.paths), "value": item.value, "before": item.before,
                "half_width": item.half_width if math.isfinite(item.half_width) else None, "unit": item.unit,
                "table": item.table.name if item.table else None,
            }
            for item in outcome.estimates
        ],
    }  # fmt: skip


def _title(outcome: Outcome) -> str:
    text = f"{outcome.step}, {len(outcome.points)} points of {outcome.runs}"
    if outcome.error_before is None or outcome.error_after is None:
        return text
    return f"{text}: error {outcome.error_before:.1%} before, {outcome.error_after:.1%} after (RMS)"


def _number(value: float) -> str:
    return f"{value:,.5g}" if abs(value) < 1e5 else f"{value:,.0f}"


def _interval(item: Estimate) -> str:
    if math.isnan(item.half_width):
        return "tried"
    return f"± {item.half_width:.2g}" if math.isfinite(item.half_width) else "any"
