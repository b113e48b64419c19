"""The figure of pipeline depth: rate over bytes in flight, Little's law and the peak, place by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hoppersim.experiments.pipeline_depth import ITERATIONS, PLACES
from hoppersim.experiments.study import Row, Study
from hoppersim.plots.style import (
    BOUND_LINE,
    INK,
    RC,
    SERIES,
    Series,
    bound_key,
    doubling,
    silicon,
    silicon_key,
)
from hoppersim.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_BYTES = 128
LOOKS = {rows * ROW_BYTES: look for rows, look in zip(ITERATIONS, SERIES, strict=True)}


def draw(study: Study, rows: Sequence[Row]) -> Figure:
    """Draw simulated and measured rates under the line that each box's own latency allows, and the peak."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    known = [row for row in rows if row["cycles"]]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(12.5, 5.2), layout="constrained")
        panels = figure.subplots(1, len(PLACES), squeeze=False)[0]
        for axes, place in zip(panels, PLACES, strict=True):
            _panel(axes, [row for row in known if row["place"] == place])
            axes.set_title(place)
        panels[0].set_ylabel("delivered, per SM [B/cycle]")
        machine = f", {known[0]['machine']}" if known else ""
        figure.suptitle(f"{study.title}{machine}", color=INK)
        keys = [
            Line2D([], [], label=f"boxes of {format_bytes(tile)}", **look.line)
            for tile, look in LOOKS.items()
            if any(row["tile_bytes"] == tile for row in known)
        ]
        keys.append(bound_key("bytes in flight over the time of a load, and peak"))
        keys += [silicon_key()] if any(row["silicon_cycles"] for row in known) else []
        figure.legend(handles=keys, loc="outside lower center", ncols=len(LOOKS))
    return figure


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    if not rows:
        return
    peak = max(row["peak_rate"] for row in rows)
    for tile, look in LOOKS.items():
        series = sorted(
            (row for row in rows if row["tile_bytes"] == tile), key=lambda row: int(row["stages"])
        )
        if series:
            _series(axes, series, look, peak)
    axes.axhline(peak, color=INK, **BOUND_LINE)
    axes.annotate(
        f"peak {peak:.1f}, {rows[0]['peak_link']}",
        (0.02, peak),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=8.5,
        color=INK,
    )
    doubling(axes, [row["in_flight_bytes"] / 1024 for row in rows])
    axes.set_yscale("log", base=2)
    low = min(row["used_sm_bytes_per_cycle"] for row in rows)
    axes.set_ylim(low / 1.3, peak * 1.5)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("in flight, per SM [KiB]")


def _series(axes: Axes, series: Sequence[Row], look: Series, peak: float) -> None:
    """Draw one box: simulated rates, measured ones, and the law up to the peak."""
    depths = [row["in_flight_bytes"] / 1024 for row in series]
    axes.plot(depths, [row["used_sm_bytes_per_cycle"] for row in series], zorder=3, **look.line)
    load = series[0]["load_cycles"]
    ends = [series[0]["in_flight_bytes"], min(peak * load, series[-1]["in_flight_bytes"])]
    if ends[1] > ends[0]:
        axes.plot([end / 1024 for end in ends], [end / load for end in ends], color=look.colour, **BOUND_LINE)
    measured = [
        row["delivered_bytes"] / row["silicon_cycles"] / row["sms_used"]
        if row["silicon_cycles"]
        else float("nan")
        for row in series
    ]
    silicon(axes, depths, measured, look)
