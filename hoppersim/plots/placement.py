"""The figure of placement: what a cluster size leaves of the chip, and SMs stranded on other floorplans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hoppersim.experiments.placement import OTHER, OWN
from hoppersim.experiments.study import Row, Study
from hoppersim.plots.style import INK, RC, SERIES, Series, silicon, silicon_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KERNELS: tuple[tuple[str, str, Series], ...] = (
    ("compute_rate", "work of a kernel that computes", SERIES[0]),
    ("load_rate", "work of a kernel that only loads", SERIES[2]),
)
_MAP, _DARK = "YlGnBu", 0.55
"""Colours from light to dark, so that a grey print keeps the order; text is white on the dark part."""


def draw(study: Study, rows: Sequence[Row]) -> Figure:
    """Draw shares of SMs and of work over the cluster size, and a map of stranded SMs over floorplans."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    own = [row for row in rows if row["plans"] == OWN and row["sms_used"]]
    others = [row for row in rows if row["plans"] == OTHER and row["sms_used"]]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(12, 5.6), layout="constrained")
        if not own:
            return figure
        left, right = figure.subplots(1, 2, width_ratios=(1.9, 1))
        _shares(left, own)
        _map(right, own, others)
        _legend(figure, left, own)
        figure.suptitle(f"{study.title}\n{own[0]['machine']}", color=INK)
    return figure


def _shares(axes: Axes, own: Sequence[Row]) -> None:
    """Draw the SMs used as bars, and what the kernels do against clusters of 1 as lines."""
    sizes, alone = [row["cluster"] for row in own], own[0]
    axes.bar(sizes, [100 * row["used_share"] for row in own], color="#dddddd", label="SMs used", zorder=1.5)
    for key, name, look in _KERNELS:
        axes.plot(sizes, [100 * row[key] / alone[key] for row in own], label=name, zorder=3, **look.line)
    timed = [row for row in own if row["load_silicon_rate"] and alone["load_silicon_rate"]]
    rates = [100 * row["load_silicon_rate"] / alone["load_silicon_rate"] for row in timed]
    silicon(axes, [row["cluster"] for row in timed], rates, _KERNELS[1][2])
    probed = [row for row in own if row["silicon_sms"]]
    shares = [100 * row["silicon_sms"] / row["sms_of_chip"] for row in probed]
    place = [row["cluster"] for row in probed]
    axes.scatter(place, shares, s=330, color=INK, marker="_", zorder=2, label="SMs used on the probed part")
    axes.set_xticks(sizes)
    axes.set_ylim(0, 112)
    axes.set_xlabel("CTAs of a cluster")
    axes.set_ylabel("against clusters of 1 [%]")
    axes.set_title(f"This floorplan: GPCs of {alone['gpc_sms']} SMs")
    axes.grid(visible=False, axis="x")


def _legend(figure: Figure, axes: Axes, own: Sequence[Row]) -> None:
    handles, _ = axes.get_legend_handles_labels()
    measured = [silicon_key()] if any(row["load_silicon_rate"] for row in own) else []
    figure.legend(handles=[*handles, *measured], loc="outside lower center", ncols=3)


def _map(axes: Axes, own: Sequence[Row], others: Sequence[Row]) -> None:
    """Draw SMs that no cluster reaches: a row for each floorplan, this one first, a column for each size."""
    sizes = sorted({row["cluster"] for row in others if row["cluster"] > 1})
    splits = dict.fromkeys(row["floorplan"] for row in others)
    plans = [own, *([row for row in others if row["floorplan"] == split] for split in splits)]
    names = ["this floorplan", *splits]
    cells = np.zeros((len(plans), len(sizes)))
    for line, plan in enumerate(plans):
        for row in plan:
            if row["cluster"] in sizes:
                cells[line, sizes.index(row["cluster"])] = row["stranded"]
    top = max(1.0, float(cells.max(initial=0)))
    for (line, column), count in np.ndenumerate(cells):
        colour = "white" if count / top > _DARK else INK
        axes.text(column, line, f"{count:.0f}", ha="center", va="center", color=colour)
    axes.imshow(cells, cmap=_MAP, vmin=0, vmax=top, aspect="auto")
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_yticks(range(len(plans)), names)
    axes.set_xlabel("CTAs of a cluster")
    axes.set_title("SMs left unused")
    axes.set_ylabel("SMs of the GPCs")
    axes.grid(visible=False)
