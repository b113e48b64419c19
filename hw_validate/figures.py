"""Figures of a comparison: simulated against measured times by mode, and bandwidth-latency curves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hoppersim.result.figure_files import write_figure
from hw_validate.compare import Pair
from hw_validate.compare_result import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Locator

BAND = 0.10
"""Error whose lines are drawn beside the diagonal."""
INK, MUTED = "#222222", "#777777"
LOOKS = (("#b2182b", "s"), ("#4d4d4d", "o"), ("#2166ac", "^"), ("#5aae61", "D"))
"""Colour and marker of a series, dark to light, so that a grey print keeps the order."""
STYLE: Any = {
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "figure.facecolor": "white",
}
FAMILIES = {
    "loads, every CTA its own tile": ("unicast_distinct", "flow"),
    "loads of one tile by several CTAs": ("unicast",),
    "multicast": ("multicast", "multicast_slices"),
    "the article's loops": ("article unicast", "article multicast"),
    "SM to SM": ("dsmem push", "dsmem pull"),
}
"""Panels of the scatter, and the modes in each; all other modes share one more."""
REST = "all other kinds"
UNSTABLE = "repeats differ by more than 5 %"
CURVE_FAMILIES = {
    "distinct": "distinct tiles from the L2",
    "hbm": "distinct tiles from HBM",
    "shared": "unicast of one tile by a cluster",
    "multicast": "multicast",
    "push": "SM to SM",
}
"""Titles by what the name of a curve begins with."""
NARROW, WIDE = 5.0, 150.0
"""Greatest over least time up to which an axis has even ticks, and ticks between the powers of ten."""
PLACES = (("hot", "L2, hot tile"), ("sweep", "L2, sweep"), ("one", "L2, one tile"), ("hbm", "HBM"))


class Panel(NamedTuple):
    """One panel: its title, and its pairs by series."""

    title: str
    series: dict[str, list[Pair]]


def draw_comparison(found: Comparison, curves: Sequence[Pair], folder: Path) -> list[Path]:
    """Draw what there are points for, as PNG and SVG.

    Parameters
    ----------
    found
        The comparison.
    curves
        Points of bandwidth-latency curves; a side without a pace is left out.
    folder
        Where the files go.

    Returns
    -------
    list of Path
        The files written.
    """
    written = write_figure(scatter(found), folder / "simulated_against_measured") if found.pairs else []
    known = [pair for pair in curves if any(pair.paces)]
    return written + (write_figure(curve_figure(known, found.machine), folder / "curves") if known else [])


def scatter(found: Comparison) -> Figure:
    """Draw the simulated time of every point over the measured one, a panel for each family of modes."""
    panels = _panels(found.pairs)
    with _style():
        figure, axes = _grid(len(panels))
        for panel, frame in zip(panels, axes, strict=True):
            _scatter_panel(frame, panel)
            frame.set(xlabel="measured [cycle]", ylabel="simulated [cycle]")
        figure.suptitle(f"every point, simulated on {found.machine}", color=INK)
        _scatter_legend(figure, panels)
    return figure


def _panels(pairs: Iterable[Pair]) -> list[Panel]:
    title_of = {mode: title for title, modes in FAMILIES.items() for mode in modes}
    sorted_in: dict[str, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        sorted_in[title_of.get(pair.mode, REST)][dict(PLACES).get(pair.memory, "other")].append(pair)
    titles = [title for title in (*FAMILIES, REST) if title in sorted_in]
    return [Panel(title, sorted_in[title]) for title in titles]


def _scatter_panel(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import EngFormatter, NullLocator

    pairs = [pair for members in panel.series.values() for pair in members]
    times = [time for pair in pairs for time in (pair.measured, pair.simulated) if time > 0]
    ends = (min(times) / 1.3, max(times) * 1.3)
    axes.plot(ends, ends, color=MUTED, linewidth=1)
    for factor in (1 + BAND, 1 / (1 + BAND)):
        axes.plot(ends, [end * factor for end in ends], color=MUTED, linewidth=0.8, linestyle=":")
    for name, (colour, marker) in _series_looks():
        members = panel.series.get(name, [])
        for stable in (True, False):
            some = [pair for pair in members if pair.stable == stable]
            axes.scatter(
                [pair.measured for pair in some], [pair.simulated for pair in some], s=20, marker=marker,
                facecolors=colour if stable else "none", edgecolors=colour, linewidths=0.8, alpha=0.8,
                zorder=3,
            )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, title=f"{panel.title} ({len(pairs)})")
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(_ticks(ends[1] / ends[0]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(EngFormatter(sep=""))


def _ticks(ratio: float) -> Locator:
    """Give the ticks of an axis of times whose greatest is so many times its least."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    if ratio < NARROW:
        return MaxNLocator(4, steps=[1, 2, 5, 10])
    return LogLocator(subs=(1, 2, 5) if ratio < WIDE else (1,))


def _series_looks() -> list[tuple[str, tuple[str, str]]]:
    names = [name for _, name in PLACES]
    return [*zip(names, LOOKS, strict=True), ("other", ("#7b3294", "v"))]


def _scatter_legend(figure: Figure, panels: Sequence[Panel]) -> None:
    from matplotlib.lines import Line2D

    used = {name for panel in panels for name in panel.series}
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, label=name)
        for name, (colour, marker) in _series_looks()
        if name in used
    ]
    handles += [
        Line2D([], [], linestyle="", marker="o", fillstyle="none", color=MUTED, label=UNSTABLE),
        Line2D([], [], linestyle=":", color=MUTED, label=f"{BAND:.0%} apart"),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=4)


def curve_figure(pairs: Sequence[Pair], machine: str) -> Figure:
    """Draw latency over rate, measured and simulated, a panel for each family of curves."""
    families: dict[str, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        name = str(pair.tags["curve"])
        families[name.split("_")[0]][name].append(pair)
    with _style():
        figure, axes = _grid(len(families))
        for frame, (family, curves) in zip(axes, families.items(), strict=True):
            frame.margins(y=0.2)  # room for the legend
            for (name, members), look in zip(curves.items(), LOOKS, strict=False):
                _curve(frame, name, members, look)
            frame.set(title=CURVE_FAMILIES.get(family, family), ylim=(0, None), xlim=(0, None))
            frame.set(xlabel="rate of issue, per SM that issues [B/cycle]", ylabel="issue to end [cycle]")
            frame.legend(loc="upper left")
        figure.suptitle(f"hollow, dashed: measured\nfilled: simulated on {machine}", color=INK)
    return figure


def _curve(axes: Axes, name: str, pairs: Sequence[Pair], look: tuple[str, str]) -> None:
    colour, marker = look
    for side in (0, 1):
        known = [(pair, pace) for pair in pairs if (pace := pair.paces[side]) is not None]
        points = sorted((pair.tags["bytes"] / pace.interval, pace.latency) for pair, pace in known)
        axes.plot(
            [rate for rate, _ in points], [latency for _, latency in points], marker=marker, color=colour,
            linestyle="-" if side else "--", fillstyle="full" if side else "none", markersize=5,
            linewidth=1.4, label=None if side else name,
        )  # fmt: skip


def _grid(count: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    columns = min(count, 3)
    rows = -(-count // columns)
    figure = Figure(figsize=(3.6 * columns + 0.6, 3.9 * rows + 1.2), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12, w_pad=0.08, hspace=0.03)  # type: ignore[union-attr, call-arg]
    axes = [figure.add_subplot(rows, columns, place + 1) for place in range(count)]
    return figure, axes


def _style() -> Any:
    import matplotlib as mpl

    return mpl.rc_context(STYLE)
