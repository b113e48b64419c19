"""The figure of a design-space study: all points over its two objectives, the Pareto set joined up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from hoppersim.plots.style import INK, MUTED, RC, SERIES, Series
from hoppersim.result.figure_files import write_figure
from hoppersim.sweep.figures import show
from hoppersim.sweep.table import Row, SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMED, _LONGEST_NAME = 10, 24
"""Points of the Pareto set up to which each of them is named, and letters of a name."""


def draw_sweep(result: SweepResult, folder: Path) -> list[Path]:
    """Draw a study with two objectives into `folder`, as PNG and as SVG.

    Returns
    -------
    list of Path
        The files; empty for another number of objectives, or where no point ran.
    """
    if len(result.plan.sweep.objectives) != 2 or not result.pareto:
        return []
    return write_figure(sweep_figure(result), folder / result.plan.sweep.name)


def sweep_figure(result: SweepResult) -> Figure:
    """Make the figure of `draw_sweep`."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    sweep, columns = result.plan.sweep, result.plan.columns
    x, y = sweep.objectives
    rows = [row for row in result.rows if row[x] is not None and row[y] is not None]
    series, looks = _series(result, rows)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(8.4, 5.6), layout="constrained")
        axes = figure.subplots()
        _front(axes, sorted(result.pareto, key=lambda row: (row[x], row[y])), (x, y), sweep.objectives[x])
        for value, look in looks.items():
            label = f"{series} = {show(series, value)}" if series else "point"
            _points(axes, [row for row in rows if not series or row[series] == value], (x, y), look, label)
        _name_front(axes, result, (x, y, series))
        for name, axis in ((x, axes.xaxis), (y, axes.yaxis)):
            unit = columns.units[name]
            better = "less" if sweep.objectives[name] == "min" else "more"
            axis.set_label_text(f"{name}{f' [{unit}]' if unit else ''}, {better} is better")
            axis.set_major_formatter("{x:,.6g}")
            for end in columns.limits.get(name, ()):
                if end is not None:
                    (axes.axvline if name == x else axes.axhline)(
                        end, color=MUTED, linestyle=":", zorder=1, label="limit"
                    )
        axes.margins(0.08)
        figure.suptitle(sweep.question or sweep.name, color=INK, fontsize=10.5, fontweight="bold")
        figure.legend(loc="outside lower center", ncols=3)
    return figure


def _series(result: SweepResult, rows: Sequence[Row]) -> tuple[str, dict[Any, Series]]:
    """Choose the parameter whose values get marks of their own: the baseline's, else the first with few."""
    sweep = result.plan.sweep
    names = dict.fromkeys([*sweep.against, *result.plan.columns.parameters])
    for name in names:
        values = list(dict.fromkeys(row[name] for row in rows))
        if name not in sweep.objectives and 2 <= len(values) <= len(SERIES):
            return name, dict(zip(values, SERIES, strict=False))
    return "", {None: SERIES[2]}


def _points(axes: Axes, rows: Sequence[Row], names: tuple[str, str], look: Series, label: str) -> None:
    """Draw the Pareto set in full, other points as outlines, those outside a limit small and grey."""
    kinds: list[tuple[list[Row], dict[str, Any]]] = [
        (
            [row for row in rows if row["pareto"]],
            {"color": look.colour, "marker": look.marker, "s": 55, "zorder": 4, "label": label},
        ),
        (
            [row for row in rows if row["status"] == "ok" and not row["pareto"]],
            {"facecolors": "none", "edgecolors": look.colour, "marker": look.marker, "s": 32, "zorder": 3},
        ),
        (
            [row for row in rows if row["status"] != "ok"],
            {"color": MUTED, "marker": "x", "s": 18, "linewidths": 0.8, "zorder": 2},
        ),
    ]
    for chosen, style in kinds:
        axes.scatter([row[names[0]] for row in chosen], [row[names[1]] for row in chosen], **style)


def _front(axes: Axes, front: Sequence[Row], names: tuple[str, str], aim: str) -> None:
    """Draw the edge of what can be had: whoever takes a point of the set may leave some of it unused."""
    axes.plot(
        [row[names[0]] for row in front],
        [row[names[1]] for row in front],
        drawstyle="steps-post" if aim == "min" else "steps-pre",
        color=MUTED,
        linewidth=1.2,
        zorder=2.5,
        label="Pareto set, its points filled",
    )


def _name_front(axes: Axes, result: SweepResult, said: tuple[str, ...]) -> None:
    """Write beside the points of a small Pareto set where they lie, as far as the figure does not say it."""
    names = [name for name in result.plan.columns.parameters if name not in said]
    texts = [
        ", ".join(f"{name.rpartition('.')[2]} {show(name, row[name])}" for name in names)
        for row in result.pareto
    ]
    if not names or len(texts) > _MOST_NAMED or max(map(len, texts)) > _LONGEST_NAME:
        return
    middle = median(row[said[0]] for row in result.pareto)
    for row, text, up in zip(result.pareto, texts, cycle((True, False)), strict=False):
        right = row[said[0]] <= middle
        axes.annotate(
            text,
            (row[said[0]], row[said[1]]),
            xytext=(7 if right else -7, 7 if up else -7),
            textcoords="offset points",
            ha="left" if right else "right",
            va="bottom" if up else "top",
            fontsize=7.5,
            color=INK,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
            zorder=5,
        )
