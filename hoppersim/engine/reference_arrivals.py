"""Where lines arrive, in the reference fabric: the lanes of a CPC, the SM, and the barrier."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hoppersim.engine.interface import (
    BETWEEN_SMS,
    COPY,
    IN_LANE,
    MULTICAST,
    ON_WAY,
    TO_SMEM,
    LogEntry,
    Passage,
)
from hoppersim.engine.reference_parts import Line
from hoppersim.engine.reference_places import Places
from hoppersim.engine.tables import NARROW_RECEIVERS, SUBTICKS, Tables
from hoppersim.units import SECTOR_BYTES, SECTORS_PER_LINE


class Arrivals(Places):
    """Lines behind the GPC ports.

    Parameters
    ----------
    tables
        The fabric's table.
    """

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self._lanes: dict[int, deque[list[Line]]] = {}
        self._held_up: dict[int, deque[int]] = {}
        self._log: list[LogEntry] = []
        self._passages: list[Passage] = []

    def _fan_out(self, readers: tuple[Line, ...], through: int) -> None:
        """Send a copy of the line to each destination of each reader, together for those of one CPC."""
        t, piece = self.tables, readers[0].piece
        copies: dict[int, list[Line]] = {}
        arrivals: dict[int, int] = {}
        ready = through + t.to_sm + t.fan_out
        for reader in readers:
            for index, destination in enumerate(reader.box.transfer.destinations):
                cpc, sm = int(t.cpc_of[destination.sm]), destination.sm
                copy = reader.copy_to(sm, index)
                copy.spend(ON_WAY, ready + int(t.from_slice[sm, piece]))
                copies.setdefault(cpc, []).insert(0, copy)
                arrivals[cpc] = max(arrivals.get(cpc, 0), ready + int(t.from_slice[sm, piece]))
        for cpc, lines in copies.items():
            lane = cpc * t.cpc_lanes + piece % t.cpc_lanes
            self._hop(arrivals[cpc], t.slice_server + piece, self._hand_out(lane, lines))

    def _hand_out(self, lane: int, copies: list[Line]) -> Callable[[int], None]:
        """A response to several SMs of a CPC joins the lane that its slice feeds."""

        def join(now: int) -> None:
            waiting = self._lanes.setdefault(lane, deque())
            waiting.append(copies)
            if len(waiting) == 1:
                self._run_lane(lane, now)

        return join

    def _run_lane(self, lane: int, now: int) -> None:
        """Hand out the responses of a lane, in order, until the first one finds an SM without room."""
        waiting = self._lanes[lane]
        while waiting:
            ready, full = max(((self._room_at(copy.sm), -index) for index, copy in enumerate(waiting[0])))
            if ready > now:
                self._wait_for_room(lane, waiting[0][-full].sm, ready)
                return
            for copy in waiting.popleft():
                self._enter(copy, now)

    def _room_at(self, sm: int) -> int:
        """Tick from which an SM has room for one more response to several SMs."""
        t = self.tables
        room = t.ingress_lines * int(t.sm_service[SECTORS_PER_LINE])
        return -(-(self._free[t.sm_server + sm] - room) // SUBTICKS)

    def _wait_for_room(self, lane: int, sm: int, ready: int) -> None:
        lanes = self._held_up.setdefault(sm, deque())
        lanes.append(lane)
        if len(lanes) == 1:
            self._hop(ready, self.tables.sm_server + sm, lambda tick: self._go_on(sm, tick))

    def _go_on(self, sm: int, now: int) -> None:
        """An SM has room again: the lane that waits longest goes on."""
        lanes = self._held_up[sm]
        more = len(lanes) > 1
        self._run_lane(lanes.popleft(), now)
        if more:
            ready = max(now, self._room_at(sm))
            self._hop(ready, self.tables.sm_server + sm, lambda tick: self._go_on(sm, tick))

    def _enter(self, line: Line, now: int) -> None:
        """The line enters its SM and is written to its shared memory."""
        t, transfer = self.tables, line.box.transfer
        wide = len(transfer.destinations) > NARROW_RECEIVERS
        service = t.wide_service if wide else t.sm_service
        leave = self._serve(t.sm_server + line.sm, now, service[line.sectors])
        if transfer.kind in BETWEEN_SMS:
            self._serve(t.copy_server + line.sm, now, t.acknowledge)
            name = "sm.bytes_in_dsmem" if transfer.kind == COPY else "sm.bytes_in_remote"
            self._add(name, line.sm, line.data)
        else:
            self._add("sm.bytes_loaded", line.sm, line.data)
            name = "sm.bytes_in_multicast" if transfer.kind == MULTICAST else "sm.bytes_in_self"
            self._add(name, line.sm, line.sectors * SECTOR_BYTES)
        line.spend(IN_LANE, now)
        line.spend(TO_SMEM, leave + t.completion)
        self._deliver(line, leave + t.completion)

    def _deliver(self, line: Line, tick: int) -> None:
        """Count a line at its destination; log its bytes with the last one, or each where that is asked."""
        box, index = line.box, line.index
        box.waiting[index] -= 1
        last = box.waiting[index] == 0
        if last and box.transfer.tile >= 0:
            self._passages.append(Passage(box.transfer.tile, index, tick, tuple(line.ticks)))
        if not last and not self.tables.granular:
            return
        amount = box.owed[index] if last else line.data
        box.owed[index] -= amount
        self._log.append(LogEntry(tick, box.transfer.destinations[index].barrier, 0, amount))
