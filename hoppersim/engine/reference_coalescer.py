"""The lines that coalescers keep for each GPC, in the reference fabric."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from hoppersim.blocks.lrc import ALONE, MERGES, SHARES, still_merges
from hoppersim.engine.reference_parts import Line
from hoppersim.engine.tables import Tables
from hoppersim.units import TICKS_PER_CYCLE


class Entry:
    """A line that a coalescer keeps for a GPC, its response until that left, and the cycle of that."""

    def __init__(self, leader: Line, place: int) -> None:
        self.leader: Line | None = leader
        self.place = place
        self.key = leader.number, leader.sectors
        self.readers = 1
        self.seen = {leader.sm}
        self.shared = False
        self.left = 0

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

    def of_line(self, line: Line) -> Iterable[Entry]:
        """List the entries of a line and its sectors, the latest first."""
        return reversed(self._of_line.get((line.number, line.sectors), deque()))

    def open(self, line: Line, place: int) -> Entry:
        """Keep a line, instead of the oldest."""
        if len(self._order) == self._most:
            oldest = self._order.popleft()
            self._of_line[oldest.key].popleft()
        entry = Entry(line, place)
        self._order.append(entry)
        self._of_line.setdefault(entry.key, deque()).append(entry)
        return entry


class Coalescer:
    """The coalescers in front of all slices.

    Parameters
    ----------
    tables
        The machine's tables.
    gone
        Responses that have left each slice so far; the fabric counts them.
    """

    def __init__(self, tables: Tables, gone: Sequence[int]) -> None:
        self._tables = tables
        self._gone = gone
        self._kept: dict[tuple[int, int], KeptLines] = {}
        self._newest = [0] * tables.slices

    def meet(self, line: Line, now: int) -> int:
        """Let a read join or share a line that is kept for its GPC, or keep its own; say which."""
        place = line.piece, int(self._tables.gpc_of[line.sm])
        kept = self._kept.get(place) or self._kept.setdefault(place, KeptLines(self._tables.lrc_held))
        met, entry = self._find(kept, line, now)
        if entry is None:
            line.entry = kept.open(line, self._place(kept, line))
        else:
            entry.take(line, met)
        return met

    def _place(self, kept: KeptLines, line: Line) -> int:
        """Give a line's place among the different ones of its slice: that of its latest entry if seen."""
        latest = next(iter(kept.of_line(line)), None)
        if latest is not None and self._since(latest, line.piece) < self._tables.lrc_entries:
            return latest.place
        self._newest[line.piece] += 1
        return self._newest[line.piece]

    def _since(self, entry: Entry, piece: int) -> int:
        """Count the different lines that a slice was asked for since an entry's."""
        return self._newest[piece] - entry.place

    def _find(self, kept: KeptLines, line: Line, now: int) -> tuple[int, Entry | None]:
        """Find the latest entry that a read merges with, or else shares, and say how they meet."""
        shares = None
        for entry in kept.of_line(line):
            met = self._meet(entry, line, now)
            if met == MERGES:
                return MERGES, entry
            if met == SHARES:
                shares = shares or entry
        return (SHARES if shares else ALONE), shares

    def _meet(self, entry: Entry, line: Line, now: int) -> int:
        """Say how a read meets an entry of its GPC."""
        t, leader = self._tables, entry.leader
        if entry.readers >= t.lrc_max_merged:
            return ALONE
        if leader is None and now // TICKS_PER_CYCLE > entry.left + t.lrc_linger:
            return ALONE
        again = line.sm in entry.seen
        if leader is not None and not again:
            before = leader.turn - self._gone[leader.piece]
            since = self._since(entry, line.piece)
            if leader.turn < 0:
                return MERGES
            if still_merges(leader.ready > now, before, since, t.lrc_entries, t.lrc_answers):
                return MERGES
        return ALONE if entry.shared or (again and entry.readers > 1) else SHARES
