"""What the L2 holds and what is stored to it, in the reference fabric."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hoppersim.blocks import l2
from hoppersim.blocks.addresses import channel_of, home_partition, slice_in_partition
from hoppersim.blocks.tma import written_sectors
from hoppersim.engine.reference_arrivals import Arrivals
from hoppersim.engine.reference_parts import Line
from hoppersim.engine.tables import SUBTICKS, Tables
from hoppersim.units import LINE_BYTES, SECTORS_PER_LINE


class Memory(Arrivals):
    """The slices' contents, and lines that SMs store.

    Parameters
    ----------
    tables
        The fabric's table.
    l2_bytes
        Capacity of the L2 [B].
    memory_lines
        Lines of the address space.
    """

    def __init__(self, tables: Tables, l2_bytes: int, memory_lines: int) -> None:
        super().__init__(tables)
        self._places = l2.empty_places(tables.slices, l2_bytes, LINE_BYTES)
        self._present = l2.nothing_present(tables.partitions, memory_lines)
        self._stored = [0] * tables.slices
        self._held_back: list[deque[Callable[[int], None]]] = [deque() for _ in range(tables.slices)]

    def _holds(self, piece: int, number: int) -> bool:
        return bool(l2.look_up(self._present, piece // self.tables.slices_per_partition, number))

    def _install(self, piece: int, number: int) -> None:
        l2.install(self._places, self._present, piece, piece // self.tables.slices_per_partition, number)

    def _home(self, number: int) -> int:
        t = self.tables
        local = slice_in_partition(number, t.slices_per_partition)
        return home_partition(number, t.partitions) * t.slices_per_partition + local

    def _store(self, line: Line, now: int, go_on: Callable[[int], None]) -> None:
        """A stored line leaves its SM, unless too many wait for its slice already."""
        t, written = self.tables, written_sectors(line.sectors, line.data)
        passed = self._serve(t.store_server + int(t.cpc_of[line.sm]), now, t.cpc_store_service[written])
        leave = max(passed, self._serve(t.copy_server + line.sm, now, t.store_service[written]))
        line.piece = self._home(line.number)

        def depart(tick: int) -> None:
            left = max(tick, leave)
            self._stored[line.piece] += 1
            arrival = left + int(t.to_slice[line.sm, line.piece])
            self._hop(arrival, t.copy_server + line.sm, lambda at: self._write(line, at))
            go_on(left)
            self._deliver(line, left + t.completion)

        if self._stored[line.piece] < t.store_lines:
            depart(leave)
        else:
            self._held_back[line.piece].append(depart)

    def _write(self, line: Line, now: int) -> None:
        """A stored line reaches its home slice; one that is not there is written to DRAM as well."""
        t, piece = self.tables, line.piece
        written = written_sectors(line.sectors, line.data)
        done = self._serve(t.write_server + piece, now, t.write_service[written])
        if not self._holds(piece, line.number):
            channel = channel_of(line.number, t.channels)
            self._add("hbm.bytes_written", channel, LINE_BYTES)
            server, service = t.hbm_server + channel, int(t.hbm_service[SECTORS_PER_LINE])
            self._serve(server, now, service)
            done = max(done, -(-(self._free[server] - t.store_lines * service) // SUBTICKS))
            self._install(piece, line.number)
        self._hop(done, t.slice_server + piece, lambda tick: self._written(piece, tick))

    def _written(self, piece: int, now: int) -> None:
        """The slice has taken a line in; the first that waits for the slice may leave its SM."""
        self._stored[piece] -= 1
        if self._held_back[piece]:
            self._held_back[piece].popleft()(now)
