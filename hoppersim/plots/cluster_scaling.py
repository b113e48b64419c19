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

_MEASURES = (("used_sm", "per used SM [B/cycle]"), ("chip_sm", "per SM of the chip [B/cycle]"))


def draw(study: Study, rows: Sequence[Row]) -> Figure:
    """Draw simulated rates, their bounds, and silicon where the rows have it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    known = [row for row in rows if row["cycles"]]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 7.2), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True, sharey="row")
        for column, memory in enumerate(MEMORIES):
            chosen = [row for row in known if row["memory"] == memory]
            for line, (measure, label) in enumerate(_MEASURES):
                _panel(axes[line][column], chosen, measure)
                if column == 0:
                    axes[line][column].set_ylabel(f"delivered, {label}")
            axes[0][column].set_title(MEMORY_NAMES[memory])
            axes[1][column].set_xlabel("CTAs of a cluster")
        _legend(figure, axes[0][0])
        first = known[0] if known else None
        box = f", {first['tile_bytes'] // 1024} KiB tiles, {first['stages']} stages" if first else ""
        figure.suptitle(f"{study.title}{box}", color=INK)
    return figure


def _panel(axes: Axes, rows: Sequence[Row], measure: str) -> None:
    for (mode, name), look in zip(MODE_NAMES.items(), SERIES, strict=True):
        series = _series(rows, mode)
        if not series:
            continue
        clusters = [row["cluster"] for row in series]
        rates = [row[f"{measure}_bytes_per_cycle"] for row in series]
        axes.plot(clusters, rates, label=name, zorder=3, **look.line)
        bounds = [row[f"bound_{measure}_bytes_per_cycle"] for row in series]
        if all(bound is not None for bound in bounds):
            axes.plot(
                clusters,
                bounds,
                color=look.colour,
                linewidth=0.9,
                alpha=0.75,
                linestyle=(0, (1, 1)),
                zorder=2,
            )
        _silicon(axes, series, measure, look)
    axes.set_xscale("log", base=2)
    ticks = sorted({row["cluster"] for row in rows})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)


def _series(rows: Sequence[Row], mode: str) -> list[Row]:
    """Give the rows of a way by cluster size; a CTA alone stands for every way of its kind."""
    alone = "multicast" if mode.startswith("multicast") else "unicast"
    own = [row for row in rows if row["mode"] == mode and row["cluster"] > 1]
    if not own:
        return []
    first = [row for row in rows if row["mode"] == alone and row["cluster"] == 1]
    return first + sorted(own, key=lambda row: row["cluster"])


def _silicon(axes: Axes, series: Sequence[Row], measure: str, look: Series) -> None:
    known = [row for row in series if row.get(f"silicon_{measure}_bytes_per_cycle")]
    axes.scatter(
        [row["cluster"] for row in known],
        [row[f"silicon_{measure}_bytes_per_cycle"] for row in known],
        s=75,
        facecolors="none",
        edgecolors=look.colour,
        marker=look.marker,
        zorder=4,
    )


def _legend(figure: Figure, axes: Axes) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color=MUTED, linewidth=0.9, linestyle=(0, (1, 1))))
    labels.append("bound of each (merged reads)")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
