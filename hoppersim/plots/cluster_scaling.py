"""The figure of the cluster-scaling study: rates over cluster size, stages and boxes, and stranded SMs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hoppersim.experiments.cluster_scaling import VIEW_CLUSTER, stranded
from hoppersim.experiments.study import MEMORIES, MEMORY_NAMES, MODE_NAMES, Row, Study
from hoppersim.plots.style import (
    BOUND_LINE,
    FAINT,
    INK,
    MUTED,
    RC,
    SERIES,
    bound_key,
    doubling,
    silicon,
    silicon_key,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_MEASURES = (("sms_used", "per used SM [B/cycle]"), ("sms_of_chip", "per SM of the chip [B/cycle]"))
_BOUND_NAMES = {"multicast": "bound, one tile for the cluster", "unicast_distinct": "bound, distinct tiles"}
"""Both ways of multicast have one bound."""
_APART = 0.06
"""Doublings between the measured marks of neighbouring ways, so that equal rates do not hide each other."""


def draw(study: Study, rows: Sequence[Row]) -> Figure:
    """Draw simulated rates, their bounds, and silicon where the rows have it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    known = [row for row in rows if row["cycles"]]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 10.8), layout="constrained")
        main, views = figure.subfigures(2, 1, squeeze=False, height_ratios=(2, 1))[:, 0]
        clusters = [row for row in known if row["view"] == "clusters"]
        _cluster_panels(main, clusters)
        _view_panels(views, known)
        if clusters:
            figure.suptitle(_title(study, clusters[0]), color=INK)
        keys = [
            Line2D([], [], label=name, **look.line)
            for (mode, name), look in zip(MODE_NAMES.items(), SERIES, strict=True)
            if any(row["mode"] == mode for row in known)
        ]
        measured = [silicon_key()] if any(row["silicon_cycles"] for row in known) else []
        figure.legend(handles=[*keys, bound_key(), *measured], loc="outside lower center", ncols=3)
    return figure


def _title(study: Study, row: Row) -> str:
    return f"{study.title}\n{row['machine']}, {row['tile_bytes'] // 1024} KiB tiles, {row['stages']} stages"


def _cluster_panels(figure: SubFigure, clusters: Sequence[Row]) -> None:
    """Draw rate over cluster size, memory by memory, for used SMs and for all."""
    panels = figure.subplots(2, len(MEMORIES), sharex=True, sharey="row", squeeze=False)
    for column, memory in enumerate(MEMORIES):
        chosen = [row for row in clusters if row["memory"] == memory]
        for (divisor, label), axes in zip(_MEASURES, panels[:, column], strict=True):
            _panel(axes, chosen, "cluster", divisor)
            if column == 0:
                axes.set_ylabel(f"delivered, {label}")
        panels[0][column].set_title(MEMORY_NAMES[memory])
        panels[1][column].set_xlabel("CTAs of a cluster")
        _name_bounds(panels[0][column], chosen)
    if clusters:
        _chip_axis(panels[1][-1], clusters[0])


def _view_panels(figure: SubFigure, known: Sequence[Row]) -> None:
    """Draw rate over stages and boxes, and the SMs that each cluster size strands."""
    deep, split, lost = figure.subplots(1, 3)
    memory = MEMORIES[0]
    where = f"{MEMORY_NAMES[memory]}, clusters of {VIEW_CLUSTER},"
    for axes, view, label in ((deep, "stages", "stages of the ring"), (split, "boxes", "boxes of a tile")):
        chosen = [row for row in known if row["view"] == view and row["memory"] == memory]
        _panel(axes, chosen, view, "sms_used")
        size = f"{chosen[0]['tile_bytes'] // 1024} KiB tiles" if chosen else ""
        axes.set_title(f"{where} {size}", fontsize=9)
        axes.set_xlabel(label)
        axes.set_ylabel("per used SM [B/cycle]")
    _stranded_panel(lost, [row for row in known if row["view"] == "clusters"])


def _panel(axes: Axes, rows: Sequence[Row], key: str, divisor: str) -> None:
    """Draw the rate of each way over `key`, with its bound and what was measured."""
    for number, (mode, look) in enumerate(zip(MODE_NAMES, SERIES, strict=True)):
        series = _series(rows, mode, key)
        places = [row[key] for row in series]
        axes.plot(places, [_rate(row, "cycles", divisor) for row in series], zorder=3, **look.line)
        bounds = [_rate(row, "bound_cycles", divisor) for row in series]
        axes.plot(places, bounds, color=look.colour, **BOUND_LINE)
        shift = 2 ** (_APART * (number - (len(SERIES) - 1) / 2))
        measured = [_rate(row, "silicon_cycles", divisor) for row in series]
        silicon(axes, [place * shift for place in places], measured, look)
    if rows:
        doubling(axes, [row[key] for row in rows])
    top = max((_rate(row, "bound_cycles", divisor) for row in rows), default=1.0)
    axes.set_ylim(0, 1.12 * top)


def _rate(row: Row, cycles: str, divisor: str) -> float:
    """Give delivered bytes over a time and a number of SMs [B/cycle]; not a number where there is no time."""
    return row["delivered_bytes"] / row[cycles] / row[divisor] if row[cycles] else float("nan")


def _series(rows: Sequence[Row], mode: str, key: str) -> list[Row]:
    """Give the rows of a way in the order of `key`; a CTA alone stands for every way of its kind."""
    alone = "multicast" if mode.startswith("multicast") else "unicast"
    own = [row for row in rows if row["mode"] == mode and row["cluster"] > 1]
    if not own:
        return []
    first = [row for row in rows if row["mode"] == alone and row["cluster"] == 1]
    return first + sorted(own, key=lambda row: row[key])


def _name_bounds(axes: Axes, rows: Sequence[Row]) -> None:
    for mode, look in zip(MODE_NAMES, SERIES, strict=True):
        series = _series(rows, mode, "cluster")
        if mode in _BOUND_NAMES and series:
            axes.annotate(
                _BOUND_NAMES[mode],
                (series[-1]["cluster"], _rate(series[-1], "bound_cycles", "sms_used")),
                xytext=(0, 6),
                textcoords="offset points",
                ha="right",
                va="bottom",
                fontsize=8,
                color=look.colour,
            )


def _stranded_panel(axes: Axes, clusters: Sequence[Row]) -> None:
    """Draw how many SMs the clusters of each size reach, and how many they strand."""
    lost = stranded(clusters)
    names = [str(size) for size in lost]
    total = max((row["sms_of_chip"] for row in clusters), default=0)
    left = list(lost.values())
    axes.bar(names, [total - count for count in left], color=MUTED, width=0.6)
    axes.bar(
        names,
        left,
        bottom=[total - count for count in left],
        color=FAINT,
        hatch="////",
        edgecolor=MUTED,
        width=0.6,
    )
    for name, count in zip(names, left, strict=True):
        axes.annotate(f"{count}", (name, total), xytext=(0, 2), textcoords="offset points", ha="center")
    axes.set_ylim(0, 1.12 * total if total else 1)
    axes.set_axisbelow(True)
    axes.set_title("SMs stranded (hatched) and used", fontsize=9)
    axes.set_xlabel("CTAs of a cluster")
    axes.set_ylabel("SMs")
    axes.grid(visible=False, axis="x")


def _chip_axis(axes: Axes, row: Row) -> None:
    """Add the rate of the whole chip on the right."""
    factor = row["sms_of_chip"] * row["cycles_per_second"] / 1e12
    right = axes.secondary_yaxis("right", functions=(lambda rate: rate * factor, lambda rate: rate / factor))
    right.set_ylabel("whole chip [TB/s]")
