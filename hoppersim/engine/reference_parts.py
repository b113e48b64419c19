"""What the reference fabric moves and counts: boxes, lines, the walk of a box, and its counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hoppersim.blocks.tma import after_row, piece_end, sectors_between
from hoppersim.engine.interface import STAGES, Transfer
from hoppersim.engine.output import COUNTER_NAMES
from hoppersim.engine.tables import SUBTICKS, Tables
from hoppersim.units import LINE_BYTES

if TYPE_CHECKING:
    from hoppersim.engine.reference_coalescer import Entry


@dataclass(eq=False)
class Box:
    """A transfer under way: what every destination still waits for."""

    transfer: Transfer
    lines: list[tuple[int, int, int]]
    waiting: list[int] = field(default_factory=list)
    start: int = 0
    owed: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Line:
    """One line request and those that merged with it."""

    box: Box
    number: int
    sectors: int
    data: int
    sm: int
    index: int = 0
    piece: int = 0
    merged: list[Line] = field(default_factory=list)
    entry: Entry | None = None
    turn: int = -1
    ready: int = 0
    since: int = 0
    held: int = 0
    ticks: list[int] = field(default_factory=lambda: [0] * STAGES)

    def spend(self, stage: int, tick: int) -> None:
        """Tell the time up to `tick` as spent in a stage."""
        self.ticks[stage] += tick - self.since
        self.since = tick

    def copy_to(self, sm: int, index: int) -> Line:
        """Give the line on its way to one of its destinations."""
        copy = Line(self.box, self.number, self.sectors, self.data, sm, index)
        copy.since, copy.ticks = self.since, self.ticks.copy()
        return copy


def make_box(transfer: Transfer) -> Box:
    """Take up a transfer: nothing of it has reached any destination."""
    lines, receivers = list(box_walk(transfer)), len(transfer.destinations)
    return Box(transfer, lines, [len(lines)] * receivers, owed=[transfer.bytes] * receivers)


def box_walk(transfer: Transfer) -> Iterator[tuple[int, int, int]]:
    """Yield (line, sectors, bytes) of a box in order: the innermost outer dimension varies first."""
    counts, strides, before = transfer.counts, transfer.strides, 0
    for i3 in range(counts[3]):
        for i2 in range(counts[2]):
            for i1 in range(counts[1]):
                for i0 in range(counts[0]):
                    offset = i0 * strides[0] + i1 * strides[1] + i2 * strides[2] + i3 * strides[3]
                    row, size = transfer.address + offset, transfer.row_bytes
                    yield from _row_walk(row, size, before)
                    before = after_row(before, size)


def _row_walk(row: int, size: int, before: int) -> Iterator[tuple[int, int, int]]:
    at = row
    while at < row + size:
        end = piece_end(row, size, at, before)
        yield at // LINE_BYTES, sectors_between(at, end), end - at
        at = end


def collect(
    t: Tables, counts: Mapping[str, Mapping[int, int]], busy: Sequence[int]
) -> dict[str, NDArray[np.int64]]:
    """Turn what was counted for each unit into arrays, and add the busy ticks of every kind of server."""
    units = {"tma": t.sms, "sm": t.sms, "lrc": t.slices, "gpc": t.gpcs, "l2": t.slices, "hbm": t.channels}
    result = {}
    for name in (name for name in COUNTER_NAMES if not name.startswith("busy.")):
        result[name] = np.zeros(units[name.split(".")[0]], dtype=np.int64)
        for unit, value in counts[name].items():
            result[name][unit] = value
    first = (t.slice_server, t.fabric_server, t.hbm_server, t.gpc_server, t.sm_server,
             t.copy_server, t.peer_server)  # fmt: skip
    kinds = ("slice", "fabric", "hbm", "gpc", "sm", "dsmem")
    for name, start, end in zip(kinds, first[:-1], first[1:], strict=True):
        result[f"busy.{name}"] = np.array(busy[start:end], dtype=np.int64) // SUBTICKS
    result["busy.tma"] = result["tma.lines"] * t.line_interval
    return result
