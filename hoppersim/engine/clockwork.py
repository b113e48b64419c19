"""Time: SimPy's clock, the fabric that computes ahead of it, and the barriers between the two.

A *pump* hands the transfers of past ticks to the fabric, lets it advance as far as nothing can still be
injected that would change the outcome, and posts what reached barriers. It runs just before the first tick of
which the fabric could have unknown news, after all ordinary events of its own tick; no earlier, so that one
call of the fabric covers many events.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import simpy

from hoppersim.blocks.mbarrier import MbarrierFault
from hoppersim.engine.barriers import LoggedBarrier
from hoppersim.engine.interface import STORE, Fabric, LogEntry, Transfer
from hoppersim.engine.tiles import Tiles

AFTER_ORDINARY_EVENTS = 2
"""SimPy priority of the pump: below every event that SimPy itself or a role schedules."""
FAR = 1 << 50
FOREVER = 1 << 48
DRAIN_STEP = 1 << 20


class Wake:
    """The event that ends a role's wait, some ticks after the flip of a barrier.

    Its value is the tick of the flip.

    Parameters
    ----------
    env
        The SimPy environment.
    barrier
        The barrier, whose present phase is waited for.
    since
        Tick from which the thread asks. If it finds the flip there it goes on at once.
    poll
        Ticks between the polls of a thread that was there first; 0 if it does not poll.
    wake
        Ticks from the flip, or the poll that finds it, until such a thread goes on.
    """

    __slots__ = ("_barrier", "_env", "_flip", "_poll", "_since", "_wake", "event")

    def __init__(
        self, env: simpy.Environment, barrier: LoggedBarrier, since: int, poll: int, wake: int
    ) -> None:
        self._env, self._barrier = env, barrier
        self._since, self._poll, self._wake = since, poll, wake
        self._flip: int | None = None
        self.event = simpy.Event(env)
        self.event.callbacks = [self._commit]

    def expect(self, flip: int | None) -> None:
        """Let the event fire after a flip at this tick; None takes an earlier tick back."""
        if flip == self._flip:
            return
        if self._flip is not None:
            self._take_back()
        self._flip = flip
        if flip is not None:
            self.event._ok, self.event._value = True, flip
            self._env.schedule(self.event, delay=self._end(flip) - self._env._now)

    def _end(self, flip: int) -> int:
        """Tick at which the role goes on after a flip."""
        since, poll = self._since, self._poll
        if flip <= since:
            return since
        return flip + (poll - (flip - since) % poll if poll else 0) + self._wake

    def _commit(self, _: simpy.Event) -> None:
        self._barrier.commit(self._env._now)  # type: ignore[arg-type]

    def _take_back(self) -> None:
        """Move who waits to a fresh event: SimPy cannot recall one that it has scheduled."""
        void, self.event = self.event, self._env.event()
        self.event.callbacks, void.callbacks = void.callbacks, []


class Clockwork:
    """The SimPy environment of a run with its fabric and barriers.

    Parameters
    ----------
    fabric
        The fabric that carries the lines.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.env = simpy.Environment()
        self.fabric = fabric
        self.limit = FOREVER
        """Tick beyond which the fabric does not go on, since the run is to be given up then."""
        self.tiles = Tiles()
        self.barriers: list[LoggedBarrier] = []
        self.faults: list[tuple[int, int, MbarrierFault]] = []
        self.landed = 0
        """Tick at which the last bytes that go to an SM have reached its barrier, as far as is known."""
        self._pending: list[Transfer] = []
        self._stores: set[int] = set()
        self._pump_at = FAR
        self._sending: dict[int, int] = {}
        self._next_arrival: dict[int, int] = {}
        self.lines_loaded: dict[int, int] = defaultdict(int)
        """Lines that loads have been asked to bring into each SM."""
        self._background = 0
        self._quiet = fabric.lookahead + fabric.latest_unknown - 1

    def arrival_tick(self, sm: int, tick: int, interval: int) -> int:
        """Give the tick at which an SM takes in a remote barrier operation: one in each interval."""
        self._next_arrival[sm] = max(tick, self._next_arrival.get(sm, 0)) + interval
        return self._next_arrival[sm] - interval

    def send_from(self, sm: int, ticks: int) -> int:
        """Let an SM send for some ticks, after what it sends already; give the ticks until that is done.

        Remote loads and stores of threads share an SM's exit to its peers first come, first served.
        """
        now = int(self.env.now)
        self._sending[sm] = max(now, self._sending.get(sm, 0)) + ticks
        return self._sending[sm] - now

    def add_barrier(self, count: int, kind: type[LoggedBarrier] = LoggedBarrier) -> int:
        """Make a barrier, of a kind, and return its number."""
        number = len(self.barriers)
        self.barriers.append(kind(count, lambda tick, fault: self.faults.append((tick, number, fault))))
        return number

    def post(self, barrier: int, tick: int, arrivals: int, data: int, who: str) -> None:
        """Let arrivals and bytes (negative: announced ones) reach a barrier at a tick."""
        target = self.barriers[barrier]
        target.push(tick, arrivals, data, who)
        if target.waiters:
            target.foresee()

    def passed(self, barrier: int, parity: int) -> bool:
        """Say whether a wait that is performed now returns at once."""
        target = self.barriers[barrier]
        target.commit(self.env._now)  # type: ignore[arg-type]
        return target.state.phase & 1 != parity

    def wait(self, barrier: int, since: int = -1, poll: int = 0, wake: int = 1) -> simpy.Event:
        """Give the event of a `Wake` for the end of a wait that did not pass."""
        target = self.barriers[barrier]
        waiter = Wake(self.env, target, since, poll, wake)
        target.waiters.append(waiter)
        target.foresee()
        return waiter.event

    def inject(self, transfer: Transfer) -> None:
        """Hand a transfer of this or a later tick to the fabric in due order."""
        self._pending.append(transfer)
        if transfer.kind == STORE:
            self._stores.add(transfer.destinations[0].barrier)
        if transfer.tick + self._quiet < self._pump_at:
            self._pump_no_later_than(transfer.tick + self._quiet)

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Let the event that is waited for inside not count as something that goes on."""
        self._background += 1
        yield
        self._background -= 1

    @property
    def nothing_else(self) -> bool:
        """Whether nothing can happen any more but what waits in the background."""
        return len(self.env._queue) <= self._background

    def _pump_no_later_than(self, tick: int) -> None:
        if tick >= self._pump_at:
            return
        self._pump_at = tick
        event = self.env.event()
        event._ok, event._value = True, None
        event.callbacks = [self._pump]
        self.env.schedule(event, priority=AFTER_ORDINARY_EVENTS, delay=tick - self.env.now)  # type: ignore[arg-type]

    def _pump(self, _: simpy.Event) -> None:
        now = int(self.env.now)
        if now != self._pump_at:
            return
        self._pump_at = FAR
        bound = int(min(self.env.peek(), now + FAR))
        self._commit_before(bound)
        for entry in self._advance(min(bound + self.fabric.lookahead, self.limit + 1)):
            self.post(entry.barrier, entry.tick, entry.arrivals, entry.bytes, "fabric")
        if not self.fabric.idle:
            self._pump_no_later_than(max(now + 1, self.fabric.frontier + self.fabric.latest_unknown - 1))
        if self._pending:
            self._pump_no_later_than(self._pending[0].tick + self._quiet)

    def _advance(self, horizon: int) -> list[LogEntry]:
        """Let the fabric go on; note when bytes land, and give what reached barriers."""
        entries = self.fabric.advance(horizon)
        for entry in entries:
            if entry.tick > self.landed and entry.barrier not in self._stores:
                self.landed = entry.tick
        self.tiles.land(self.fabric.passages())
        return entries

    def _commit_before(self, bound: int) -> None:
        """Hand over the transfers of ticks before `bound`: no other can come that precedes them."""
        self._pending.sort(key=_IN_DUE_ORDER)
        due = bisect_left(self._pending, bound, key=_TICK)
        if due:
            self.fabric.inject(self._pending[:due])
            del self._pending[:due]

    def drain(self) -> None:
        """Carry all traffic that is still under way to its end, so that counters and `landed` cover it."""
        self._commit_before(FAR)
        while not self.fabric.idle:
            self._advance(self.fabric.frontier + DRAIN_STEP)


_TICK = attrgetter("tick")
_IN_DUE_ORDER = attrgetter("tick", "order")
Process = Generator[simpy.Event, Any, None]
