"""The reference fabric: the compiled one's queues as plain SimPy, one event for each hop of a line.

Short and readable, for small cases, teaching, and checking the compiled fabric, with which it must agree to
the tick. It shares the table and the blocks' per-line decisions with it, and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop

import numpy as np
from numpy.typing import NDArray

from hoppersim.blocks import l2
from hoppersim.blocks.addresses import channel_of, page_draw, slice_in_partition
from hoppersim.blocks.lrc import ALONE, MERGES, SHARES
from hoppersim.engine.interface import (
    AT_PORT,
    BETWEEN_SMS,
    COPY,
    DEFAULT_MEMORY_LINES,
    IN_ENGINE,
    IN_HBM,
    IN_L2,
    IN_LRC,
    KINDS,
    LOAD,
    MULTICAST,
    ON_WAY,
    LogEntry,
    Passage,
    Transfer,
)
from hoppersim.engine.reference_coalescer import Coalescer
from hoppersim.engine.reference_memory import Memory
from hoppersim.engine.reference_parts import Box, Line, collect, make_box
from hoppersim.engine.tables import SUBTICKS, first_event, first_news, launch_ticks, make_tables
from hoppersim.machine import Machine
from hoppersim.units import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE, TICKS_PER_CYCLE


class ReferenceFabric(Memory):
    """Line traffic as SimPy events.

    Parameters
    ----------
    machine
        The machine to model.
    granular
        Log the bytes of every line (see `make_tables`).
    memory_lines
        Lines of the address space; no transfer may reach beyond.
    kinds
        Kinds of transfers that may come: the sooner they start, the smaller the steps of the fabric.
    """

    def __init__(
        self,
        machine: Machine,
        granular: bool = False,
        memory_lines: int = DEFAULT_MEMORY_LINES,
        kinds: frozenset[int] = KINDS,
    ) -> None:
        super().__init__(make_tables(machine, granular), machine.spec.l2.bytes, memory_lines)
        self.lookahead = first_event(self.tables, kinds)
        self.latest_unknown = first_news(self.tables)
        self.frontier = 0
        self.lines = 0
        self._exits: dict[int, deque[tuple[int, Line]]] = {}
        self._queues: dict[int, deque[Box]] = {}
        self._ready: dict[int, int] = {}
        self._turns = [0] * self.tables.slices
        self._gone = [0] * self.tables.slices
        self._read_at = [0] * self.tables.slices
        self._bank_at = [0] * (self.tables.slices * self.tables.banks)
        self._coalescer = Coalescer(self.tables, self._gone)
        self._held = [0] * self.tables.slices
        self._misses: dict[tuple[int, int], list[tuple[str, Line]]] = {}

    def warm(self, first_line: int, last_line: int) -> None:
        """Bring a range of lines into the L2 of every partition."""
        t = self.tables
        for line in range(first_line, last_line):
            local = slice_in_partition(line, t.slices_per_partition)
            for partition in range(t.partitions):
                self._install(partition * t.slices_per_partition + local, line)

    def inject(self, transfers: list[Transfer]) -> None:
        """Take transfers in order of (tick, order)."""
        t = self.tables
        for transfer in transfers:
            box = make_box(transfer)
            load = transfer.kind in (LOAD, MULTICAST)
            queue = transfer.sm if load else t.sms + transfer.sm
            waiting = self._queues.setdefault(queue, deque())
            waiting.append(box)
            if len(waiting) == 1:
                self._start(queue, box, self._ready.get(queue, 0))

    def advance(self, horizon: int) -> list[LogEntry]:
        """Process all events before `horizon`, but stop `lookahead` after the first entry that it returns."""
        while self._env.peek() < horizon:
            now = int(self._env.peek())
            self._gather(now)
            while self._inbox:
                before = len(self._log)
                _, _, arrive = heappop(self._inbox)
                arrive(now)
                self._gather(now)
                horizon = min([horizon, *(entry.tick + self.lookahead for entry in self._log[before:])])
        self.frontier = max(self.frontier, horizon)
        log, self._log = self._log, []
        return log

    def passages(self) -> list[Passage]:
        """Give the passages of transfers with a number that ended since the last call."""
        passages, self._passages = self._passages, []
        return passages

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return self._env.peek() == float("inf")

    def counters(self) -> dict[str, NDArray[np.int64]]:
        """Counters so far, by block name, one value for each unit."""
        return collect(self.tables, self._count, self._busy)

    # ---- engines of an SM -------------------------------------------------------------------------------

    def _engine(self, queue: int, box: Box, position: int) -> Callable[[int], None]:
        """The engine of a queue handles the next line of its first box."""

        def issue(now: int) -> None:
            t = self.tables
            number, sectors, data = box.lines[position]
            start = box.transfer.tick + launch_ticks(t, box.transfer.kind)
            line = Line(box, number, sectors, data, box.transfer.sm, since=start)
            if queue < t.sms:
                go_on(self._set_out(line, now))
            elif box.transfer.kind in BETWEEN_SMS:
                last = position + 1 == len(box.lines)
                go_on(max(self._send(line, now), box.start + t.copy_interval if last else 0))
            else:
                self._store(line, now, go_on)

        def go_on(ready: int) -> None:
            if position + 1 < len(box.lines):
                self._hop(ready, queue, self._engine(queue, box, position + 1))
            else:
                self._next_box(queue, ready + (self.tables.box_interval if queue < self.tables.sms else 0))

        return issue

    def _next_box(self, queue: int, ready: int) -> None:
        waiting = self._queues[queue]
        waiting.popleft()
        self._ready[queue] = ready
        if waiting:
            self._start(queue, waiting[0], ready)

    def _start(self, queue: int, box: Box, ready: int) -> None:
        """Let the engine of a queue begin a box as soon as it is ready and the box is there."""
        transfer = box.transfer
        box.start = max(ready, transfer.tick + launch_ticks(self.tables, transfer.kind))
        self._hop(box.start, queue, self._engine(queue, box, 0))

    def _send(self, line: Line, now: int) -> int:
        t, sm, to = self.tables, line.sm, line.box.transfer.destinations[0].sm
        port, across = t.copy_server + sm, int(t.tpc_of[sm] != t.tpc_of[to])
        line.spend(IN_ENGINE, now)
        leave = self._serve(port, now, t.copy_service[line.sectors])
        passed = self._serve(t.peer_server + int(t.cpc_of[sm]), leave, t.peer_service[across, line.sectors])
        line.sm = to
        name = "sm.bytes_out_dsmem" if line.box.transfer.kind == COPY else "sm.bytes_out_remote"
        self._add(name, sm, line.data)
        arrival = passed + int(t.pair[sm, to])
        line.spend(AT_PORT, passed)
        line.spend(ON_WAY, arrival)
        self._hop(arrival, port, lambda tick: self._enter(line, tick))
        return leave

    # ---- coalescer, L2 and HBM --------------------------------------------------------------------------

    def _set_out(self, line: Line, now: int) -> int:
        """A request leaves for its slice; return when the engine makes the next."""
        t, port = self.tables, self.tables.copy_server + line.sm
        start = max(now * SUBTICKS, self._free[port])
        self._free[port] = start + t.request_service
        leave = -(-start // SUBTICKS)
        self.lines += 1
        self._add("tma.lines", line.sm, 1)
        self._add("tma.multicast_lines", line.sm, int(line.box.transfer.kind == MULTICAST))
        first = int(t.partition_of_gpc[t.gpc_of[line.sm]]) * t.slices_per_partition
        line.piece = first + slice_in_partition(line.number, t.slices_per_partition)
        arrival = leave + int(t.to_slice[line.sm, line.piece])
        line.spend(IN_ENGINE, leave)
        line.spend(ON_WAY, arrival)
        self._hop(arrival, line.sm, lambda tick: self._coalesce(line, tick))
        return max(now + t.line_interval, leave)

    def _coalesce(self, line: Line, now: int) -> None:
        """Let the line join one that is under way, or have it looked up."""
        t = self.tables
        self._add("lrc.requests", line.piece, 1)
        self._note_held(line, now)
        met = ALONE
        if t.lrc_enabled and line.box.transfer.kind == LOAD:
            met = self._coalescer.meet(line, now)
            if met == MERGES:
                self._add("lrc.sectors_merged", line.piece, line.sectors)
                return
        self._add("lrc.sectors_out", line.piece, line.sectors)
        self._look_up(line, now, shares=met == SHARES)

    def _look_up(self, line: Line, now: int, *, shares: bool) -> None:
        t, counted = self.tables, 0 if shares else line.sectors
        now = self._serve(t.look_up_server + line.piece, now, t.look_up_service)
        self._add("l2.sectors", line.piece, counted)
        if self._holds(line.piece, line.number):
            self._add("l2.hits", line.piece, counted)
            self._respond(line, now + t.access, IN_L2, reads=not shares)
        else:
            self._add("l2.misses", line.piece, counted)
            self._fetch(line, now, "respond")
        if line.box.transfer.paired:
            self._look_up_other(line, now)

    def _look_up_other(self, line: Line, now: int) -> None:
        """The other line of a pair is looked up behind the first, and fetched though nobody waits for it."""
        t = self.tables
        now = self._serve(t.look_up_server + line.piece, now, t.look_up_service)
        other = Line(line.box, l2.other_of_pair(line.number), 0, 0, line.sm, piece=line.piece)
        if not self._holds(other.piece, other.number):
            self._fetch(other, now, "nothing")

    def _fetch(self, line: Line, now: int, then: str) -> None:
        """A line waits at its slice; the first that does asks the line's home for it."""
        t = self.tables
        if not self._wait_for_line(line.piece, then, line):
            return
        if self._home(line.number) == line.piece:
            self._ask_hbm(line.number, line.piece, now)
        else:
            port = t.slice_server + line.piece
            self._hop(now + t.fabric_latency, port, lambda tick: self._look_up_at_home(line, tick))

    def _look_up_at_home(self, line: Line, now: int) -> None:
        piece = self._home(line.number)
        if self._holds(piece, line.number):
            self._cross(line, piece, now, IN_L2)
        elif self._wait_for_line(piece, "cross", line):
            self._ask_hbm(line.number, piece, now)

    def _wait_for_line(self, piece: int, then: str, line: Line) -> bool:
        """Queue behind a miss of the line; return whether this is the first."""
        waiting = self._misses.setdefault((piece, line.number), [])
        waiting.append((then, line))
        return len(waiting) == 1

    def _ask_hbm(self, number: int, piece: int, now: int) -> None:
        t = self.tables
        channel = channel_of(number, t.channels)
        back = int(t.from_hbm[page_draw(number, len(t.from_hbm))])

        def read(tick: int) -> None:
            leave = self._serve(t.hbm_server + channel, tick, t.hbm_service[SECTORS_PER_LINE])
            self._add("hbm.bytes_read", channel, LINE_BYTES)
            self._hop(
                leave + back, t.hbm_server + channel, lambda late: self._fill(number, piece, late, IN_HBM)
            )

        self._hop(now + t.to_hbm, t.slice_server + piece, read)

    def _fill(self, number: int, piece: int, now: int, waited: int) -> None:
        """A line arrives at a slice, from DRAM or from the other partition, and serves all who wait there."""
        self._install(piece, number)
        for then, line in self._misses.pop((piece, number)):
            if then == "cross":
                self._cross(line, piece, now, waited)
            elif then == "respond":
                self._respond(line, now, waited)

    def _cross(self, line: Line, piece: int, now: int, waited: int) -> None:
        t = self.tables
        side = piece // t.slices_per_partition
        leave = self._serve(t.fabric_server + side, now, t.fabric_service[SECTORS_PER_LINE])
        self._add("l2.fabric_sectors", 1 - side, SECTORS_PER_LINE)
        port = t.fabric_server + side
        self._hop(
            leave + t.fabric_latency, port, lambda tick: self._fill(line.number, line.piece, tick, waited)
        )

    def _respond(self, line: Line, ready: int, waited: int, *, reads: bool = True) -> None:
        """A bank reads the data, in order; the response queues at the exit, which ports hold up."""
        t = self.tables
        start = max(ready * SUBTICKS, self._read_at[line.piece])
        if reads:
            bank = line.piece * t.banks + l2.bank_of(line.piece, self._turns[line.piece], t.banks)
            begin = max(ready * SUBTICKS, self._bank_at[bank])
            self._bank_at[bank] = begin + int(t.bank_service[line.sectors])
            start = max(start, begin)
        self._read_at[line.piece] = start + int(t.slice_service[line.sectors])
        ready = -(-start // SUBTICKS)
        line.spend(waited, ready)
        line.turn, line.ready = self._turns[line.piece], ready
        self._turns[line.piece] += 1
        waiting = self._exits.setdefault(line.piece, deque())
        waiting.append((ready, line))
        if len(waiting) == 1:
            self._open_exit(line.piece, ready)

    def _note_held(self, line: Line, now: int) -> None:
        """Note how long ports have held up the slice's exit until the line comes to the slice."""
        t = self.tables
        opens = self._free[t.slice_server + line.piece] - int(t.slice_service[line.sectors])
        line.held = self._held[line.piece] - max(0, opens - now * SUBTICKS)

    def _leave_queue(self, line: Line, ready: int, held: int, now: int) -> None:
        """Tell the wait at the slice: for data, for ports that held up the exit, for other lines."""
        begun = max(ready, line.since)
        line.spend(IN_LRC, begun)
        line.spend(AT_PORT, begun + min(now - begun, max(0, held - line.held) // SUBTICKS))
        line.spend(IN_L2, now)

    def _open_exit(self, piece: int, ready: int) -> None:
        server = self.tables.slice_server + piece
        self._hop(
            max(ready, -(-self._free[server] // SUBTICKS)), server, lambda tick: self._exit(piece, tick)
        )

    def _exit(self, piece: int, now: int) -> None:
        """The first response leaves the slice as soon as the port of its GPC has room."""
        waiting = self._exits[piece]
        ready, line = waiting.popleft()
        self._gone[piece] += 1
        if line.entry is not None and line.entry.leader is line:
            line.entry.leader, line.entry.left = None, now // TICKS_PER_CYCLE
        self._send_out(line, now, ready)
        if waiting:
            self._open_exit(piece, waiting[0][0])

    def _send_out(self, line: Line, now: int, filled: int) -> None:
        """The response leaves for its GPC, and behind the port for all that read the line."""
        t, gpc = self.tables, int(self.tables.gpc_of[line.sm])
        readers = (line, *reversed(line.merged))
        port, slice_server = t.gpc_server + gpc, t.slice_server + line.piece
        service = int(t.gpc_service[line.sectors])
        free = max(now * SUBTICKS, self._free[slice_server])
        start = max(free, self._free[port] - t.port_lines * service)
        held = self._held[line.piece]
        self._held[line.piece] += start - free
        self._free[slice_server] = start + int(t.slice_service[line.sectors])
        self._busy[slice_server] += int(t.slice_service[line.sectors])
        through = self._pass_port(line.sectors, gpc, start, self._crossings(readers))
        for reader in readers:
            self._leave_queue(reader, filled, held, now)
            reader.spend(AT_PORT, through)
            self._add("gpc.sectors_delivered", gpc, line.sectors * len(reader.box.transfer.destinations))
        if len(readers) == 1 and line.box.transfer.kind == LOAD:
            arrival = through + t.to_sm + int(t.from_slice[line.sm, line.piece])
            line.spend(ON_WAY, arrival)
            self._hop(arrival, slice_server, lambda tick: self._enter(line, tick))
        else:
            self._fan_out(readers, through)

    def _pass_port(self, sectors: int, gpc: int, start: int, times: int) -> int:
        """A response passes the port of its GPC so many times; return the tick at which it is through."""
        t, port = self.tables, self.tables.gpc_server + gpc
        taken = times * int(t.gpc_service[sectors])
        self._free[port] = max(self._free[port], start) + taken
        self._busy[port] += taken
        self._add("gpc.bytes_in", gpc, times * sectors * SECTOR_BYTES)
        return -(-self._free[port] // SUBTICKS)

    def _crossings(self, readers: Sequence[Line]) -> int:
        """How often a response passes its port: once, or once for each SM where it branches before."""
        if self.tables.branch_behind_port:
            return 1
        return sum(len(reader.box.transfer.destinations) for reader in readers)
