"""The figure of the working set: rate, hits, DRAM and fabric traffic over the footprint of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hoppersim.experiments.study import MODE_NAMES, Row, Study
from hoppersim.experiments.working_set import CASES, MIB
from hoppersim.plots.style import BOUND_LINE, INK, RC, SERIES, Series, bound_key, silicon, silicon_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {case.mode: SERIES[list(MODE_NAMES).index(case.mode)] for case in CASES}
"""A way looks as in the other figures."""
_SHARES = (
    ("hit_share", "look-ups that hit"),
    ("dram_share", "DRAM read [B per delivered B]"),
    ("fabric_share", "partition fabric [B per delivered B]"),
)


def draw(study: Study, rows: Sequence[Row]) -> Figure:
    """Draw rates with bound and silicon, and what each delivered byte costs; the L2's capacity is marked."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MultipleLocator

    known = [row for row in rows if row["cycles"]]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 7.4), layout="constrained")
        panels = list(figure.subplots(2, 2, sharex=True).flat)
        keys = []
        for mode, look in LOOKS.items():
            series = [row for row in known if row["mode"] == mode]
            if series:
                keys.append(Line2D([], [], label=_name(series[0]), **look.line))
                _rates(panels[0], series, look)
                for axes, (key, _) in zip(panels[1:], _SHARES, strict=True):
                    sizes = [row["footprint_bytes"] / MIB for row in series]
                    axes.plot(sizes, [row[key] for row in series], zorder=3, **look.line)
        panels[0].set_ylabel("delivered, per SM [B/cycle]")
        panels[1].yaxis.set_major_formatter("{x:.0%}")
        for axes, (_, label) in zip(panels[1:], _SHARES, strict=True):
            axes.set_ylabel(label)
        for axes in panels[2:]:
            axes.set_xlabel("footprint of the sweep [MiB]")
        for axes in panels:
            axes.set_ylim(bottom=0)
            axes.xaxis.set_major_locator(MultipleLocator(16))
            if known:
                _capacity(axes, known[0])
        title = f"{study.title}\n{known[0]['machine']}, 32 KiB tiles, 6 stages" if known else study.title
        figure.suptitle(title, color=INK)
        measured = [silicon_key()] if any(row["silicon_rate"] for row in known) else []
        figure.legend(
            handles=[*keys, bound_key("bound; distinct tiles: nothing merged"), *measured],
            loc="outside lower center",
            ncols=2,
        )
    return figure


def _name(row: Row) -> str:
    return MODE_NAMES[row["mode"]] + (f", clusters of {row['cluster']}" if row["cluster"] > 1 else "")


def _rates(axes: Axes, series: Sequence[Row], look: Series) -> None:
    """Draw the rate of a way, its bound and what was measured."""
    sizes = [row["footprint_bytes"] / MIB for row in series]
    axes.plot(sizes, [row["used_sm_bytes_per_cycle"] for row in series], zorder=3, **look.line)
    bounds = [row["delivered_bytes"] / row["bound_cycles"] / row["sms_used"] for row in series]
    axes.plot(sizes, bounds, color=look.colour, **BOUND_LINE)
    silicon(axes, sizes, [row["silicon_rate"] or float("nan") for row in series], look)


def _capacity(axes: Axes, row: Row) -> None:
    """Mark the capacity of the L2."""
    size = row["l2_bytes"] / MIB
    axes.axvline(size, color=INK, linewidth=0.8, zorder=1)
    axes.annotate(
        f" L2, {size:.0f} MiB",
        (size, 0.02),
        xycoords=axes.get_xaxis_transform(),
        fontsize=8.5,
        color=INK,
    )
