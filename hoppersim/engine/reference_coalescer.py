"""The lines that coalescers keep for each GPC, in the reference fabric."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from hoppersim.blocks.lrc import ALONE, MERGES, SHARES, still_merges
from hoppersim.engine.reference_parts import Line
from hoppersim.engine.tables import Tables


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

    def meet(self, line: Line, now: int) -> int:
        """Let a read join or share a line that is kept for its GPC, or keep its own; say which."""
        place = line.piece, int(self._tables.gpc_of[line.sm])
        kept = self._kept.setdefault(place, KeptLines(self._tables.lrc_held))
        met, entry = self._find(kept, line, now)
        if entry is None:
            line.entry = kept.open(line)
        else:
            entry.take(line, met)
        return met

    def _find(self, kept: KeptLines, line: Line, now: int) -> tuple[int, Entry | None]:
        """Find the latest entry that a read merges with, or else shares, and say how they meet."""
        shares = None
        for entry in kept.of_line(line):
            met = self._meet(entry, line.sm, kept.since(entry), now)
            if met == MERGES:
                return MERGES, entry
            if met == SHARES:
                shares = shares or entry
        return (SHARES if shares else ALONE), shares

    def _meet(self, entry: Entry, sm: int, since: int, now: int) -> int:
        """Say how a read by an SM meets an entry of its GPC."""
        t, leader = self._tables, entry.leader
        if entry.readers >= t.lrc_max_merged:
            return ALONE
        again = sm in entry.seen
        if leader is not None and not again:
            before = leader.turn - self._gone[leader.piece]
            if leader.turn < 0 or leader.ready > now:
                return MERGES
            if still_merges(before, since, t.lrc_entries, t.lrc_answers):
                return MERGES
        return ALONE if entry.shared or (again and entry.readers > 1) else SHARES
