"""The figure of the article's benchmark: ratio of the times, cycles per iteration, delivered bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hoppersim.experiments.article_benchmark import KERNELS, SOURCES
from hoppersim.experiments.study import Row, Study
from hoppersim.plots.style import INK, RC, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = dict(zip(SOURCES.values(), (SERIES[0].colour, "#dddddd", "#67a9cf"), strict=True))
_HATCHES = dict(zip(KERNELS, ("", "///"), strict=True))
_FIGURES = (
    ("iteration_cycles", "SM cycles per iteration", "{:,.0f}"),
    ("terabytes_per_second", "delivered, whole chip [TB/s]", "{:.2f}"),
)


def draw(study: Study, rows: Sequence[Row]) -> Figure:
    """Draw three panels of bars, each in groups of one scenario."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    known = [row for row in rows if row["ratio"]]
    with mpl.rc_context(RC | {"axes.grid.axis": "y", "hatch.linewidth": 0.8}):
        figure = Figure(figsize=(11, 5), layout="constrained")
        panels = figure.subplots(1, 3, width_ratios=(1, 1.35, 1.35))
        bars = [(row, row["ratio"], "") for row in known]
        _panel(panels[0], bars, "{:.2f}")
        panels[0].axhline(1, color=INK, linewidth=1)
        panels[0].set_ylabel("time of unicast over time of multicast")
        for axes, (figure_name, label, form) in zip(panels[1:], _FIGURES, strict=True):
            bars = [
                (row, row[f"{kernel}_{figure_name}"], kernel)
                for row in known
                for kernel in KERNELS
                if row[f"{kernel}_{figure_name}"]
            ]
            _panel(axes, bars, form)
            axes.set_ylabel(label)
        machine = known[0]["machine"] if known else ""
        figure.suptitle(f"{study.title}\nsimulator: {machine}", color=INK)
        _legend(figure)
    return figure


def _panel(axes: Axes, bars: Sequence[tuple[Row, float, str]], form: str) -> None:
    """Draw bars of (row, height, kernel), scenario by scenario, with their heights above."""
    place = 0.0
    ticks: dict[str, list[float]] = {}
    for scenario in dict.fromkeys(row["scenario"] for row, _, _ in bars):
        group = [bar for bar in bars if bar[0]["scenario"] == scenario]
        for row, height, kernel in group:
            look: dict[str, Any] = {
                "color": _COLOURS[row["source"]],
                "hatch": _HATCHES.get(kernel, ""),
                "edgecolor": INK,
            }
            axes.bar(place, height, width=0.9, linewidth=0.8, zorder=3, **look)
            axes.annotate(
                form.format(height),
                (place, height),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                zorder=4,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0},
            )
            ticks.setdefault(scenario, []).append(place)
            place += 1
        place += 0.8
    axes.set_xticks([sum(places) / len(places) for places in ticks.values()], list(ticks))
    axes.tick_params(axis="x", length=0)
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.margins(y=0.08)


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(
            facecolor=colour, edgecolor=INK, label=source if source != "article" else "claimed by the article"
        )
        for source, colour in _COLOURS.items()
    ]
    handles += [
        Patch(facecolor="white", edgecolor=INK, hatch=hatch, label=kernel)
        for kernel, hatch in _HATCHES.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
