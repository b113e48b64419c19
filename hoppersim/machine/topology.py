"""The floorplan as text for a terminal."""

from __future__ import annotations

import textwrap
from itertools import zip_longest

from hoppersim.machine.floorplan import Cpc, Gpc
from hoppersim.machine.machine import Machine
from hoppersim.machine.placement import Placement
from hoppersim.units import format_bytes

WIDTH = 100
_STRANDED = "--"


def topology_text(machine: Machine, placement: Placement | None = None) -> str:
    """Draw GPCs, CPCs, TPCs and SMs in at most `WIDTH` columns.

    Parameters
    ----------
    machine
        The machine.
    placement
        Shows the SMs that its clusters strand as ``--``, and names them below.

    Returns
    -------
    str
        Lines without a final newline; a TPC is a pair of brackets around its SM ids.
    """
    stranded = {item.sm for item in placement.stranded} if placement else set()
    digits = len(str(machine.sm_count - 1))
    lines = list(_header(machine))
    for number, gpc in enumerate(machine.floorplan.gpcs):
        lines += ["", f"GPC {number}  {len(gpc.sms)} SMs, L2 partition {gpc.partition}"]
        lines += _gpc(gpc, digits, stranded)
    if placement is not None:
        lines += ["", *_summary(placement)]
    return "\n".join(lines)


def _header(machine: Machine) -> list[str]:
    l2, hbm = machine.spec.l2, machine.spec.hbm
    tpcs = sum(len(gpc.tpcs) for gpc in machine.floorplan.gpcs)
    return [
        f"{machine.name}: {machine.gpc_count} GPCs, {tpcs} TPCs, {machine.sm_count} SMs",
        f"L2:  {format_bytes(l2.bytes)} in {l2.partitions} partitions, {l2.slices} slices",
        f"HBM: {hbm.channels} channels, {hbm.bytes_per_second / 1e12:.4g} TB/s",
        *_wrapped(f"Floorplan {machine.floorplan.name}: {machine.floorplan.origin}"),
    ]


def _gpc(gpc: Gpc, digits: int, stranded: set[int]) -> list[str]:
    boxes = [_box(number, cpc, digits, stranded) for number, cpc in enumerate(gpc.cpcs)]
    lines: list[str] = []
    row: list[list[str]] = []
    for box in boxes:
        if row and sum(len(part[0]) for part in row) + len(box[0]) > WIDTH:
            lines += _side_by_side(row)
            row = []
        row.append(box)
    return lines + _side_by_side(row)


def _box(number: int, cpc: Cpc, digits: int, stranded: set[int]) -> list[str]:
    """Draw one CPC; TPCs that would not fit the width go to further lines."""
    cells = [_tpc(tpc, digits, stranded) for tpc in cpc]
    per_line = max(1, (WIDTH - 3) // (max(map(len, cells)) + 1))
    rows = [" ".join(cells[first : first + per_line]) for first in range(0, len(cells), per_line)]
    title = f" CPC {number} "
    inner = max(len(title), max(map(len, rows)) + 2)
    body = [f"│{f' {row} ':<{inner}}│" for row in rows]
    return [f"┌{title:─<{inner}}┐", *body, f"└{'─' * inner}┘"]


def _tpc(tpc: tuple[int, ...], digits: int, stranded: set[int]) -> str:
    names = (_STRANDED if sm in stranded else str(sm) for sm in tpc)
    return f"[{' '.join(f'{name:>{digits}}' for name in names)}]"


def _side_by_side(boxes: list[list[str]]) -> list[str]:
    blank = [" " * len(box[0]) for box in boxes]
    rows = zip_longest(*boxes)
    return ["".join(part or pad for part, pad in zip(row, blank, strict=True)).rstrip() for row in rows]


def _summary(placement: Placement) -> list[str]:
    size = placement.cluster_size
    resident = f"{placement.max_active_clusters} resident at once, CTAs per SM: {placement.ctas_per_sm}"
    lines = [f"Clusters of {size}: {resident}, SMs stranded: {len(placement.stranded)}"]
    by_gpc: dict[int, list[int]] = {}
    for item in placement.stranded:
        by_gpc.setdefault(item.gpc, []).append(item.sm)
    for gpc, sms in by_gpc.items():
        lines += _wrapped(f"  GPC {gpc}: SM {', '.join(map(str, sms))}")
    return lines


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="    ")
