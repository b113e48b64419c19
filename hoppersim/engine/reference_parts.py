"""What the reference fabric moves and counts: boxes, lines, the walk of a box, and its counters."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hoppersim.blocks.lrc import MERGES
from hoppersim.blocks.tma import piece_end, sectors_between
from hoppersim.engine.interface import STAGES, Transfer
from hoppersim.engine.output import COUNTER_NAMES
from hoppersim.engine.tables import SUBTICKS, Tables
from hoppersim.units import LINE_BYTES


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


class Entry:
    """A line that a coalescer keeps for a GPC, and its response as long as that has not left."""

    def __init__(self, leader: Line, number: int) -> None:
        self.leader: Line | None = leader
        self.number = number
        self.key = leader.number, leader.sectors
        self.readers = 1
        self.seen = {leader.sm}
        self.shared = False

    def take(self, line: Line, met: int) -> None:
        """Let a read join the response, or share the look-up."""
        self.readers += 1
        self.seen.add(line.sm)
        if met == MERGES and self.leader is not None:
            self.leader.merged.append(line)
        else:
            self.shared, self.leader, line.entry = True, line, self


class KeptLines:
    """The latest lines of a GPC at a slice."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._order: deque[Entry] = deque()
        self._of_line: dict[tuple[int, int], deque[Entry]] = {}
        self.opened = 0

    def of_line(self, line: Line) -> Iterable[Entry]:
        """List the entries of a line and its sectors, the latest first."""
        return reversed(self._of_line.get((line.number, line.sectors), deque()))

    def open(self, line: Line) -> Entry:
        """Keep a line, in place of the oldest."""
        if len(self._order) == self._most:
            oldest = self._order.popleft()
            self._of_line[oldest.key].popleft()
        entry = Entry(line, self.opened)
        self.opened += 1
        self._order.append(entry)
        self._of_line.setdefault(entry.key, deque()).append(entry)
        return entry

    def since(self, entry: Entry) -> int:
        """Count the lines that were asked for since an entry."""
        return self.opened - 1 - entry.number


def make_box(transfer: Transfer) -> Box:
    """Take up a transfer: nothing of it has reached any destination."""
    lines, receivers = list(box_walk(transfer)), len(transfer.destinations)
    return Box(transfer, lines, [len(lines)] * receivers, owed=[transfer.bytes] * receivers)


def box_walk(transfer: Transfer) -> Iterator[tuple[int, int, int]]:
    """Yield (line, sectors, bytes) of a box in order: the innermost outer dimension varies first."""
    counts, strides = transfer.counts, transfer.strides
    for i3 in range(counts[3]):
        for i2 in range(counts[2]):
            for i1 in range(counts[1]):
                for i0 in range(counts[0]):
                    offset = i0 * strides[0] + i1 * strides[1] + i2 * strides[2] + i3 * strides[3]
                    row, size = transfer.address + offset, transfer.row_bytes
                    yield from _row_walk(row, size)


def _row_walk(row: int, size: int) -> Iterator[tuple[int, int, int]]:
    at = row
    while at < row + size:
        end = piece_end(row, size, at)
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
