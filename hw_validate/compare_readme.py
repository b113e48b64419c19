"""The README's measured table: written from the dataset and the error summary alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hoppersim.dataset import Dataset, ErrorSummary
from hw_validate.compare_score import EARLIER_PLANS, KINDS, NEW_PLANS
from hw_validate.compare_store import CLUSTERS, WAYS, scaling_rows
from hw_validate.compare_targets import ASIDE, CLOSED_FORM, TARGETS, Seen, error_table

WAY_NAMES = {
    "multicast": "multicast",
    "unicast": "unicast, same tile",
    "unicast_distinct": "unicast, distinct tiles",
}
MEMORY_NAMES = {"l2": "L2", "hbm": "HBM"}
ABOUT_ERRORS = (
    "Error: (simulated - measured) / the smaller of both, against the median of repeats that agree within "
    "5 %; numbers of points in brackets; **bold** misses what is required. Closed form: the larger of the "
    "bound by rates and the time that the operations of the busiest thread add up to."
)


def measured_block(dataset: Dataset, summary: ErrorSummary) -> str:
    """Write what stands between the README's marks."""
    rows = summary.scaling or scaling_rows(dataset, {})
    run = dataset.manifest.runs[0]
    simulated = any(row["simulated"] is not None for row in rows)
    beside = ", then simulated, then the simulator's error" if simulated else ""
    about = (
        f"SM cycles for each 32 KB tile (four stages, whole chip) on a real {run.device}, {run.first[:10]}"
        f"{beside}; every CTA receives the same bytes:"
    )
    return "\n".join(["", about, "", *_scaling_table(rows), "", *_score_lines(dataset, summary), ""])


def _scaling_table(rows: list[dict[str, Any]]) -> list[str]:
    cells = {(row["memory"], row["mode"], row["cluster"]): row for row in rows}
    lines = [
        "| tiles from, way | " + " | ".join(f"cluster {size}" for size in CLUSTERS) + " |",
        "|---|" + "---:|" * len(CLUSTERS),
    ]
    for memory, name in MEMORY_NAMES.items():
        for way in WAYS:
            texts = [_cell(cells.get((memory, way, size))) for size in CLUSTERS]
            lines.append(f"| {name}, {WAY_NAMES[way]} | " + " | ".join(texts) + " |")
    if any(not row["stable"] for row in rows):
        lines += ["", "~: the repeats on the GPU differ by more than 5 %."]
    return lines


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    mark = "" if row["stable"] else "~"
    if row["simulated"] is None:
        return f"{mark}{row['measured']:,.0f}"
    return f"{mark}{row['measured']:,.0f}, {row['simulated']:,.0f}, {row['error']:+.1%}"


def _score_lines(dataset: Dataset, summary: ErrorSummary) -> list[str]:
    aside = sum(count for why, count in dataset.manifest.set_aside.items() if why)
    checked = sum(point.verified is True for point in dataset.points)
    about = (
        f"The dataset has {len(dataset.points):,} points of {len(dataset.manifest.runs)} H200 parts; "
        f"{aside} were set aside for this score when they were planned. Received data were checked at "
        f"{checked} points."
    )
    if "set aside" not in summary.groups:
        return [about, "Those are not scored yet."]
    looks = _times(len(summary.looks))
    return [
        about, "", *_error_lines(summary),
        f"Compared on {summary.date}; the set-aside score was looked at {looks}.", *_new_lines(summary),
    ]  # fmt: skip


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _new_lines(summary: ErrorSummary) -> list[str]:
    """Write the errors of points that were planned for this score alone, by kind, and of the earlier ones."""
    if NEW_PLANS not in summary.groups:
        return []
    rows = {kind: f"{NEW_PLANS}, {kind}" for kind in KINDS}
    rows |= {"all of these": NEW_PLANS, "points of earlier plans": EARLIER_PLANS}
    looks = sum(look.new > 0 for look in summary.looks)
    about = (
        f"Points planned for this score alone (plan `unseen`), looked at {_times(looks)}, and "
        "the others; rarer kinds are promotion, rows off the grid, stores or pushes beside loads, remote "
        "loads and the like:"
    )
    lines = [
        "", about, "",
        "| points | number | error of the time: median / p90 | closed form |",
        "|---|---:|---:|---:|",
    ]  # fmt: skip
    for name, group in rows.items():
        if group in summary.groups:
            row, other = summary.groups[group], summary.baseline.get(group)
            figures = [_median_and_p90(row), _median_and_p90(other) if other else "-"]
            lines.append(f"| {name} | {row['points']:.0f} | " + " | ".join(figures) + " |")
    return lines


def _median_and_p90(row: Mapping[str, float]) -> str:
    return TARGETS[0].text((row["median"], row["p90"]))


def _error_lines(summary: ErrorSummary) -> list[str]:
    """Write the error table."""
    whole = {row.target.name: row for row in error_table(summary, ("set aside",))}
    parts = {(row.target.name, row.portion): row for row in error_table(summary, ASIDE)}
    lines = [
        "| error at points set aside | required | aim | random points | families | closed form, all |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for target in TARGETS:
        row = whole.get(target.name)
        if row is None:
            continue
        form = "at least " if target.at_least else ""
        limits = [f"{form}{target.text(limits)}" for limits in (target.required, target.aim)]
        cells = [_seen(parts.get((target.name, portion))) for portion in ASIDE]
        if cells == ["-", "-"]:
            cells = [_seen(row), ""]
        other = row.beside.get(CLOSED_FORM)
        cells.append(target.text(other) if other else "-")
        lines.append("| " + " | ".join((target.name, *limits, *cells)) + " |")
    return [*lines, "", ABOUT_ERRORS, ""]


def _seen(row: Seen | None) -> str:
    if row is None:
        return "-"
    text = row.target.text(row.seen)
    return f"{text} ({row.points})" if row.met != "no" else f"**{text}** ({row.points})"
