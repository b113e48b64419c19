"""Generated parts of the docs: what each block of the model earns, and the ten largest errors."""

from __future__ import annotations

from collections.abc import Sequence

from hoppersim.dataset import Dataset, ErrorSummary
from hw_validate.compare_targets import (
    CLOSED_FORM,
    COMPLETE,
    Seen,
    beside,
    beside_names,
    error_table,
    gets_worse,
)

PORTION = "training"
"""Points that ablations are shown for."""
NO_ABLATIONS = "None is kept: `hw-validate compare --ablations 40 --write` keeps them."
NO_WORST = "None is kept: `hw-validate compare --points set-aside --seeds 8 --write` keeps them."


def ablation_block(dataset: Dataset, summary: ErrorSummary) -> str:
    """Write the errors with all blocks, and without each of them, with a verdict."""
    rows = [row for row in error_table(summary, (PORTION,)) if COMPLETE in row.beside]
    if not rows:
        return "\n".join(["", NO_ABLATIONS, ""])
    count = summary.baseline[beside(COMPLETE, PORTION)]["points"]
    about = (
        f"Of {count:.0f} {PORTION} points, drawn evenly, on {summary.preset} ({summary.date}); a block "
        "earns its place if a figure gets worse without it, by 0.1 percentage points or more:"
    )
    lines = [
        "", about, "",
        "| model | " + " | ".join(row.target.name for row in rows) + " | verdict |",
        "|---|" + "---:|" * len(rows) + "---|",
    ]  # fmt: skip
    for name in [name for name in beside_names(summary) if name != CLOSED_FORM]:
        cells = [row.target.text(row.beside[name]) if name in row.beside else "-" for row in rows]
        lines.append("| " + " | ".join((name, *cells, _verdict(rows, name))) + " |")
    return "\n".join([*lines, ""])


def _verdict(rows: Sequence[Seen], name: str) -> str:
    if name == COMPLETE:
        return "all blocks"
    return "earns its place" if any(gets_worse(row, name) for row in rows) else "**earns nothing here**"


def worst_block(dataset: Dataset, summary: ErrorSummary) -> str:
    """Write the points set aside whose times are most wrong."""
    if not summary.worst:
        return "\n".join(["", NO_WORST, ""])
    lines = [
        "", f"Compared on {summary.date}, times in SM cycles of the slowest CTA:", "",
        "| point | measured | simulated | error | limiter | deviation |",
        "|---|---:|---:|---:|---|---|",
    ]  # fmt: skip
    for row in summary.worst:
        times = f"{row.measured:,.0f} | {row.simulated:,.0f} | {row.error:+.0%}"
        lines.append(f"| `{row.label}` | {times} | {row.limiter} | {row.deviation or '-'} |")
    return "\n".join([*lines, ""])
