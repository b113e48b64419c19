"""The figure of multicast against unicast: gains over tiles, without the LRC, and over the skew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hoppersim.experiments.multicast_vs_unicast import CLUSTERS, GAINS
from hoppersim.experiments.study import MEMORIES, MEMORY_NAMES, MODE_NAMES, Row, Study
from hoppersim.plots.style import (
    INK,
    MUTED,
    RC,
    SERIES,
    Series,
    band,
    band_key,
    doubling,
    silicon,
    silicon_key,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = dict(zip(CLUSTERS, SERIES, strict=True))
MEMORY_LOOKS = {"l2": Series(INK, "o", "-"), "hbm": Series("#8c8c8c", "v", "-")}


def draw(study: Study, rows: Sequence[Row]) -> Figure:
    """Draw the gains of multicast; where it does not pay beyond the model's error, the ground is grey."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with mpl.rc_context(RC):
        figure = Figure(figsize=(12.5, 7.6), layout="constrained")
        panels = figure.subplots(len(MEMORIES), 3, squeeze=False)
        for line, memory in enumerate(MEMORIES):
            chosen = [row for row in rows if row["memory"] == memory]
            for axes, gain in zip(panels[line], GAINS, strict=False):
                _tiles_panel(axes, [row for row in chosen if row["view"] == "tiles" and row[gain]], gain)
                axes.set_title(f"{MEMORY_NAMES[memory]}: over {MODE_NAMES[GAINS[gain]]}")
        _lrc_panel(panels[0][2], [row for row in rows if row["gain_same"]])
        _skew_panel(panels[1][2], [row for row in rows if row["view"] == "skew" and row["gain_same"]])
        figure.suptitle(_title(study, rows), color=INK)
        keys: list[Artist] = [
            Line2D([], [], label=f"clusters of {size}", **look.line)
            for size, look in LOOKS.items()
            if any(row["cluster"] == size for row in rows)
        ]
        keys += [silicon_key()] if any(row["silicon_gain_same"] for row in rows) else []
        keys.append(band_key())
        figure.legend(handles=keys, loc="outside lower center", ncols=len(keys))
    return figure


def _title(study: Study, rows: Sequence[Row]) -> str:
    if not rows:
        return study.title
    way = MODE_NAMES["multicast"]
    return (
        f"{study.title}: time of the other way over that of {way}\n"
        f"{rows[0]['machine']}, {rows[0]['stages']} stages"
    )


def _tiles_panel(axes: Axes, rows: Sequence[Row], gain: str) -> None:
    """Draw a gain over the tile, a line for each cluster size."""
    for cluster, look in LOOKS.items():
        series = [row for row in rows if row["cluster"] == cluster]
        _line(axes, [row["tile_bytes"] / 1024 for row in series], series, gain, look)
    axes.set_ylabel("gain")
    axes.set_xlabel("tile [KiB]")
    if rows:
        doubling(axes, [row["tile_bytes"] / 1024 for row in rows])
        band(axes, rows[0]["model_error"])
    axes.set_ylim(0, max([1.5, *(row[gain] for row in rows)]) * 1.15)


def _line(axes: Axes, places: Sequence[float], series: Sequence[Row], gain: str, look: Series) -> None:
    axes.plot(places, [row[gain] for row in series], zorder=3, **look.line)
    measured = [row[f"silicon_{gain}"] or float("nan") for row in series]
    silicon(axes, places, measured, look)


def _lrc_panel(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the gain over unicast of one tile with the LRC and without, for each memory."""
    bare = [row for row in rows if row["view"] == "no_lrc"]
    tiles = {row["tile_bytes"] for row in bare}
    ticks = sorted({row["cluster"] for row in bare})
    for memory, look in MEMORY_LOOKS.items():
        for view, name, style in (("tiles", "LRC on", ":"), ("no_lrc", "LRC off", "-")):
            series = [
                row
                for row in rows
                if row["view"] == view and row["memory"] == memory and row["tile_bytes"] in tiles
            ]
            series = [row for row in series if row["cluster"] in ticks]
            line = look.line | {"linestyle": style}
            if view == "tiles":
                line["markerfacecolor"] = "white"
            axes.plot(
                [row["cluster"] for row in series],
                [row["gain_same"] for row in series],
                label=f"{MEMORY_NAMES[memory]}, {name}",
                zorder=3,
                **line,
            )
    axes.set_title(f"LRC: over {MODE_NAMES['unicast']}, {max(tiles, default=0) // 1024} KiB")
    axes.set_xlabel("CTAs of a cluster")
    axes.set_ylabel("gain")
    if bare:
        doubling(axes, ticks)
        band(axes, max(row["model_error"] for row in bare))
    axes.set_ylim(0, max([1.5, *(row["gain_same"] for row in bare)]) * 1.55)
    axes.legend(loc="upper left", fontsize=8.5)


def _skew_panel(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the gain over unicast of one tile, and what is merged of its reads, over the skew."""
    right = axes.twinx()
    for cluster, look in LOOKS.items():
        series = [row for row in rows if row["cluster"] == cluster]
        skews = [row["skew"] for row in series]
        _line(axes, skews, series, "gain_same", look)
        right.plot(skews, [row["merged_share"] for row in series], color=look.colour, linewidth=0.9, zorder=2)
    tile = max((row["tile_bytes"] for row in rows), default=0) // 1024
    axes.set_title(f"skew, L2: over {MODE_NAMES['unicast']}, {tile} KiB")
    axes.set_xlabel("start of the last CTA after the first [cycle]")
    axes.set_ylabel("gain (marks)")
    right.set_ylabel("reads of unicast merged (thin, no marks)")
    right.spines["right"].set_visible(True)
    right.spines["right"].set_color(MUTED)
    right.set_ylim(0, 1)
    right.yaxis.set_major_formatter("{x:.0%}")
    right.grid(visible=False)
    if rows:
        band(axes, rows[0]["model_error"])
    axes.set_ylim(0, max([1.5, *(row["gain_same"] for row in rows)]) * 1.15)
