"""The wait-for graph of a hang: roles left, what they wait for right, what nobody can supply in red."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from hoppersim.errors import InputError
from hoppersim.plots.style import INK, MUTED, RC, SERIES
from hoppersim.result.figure_files import write_figure
from hoppersim.result.hang_text import node_name, ranges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hoppersim.result.hang import ClusterHang, HangReport

_BAD, _ROLE, _TARGET = SERIES[0].colour, "#e8eef6", "#f4f4f4"
_LEFT, _RIGHT = 0.0, 1.0
"""Right edge of the roles, left edge of what they wait for."""
_ROW_INCHES = 0.8
_WRAP = 44


def draw_hang(report: HangReport, path: str | Path) -> list[Path]:
    """Draw the wait-for graph of the first kind of hang, as PNG and as SVG.

    Parameters
    ----------
    report
        From `hoppersim.result.hang.report_hang`; has at least one group.
    path
        File to write; the suffix is replaced by that of each format.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        If the report has no blocked cluster.
    """
    if not report.groups:
        raise InputError("report.groups", 0, "only a run that hung can be drawn")
    return write_figure(hang_figure(report), Path(path).with_suffix(""))


def hang_figure(report: HangReport) -> Figure:
    """Make the figure of `draw_hang`."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    group = report.groups[0]
    roles, targets = _columns(group)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 1.4 + _ROW_INCHES * max(len(roles), len(targets))))
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.set_xlim(-1.0, 2.2)
        where = {name: (_LEFT, float(-row)) for row, name in enumerate(roles)}
        where |= {name: (_RIGHT, float(-row)) for row, name in enumerate(targets)}
        axes.set_ylim(0.4 - max(len(roles), len(targets)), 0.6)
        bad = {node_name((cause.rank, cause.barrier, cause.stage)) for cause in group.causes} | set(
            group.cycle
        )
        for source, target in group.edges:
            _arrow(axes, where[source], where[target], bad={source, target} <= bad)
        for name, place in where.items():
            _node(axes, place, _label(group, name), _ROLE if name in roles else _TARGET, bad=name in bad)
        axes.set_title(f"{report.work}: {ranges(group.clusters, 'cluster')}, {group.kind}", loc="left")
    return figure


def _columns(group: ClusterHang) -> tuple[list[str], list[str]]:
    """Sort the nodes of the graph into roles and what they wait for."""
    roles = [node_name((waiter.rank, waiter.role)) for waiter in group.waiters]
    rows: dict[str, list[int]] = {}
    for source, target in group.edges:
        if source in roles:
            rows.setdefault(target, []).append(roles.index(source))
    return roles, sorted(rows, key=lambda name: (sum(rows[name]) / len(rows[name]), name))


def _label(group: ClusterHang, name: str) -> str:
    """Write a node: its name, and below it where a role is or what a barrier lacks."""
    for waiter in group.waiters:
        if name == node_name((waiter.rank, waiter.role)):
            loops = ", ".join(f"{loop} {trip}" for loop, trip in waiter.iteration.items())
            return f"{name}\n{waiter.operation}{f', iteration {loops}' if loops else ''}"
    for cause in group.causes:
        if name == node_name((cause.rank, cause.barrier, cause.stage)):
            return f"{name}\n" + fill(f"nobody can supply {cause.missing}", _WRAP)
    return name


def _node(axes: Axes, place: tuple[float, float], label: str, colour: str, *, bad: bool) -> None:
    edge = {"edgecolor": _BAD if bad else MUTED, "linewidth": 2.0 if bad else 1.0}
    box: dict[str, Any] = {"boxstyle": "round,pad=0.5", "facecolor": colour, **edge}
    side = "right" if place[0] == _LEFT else "left"
    axes.text(*place, label, ha=side, va="center", color=INK, fontsize=8.5, bbox=box)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], *, bad: bool) -> None:
    """Draw an arrow; the one back from a barrier to a role is bent, so that both are seen."""
    back = start[0] > end[0]
    style: dict[str, Any] = {
        "arrowstyle": "-|>",
        "color": _BAD if bad else MUTED,
        "linestyle": "--" if back else "-",
    }
    style |= {"connectionstyle": "arc3,rad=0.18" if back else "arc3,rad=0.0"}
    axes.annotate("", end, start, arrowprops={**style, "shrinkA": 6, "shrinkB": 6, "linewidth": 1.3})
