"""The floorplan as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hoppersim.errors import InputError
from hoppersim.machine.floorplan import Gpc
from hoppersim.machine.machine import Machine
from hoppersim.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg")

# Layout in units of one SM box.
_SM = 1.0
_GAP = 0.18
_PAD = 0.45
_TITLE = 0.75
_SPINE = 4.6
_SPINE_LEAST = 7.4
_LINE = 0.7
_INCHES = 0.42
_DPI = 130

_PARTITION_COLOURS = ("#2f6f9f", "#b3622b")
_INK = "#22303c"
_SPINE_FILL = "#eceff2"


def draw_topology(machine: Machine, path: str | Path) -> Path:
    """Draw GPCs, CPCs, TPCs and SMs around the L2 and the HBM.

    Parameters
    ----------
    machine
        The machine.
    path
        File to write; its suffix chooses PNG or SVG.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the suffix names another format.
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        rule = f"must end in {' or '.join(FORMATS)}"
        raise InputError("topology.path", str(path), rule, target.with_suffix(FORMATS[0]).name)
    figure = topology_figure(machine)
    metadata = {"Date": None} if target.suffix.lower() == ".svg" else None
    figure.savefig(target, dpi=_DPI, metadata=metadata, facecolor="white")
    return target


def topology_figure(machine: Machine) -> Figure:
    """Make the matplotlib figure of `draw_topology`, without any global state."""
    from matplotlib.figure import Figure

    columns = _columns(machine)
    width = _column_width(machine)
    height = max(_SPINE_LEAST, *(sum(_gpc_height(gpc) + _PAD for _, gpc in column) for column in columns))
    total_width = len(columns) * (width + _PAD) + _SPINE + 2 * _PAD
    total_height = height + 2 * _TITLE
    figure = Figure(figsize=(total_width * _INCHES, total_height * _INCHES))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, total_width)
    axes.set_ylim(total_height, 0)
    axes.set_aspect("equal")
    axes.axis("off")
    _title(axes, machine)
    left = _PAD
    for number, column in enumerate(columns):
        _column(axes, column, left, width)
        left += width + _PAD
        if number == 0:
            _spine(axes, machine, left, height - _PAD)
            left += _SPINE + _PAD
    return figure


def _columns(machine: Machine) -> list[list[tuple[int, Gpc]]]:
    """One column of GPCs for each partition, the L2 behind the first."""
    parts = range(machine.spec.l2.partitions)
    numbered = list(enumerate(machine.floorplan.gpcs))
    return [[(number, gpc) for number, gpc in numbered if gpc.partition == part] for part in parts]


def _tpc_width(gpc: Gpc) -> float:
    return max(len(tpc) for tpc in gpc.tpcs) * _SM + _GAP


def _cpc_width(gpc: Gpc, cpc_size: int) -> float:
    return cpc_size * _tpc_width(gpc) + 2 * _GAP


def _gpc_width(gpc: Gpc) -> float:
    return sum(_cpc_width(gpc, len(cpc)) + _GAP for cpc in gpc.cpcs) + 2 * _PAD - _GAP


def _column_width(machine: Machine) -> float:
    return max(_gpc_width(gpc) for gpc in machine.floorplan.gpcs)


def _gpc_height(gpc: Gpc) -> float:
    return _TITLE + _SM + 4 * _GAP + _PAD


def _title(axes: Axes, machine: Machine) -> None:
    text = f"{machine.name}: {machine.gpc_count} GPCs, {machine.sm_count} SMs"
    axes.text(_PAD, _TITLE, text, fontsize=13, weight="bold", color=_INK, va="center")
    axes.text(
        axes.get_xlim()[1] - _PAD,
        _TITLE,
        f"floorplan {machine.floorplan.name} ({machine.floorplan.origin.partition(':')[0]})",
        fontsize=9,
        color=_INK,
        va="center",
        ha="right",
    )


def _column(axes: Axes, column: list[tuple[int, Gpc]], left: float, width: float) -> None:
    top = 2 * _TITLE
    for number, gpc in column:
        _gpc(axes, number, gpc, (left, top, width))
        top += _gpc_height(gpc) + _PAD


def _gpc(axes: Axes, number: int, gpc: Gpc, place: tuple[float, float, float]) -> None:
    left, top, width = place
    colour = _PARTITION_COLOURS[gpc.partition]
    _box(axes, (left, top, width, _gpc_height(gpc)), edge=colour, fill="#ffffff", line=1.6)
    axes.text(
        left + _PAD,
        top + _TITLE / 2 + _GAP / 2,
        f"GPC {number}",
        fontsize=9,
        weight="bold",
        color=colour,
        va="center",
    )
    label = f"{len(gpc.sms)} SMs"
    axes.text(
        left + width - _PAD,
        top + _TITLE / 2 + _GAP / 2,
        label,
        fontsize=8,
        color=_INK,
        va="center",
        ha="right",
    )
    x, y = left + _PAD, top + _TITLE
    for cpc in gpc.cpcs:
        _box(
            axes, (x, y, _cpc_width(gpc, len(cpc)), _SM + 4 * _GAP), edge="#9aa7b2", fill="#f6f8fa", line=0.8
        )
        for place_in_cpc, tpc in enumerate(cpc):
            _tpc(axes, tpc, x + 1.5 * _GAP + place_in_cpc * _tpc_width(gpc), y + 2 * _GAP, colour)
        x += _cpc_width(gpc, len(cpc)) + _GAP


def _tpc(axes: Axes, tpc: tuple[int, ...], left: float, top: float, colour: str) -> None:
    for place, sm in enumerate(tpc):
        x = left + place * _SM
        _box(axes, (x, top, _SM, _SM), edge=colour, fill=f"{colour}22", line=0.7)
        axes.text(x + _SM / 2, top + _SM / 2, str(sm), fontsize=7, color=_INK, ha="center", va="center")


def _spine(axes: Axes, machine: Machine, left: float, height: float) -> None:
    """Draw L2 and HBM between the columns of GPCs."""
    l2, hbm = machine.spec.l2, machine.spec.hbm
    slices = [int((machine.slice_partition == part).sum()) for part in range(l2.partitions)]
    lines = ["L2", format_bytes(l2.bytes), *(f"partition {p}: {n} slices" for p, n in enumerate(slices))]
    half = (height - _PAD) / 2
    memory = ["HBM", f"{hbm.channels} channels", f"{hbm.bytes_per_second / 1e12:.4g} TB/s"]
    for top, texts in ((2 * _TITLE, lines), (2 * _TITLE + half + _PAD, memory)):
        _box(axes, (left, top, _SPINE, half), edge="#6b7a87", fill=_SPINE_FILL, line=1.2)
        first = top + half / 2 - _LINE * (len(texts) - 1) / 2
        for number, text in enumerate(texts):
            style = {"fontsize": 11, "weight": "bold"} if number == 0 else {"fontsize": 7.5}
            place = (left + _SPINE / 2, first + _LINE * number)
            axes.text(*place, text, color=_INK, ha="center", va="center", **style)


def _box(axes: Axes, place: tuple[float, float, float, float], *, edge: str, fill: str, line: float) -> None:
    from matplotlib.patches import Rectangle

    left, top, width, height = place
    axes.add_patch(Rectangle((left, top), width, height, edgecolor=edge, facecolor=fill, linewidth=line))
