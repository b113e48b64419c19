"""The figure of schemes A and B: cycles per use over reuse, and how much longer A takes at every point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hoppersim.experiments.dsmem_vs_multicast import QUICK_TILES
from hoppersim.experiments.study import Row, Study
from hoppersim.plots.style import INK, MUTED, RC, SERIES, doubling, silicon, silicon_key
from hoppersim.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN_TILE = QUICK_TILES[0]
_MAP, _DARK = "YlGnBu", 0.55
"""Colours from light to dark, so that a grey print keeps the order; text is white on the dark part."""


def draw(study: Study, rows: Sequence[Row]) -> Figure:
    """Draw cycles per use of the tile that was measured, and the time of A over that of B for every tile."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    known = [row for row in rows if row["a_cycles"]]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 8), layout="constrained")
        tiles = sorted({row["tile_bytes"] for row in known})
        if not tiles:
            return figure
        upper, lower = figure.subfigures(2, 1, height_ratios=(1.25, 1), squeeze=False)[:, 0]
        shown = _SHOWN_TILE if _SHOWN_TILE in tiles else tiles[-1]
        _uses(upper.subplots(), [row for row in known if row["tile_bytes"] == shown], shown)
        maps = lower.subplots(1, len(tiles), sharey=True, squeeze=False)[0]
        limits = [pick(row["a_over_b"] for row in known) for pick in (min, max)]
        for axes, tile in zip(maps, tiles, strict=True):
            _map(axes, [row for row in known if row["tile_bytes"] == tile], limits)
            axes.set_title(f"{format_bytes(tile)} tile")
        maps[0].set_ylabel("CTAs of a cluster")
        lower.suptitle(
            "Time of A over time of B (below 1: A wins; in brackets: within the model's error)", fontsize=9.5
        )
        figure.suptitle(f"{study.title}\n{known[0]['machine']}", color=INK)
    return figure


def _uses(axes: Axes, rows: Sequence[Row], tile: int) -> None:
    """Draw cycles per use over the number of uses, a line of A for each cluster size, and the range of B."""
    clusters = sorted({row["cluster"] for row in rows})
    for cluster, look in zip(clusters, SERIES, strict=False):
        line = sorted((row for row in rows if row["cluster"] == cluster), key=lambda row: row["reuse"])
        uses = [row["reuse"] for row in line]
        axes.plot(uses, [row["a_use_cycles"] for row in line], label=f"A, clusters of {cluster}", **look.line)
        silicon_rows = [row for row in line if row["a_silicon_use_cycles"]]
        measured = [row["a_silicon_use_cycles"] for row in silicon_rows]
        silicon(axes, [row["reuse"] for row in silicon_rows], measured, look)
    _range_of_b(axes, rows, clusters)
    doubling(axes, (row["reuse"] for row in rows))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(f"uses of each {format_bytes(tile)} tile by each CTA")
    axes.set_ylabel("SM cycles per use")
    handles, _ = axes.get_legend_handles_labels()
    if any(row["a_silicon_use_cycles"] for row in rows):
        handles.append(silicon_key())
    axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _range_of_b(axes: Axes, rows: Sequence[Row], clusters: Sequence[int]) -> None:
    """Draw the times of B for all cluster sizes as one band: they hardly differ."""
    uses = sorted({row["reuse"] for row in rows})
    times = [[row["b_use_cycles"] for row in rows if row["reuse"] == count] for count in uses]
    low, high = [min(some) for some in times], [max(some) for some in times]
    name = f"B, clusters of {clusters[0]} to {clusters[-1]}"
    axes.fill_between(uses, low, high, color=MUTED, alpha=0.4)
    axes.plot(uses, high, color=INK, linewidth=2.4, marker="v", markersize=6, label=name)


def _map(axes: Axes, rows: Sequence[Row], limits: Sequence[float]) -> None:
    """Draw the ratio of the two times over uses and cluster size, each cell with its number."""
    from matplotlib.colors import LogNorm

    uses, clusters = (sorted({row[key] for row in rows}) for key in ("reuse", "cluster"))
    ratios = np.full((len(clusters), len(uses)), np.nan)
    norm = LogNorm(min(1.0, limits[0]), max(1.1, limits[1]))
    for row in rows:
        place = clusters.index(row["cluster"]), uses.index(row["reuse"])
        ratio = ratios[place] = row["a_over_b"]
        text = f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
        axes.text(
            place[1],
            place[0],
            f"({text})" if row["winner"] == "level" else text,
            ha="center",
            va="center",
            color="white" if norm(ratio) > _DARK else INK,
        )
    axes.imshow(ratios, cmap=_MAP, norm=norm, aspect="auto", origin="lower")
    axes.set_xticks(range(len(uses)), [str(count) for count in uses])
    axes.set_yticks(range(len(clusters)), [str(count) for count in clusters])
    axes.set_xlabel("uses of a tile")
    axes.grid(visible=False)
