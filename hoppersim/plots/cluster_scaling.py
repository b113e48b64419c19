"""The figure of the cluster-scaling study: rate over cluster size, per used SM and per SM of the chip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hoppersim.experiments.cluster_scaling import MEMORIES, MEMORY_NAMES, MODE_NAMES
from hoppersim.experiments.study import Row, Study
from hoppersim.plots.style import INK, MUTED, RC, SERIES, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEASURES = (("sms_used", "per used SM [B/cycle]"), ("sms_of_chip", "per SM of the chip [B/cycle]"))
_DOTS = (0, (1, 1))
_BOUND_NAMES = {"multicast": "bound, one tile for the cluster", "unicast_distinct": "bound, distinct tiles"}
"""Both ways of multicast have one bound."""


def draw(study: Study, rows: Sequence[Row]) -> Figure:
    """Draw simulated rates, their bounds, and silicon where the rows have it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    known = [row for row in rows if row["cycles"]]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 7.4), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True, sharey="row")
        for column, memory in enumerate(MEMORIES):
            chosen = [row for row in known if row["memory"] == memory]
            for line, (divisor, label) in enumerate(_MEASURES):
                _panel(axes[line][column], chosen, divisor)
                if column == 0:
                    axes[line][column].set_ylabel(f"delivered, {label}")
            axes[0][column].set_title(MEMORY_NAMES[memory])
            axes[1][column].set_xlabel("CTAs of a cluster")
        if known:
            _chip_axis(axes[1][1], known[0])
            figure.suptitle(_title(study, known[0]), color=INK)
        _legend(figure, axes[0][0], silicon=any(row["silicon_cycles"] for row in known))
    return figure


def _title(study: Study, row: Row) -> str:
    return f"{study.title}\n{row['machine']}, {row['tile_bytes'] // 1024} KiB tiles, {row['stages']} stages"


def _panel(axes: Axes, rows: Sequence[Row], divisor: str) -> None:
    for (mode, name), look in zip(MODE_NAMES.items(), SERIES, strict=True):
        series = _series(rows, mode)
        clusters = [row["cluster"] for row in series]
        if not series:
            continue
        axes.plot(
            clusters, [_rate(row, "cycles", divisor) for row in series], label=name, zorder=3, **look.line
        )
        bounds = [_rate(row, "bound_cycles", divisor) for row in series]
        axes.plot(clusters, bounds, color=look.colour, linewidth=1.2, linestyle=_DOTS, zorder=2)
        if mode in _BOUND_NAMES and divisor == "sms_used":
            axes.annotate(
                _BOUND_NAMES[mode],
                (clusters[-1], bounds[-1]),
                xytext=(0, 2),
                textcoords="offset points",
                ha="right",
                va="bottom",
                fontsize=8,
                color=look.colour,
            )
        _silicon(axes, series, divisor, look)
    axes.set_xscale("log", base=2)
    ticks = sorted({row["cluster"] for row in rows})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)


def _rate(row: Row, cycles: str, divisor: str) -> float:
    """Give delivered bytes over a time and a number of SMs [B/cycle]; not a number where there is no time."""
    return row["delivered_bytes"] / row[cycles] / row[divisor] if row[cycles] else float("nan")


def _series(rows: Sequence[Row], mode: str) -> list[Row]:
    """Give the rows of a way by cluster size; a CTA alone stands for every way of its kind."""
    alone = "multicast" if mode.startswith("multicast") else "unicast"
    own = [row for row in rows if row["mode"] == mode and row["cluster"] > 1]
    if not own:
        return []
    first = [row for row in rows if row["mode"] == alone and row["cluster"] == 1]
    return first + sorted(own, key=lambda row: row["cluster"])


def _silicon(axes: Axes, series: Sequence[Row], divisor: str, look: Series) -> None:
    known = [row for row in series if row["silicon_cycles"]]
    axes.scatter(
        [row["cluster"] for row in known],
        [_rate(row, "silicon_cycles", divisor) for row in known],
        s=90,
        facecolors="none",
        edgecolors=look.colour,
        marker=look.marker,
        zorder=4,
    )


def _chip_axis(axes: Axes, row: Row) -> None:
    """Add the rate of the whole chip on the right."""
    factor = row["sms_of_chip"] * row["cycles_per_second"] / 1e12
    right = axes.secondary_yaxis("right", functions=(lambda rate: rate * factor, lambda rate: rate / factor))
    right.set_ylabel("whole chip [TB/s]")


def _legend(figure: Figure, axes: Axes, *, silicon: bool) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color=MUTED, linewidth=1.2, linestyle=_DOTS))
    labels.append("bound")
    if silicon:
        handles.append(Line2D([], [], color=MUTED, linestyle="", marker="o", markersize=9, fillstyle="none"))
        labels.append("measured on an H200")
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
