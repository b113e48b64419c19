"""Time: SimPy's clock, the fabric that computes ahead of it, and the barriers between the two.

A *pump* hands the transfers of past ticks to the fabric, lets it advance as far as nothing can still be
injected that would change the outcome, and posts what reached barriers. It runs just before the first tick of
which the fabric could have unknown news, after all ordinary events of its own tick; no earlier, so that one
call of the fabric covers many events.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator
from operator import attrgetter
from typing import Any

import simpy

from hoppersim.blocks.mbarrier import MbarrierFault
from hoppersim.engine.barriers import LoggedBarrier, Waiter
from hoppersim.engine.interface import Fabric, Transfer

AFTER_ORDINARY_EVENTS = 2
"""SimPy priority of the pump: below every event that SimPy itself or a role schedules."""
FAR = 1 << 50


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
        self.barriers: list[LoggedBarrier] = []
        self.faults: list[tuple[int, MbarrierFault]] = []
        self._pending: list[Transfer] = []
        self._pump_at = FAR
        self._quiet = fabric.lookahead + fabric.latest_unknown - 1

    def add_barrier(self, count: int) -> int:
        """Make a barrier and return its number."""
        self.barriers.append(LoggedBarrier(count, lambda tick, fault: self.faults.append((tick, fault))))
        return len(self.barriers) - 1

    def post(self, barrier: int, tick: int, arrivals: int, data: int, who: str) -> None:
        """Let arrivals and bytes (negative: announced ones) reach a barrier at a tick."""
        target = self.barriers[barrier]
        target.push(tick, arrivals, data, who)
        if target.waiters:
            self._foresee(target)

    def passed(self, barrier: int, parity: int) -> bool:
        """Say whether a wait that is performed now returns at once."""
        target = self.barriers[barrier]
        target.commit(int(self.env.now))
        return target.state.passed(parity)

    def wait(self, barrier: int, parity: int, delay: Callable[[int], int]) -> simpy.Event:
        """Give an event for the end of a wait that did not pass.

        Parameters
        ----------
        barrier
            Number of the barrier.
        parity
            Parity of the phase that must complete.
        delay
            Ticks from the flip until the waiter goes on, as a function of the flip's tick.
        """
        event = self.env.event()

        def wake(tick: int) -> None:
            event._ok, event._value = True, None
            self.env.schedule(event, delay=tick + delay(tick) - self.env.now)

        target = self.barriers[barrier]
        target.waiters.append(Waiter(parity, wake))
        self._foresee(target)
        return event

    def inject(self, transfer: Transfer) -> None:
        """Hand a transfer of this or a later tick to the fabric in due order."""
        self._pending.append(transfer)
        self._pump_no_later_than(transfer.tick + self._quiet)

    def _foresee(self, target: LoggedBarrier) -> None:
        """Schedule the first flip among the known entries; an earlier forecast becomes void."""
        target.generation += 1
        flip = target.next_flip()
        if flip is None:
            return
        generation = target.generation

        def happen(_: simpy.Event) -> None:
            if target.generation == generation:
                target.commit(int(self.env.now))
                if target.waiters:
                    self._foresee(target)

        self._at(max(flip, int(self.env.now)), happen, priority=1)

    def _at(self, tick: int, callback: Callable[[simpy.Event], None], priority: int) -> None:
        event = self.env.event()
        event._ok, event._value = True, None
        event.callbacks = [callback]
        self.env.schedule(event, priority=priority, delay=tick - self.env.now)  # type: ignore[arg-type]

    def _pump_no_later_than(self, tick: int) -> None:
        if tick >= self._pump_at:
            return
        self._pump_at = tick
        self._at(tick, self._pump, AFTER_ORDINARY_EVENTS)

    def _pump(self, _: simpy.Event) -> None:
        now = int(self.env.now)
        if now != self._pump_at:
            return
        self._pump_at = FAR
        bound = int(min(self.env.peek(), now + FAR))
        self._commit_before(bound)
        for entry in self.fabric.advance(bound + self.fabric.lookahead):
            self.post(entry.barrier, entry.tick, entry.arrivals, entry.bytes, "fabric")
        if not self.fabric.idle:
            self._pump_no_later_than(max(now + 1, self.fabric.frontier + self.fabric.latest_unknown - 1))
        if self._pending:
            self._pump_no_later_than(self._pending[0].tick + self._quiet)

    def _commit_before(self, bound: int) -> None:
        """Hand over the transfers of ticks before `bound`: no other can come that precedes them."""
        self._pending.sort(key=_IN_DUE_ORDER)
        due = bisect_left(self._pending, bound, key=_TICK)
        if due:
            self.fabric.inject(self._pending[:due])
            del self._pending[:due]


_TICK = attrgetter("tick")
_IN_DUE_ORDER = attrgetter("tick", "order")
Process = Generator[simpy.Event, Any, None]
