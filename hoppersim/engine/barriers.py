"""Barriers in time order: a log of what the fabric will bring, committed up to the present.

The fabric computes ahead, so entries carry a tick that may lie in the future. A commit applies the entries up
to a tick one by one; at one tick the log goes before the local operation, and within it expectations
(negative bytes) before arrivals before bytes. Committing eagerly would complete phases too early.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import NamedTuple, Protocol

from hoppersim.blocks.mbarrier import Mbarrier, MbarrierFault


class Pending(NamedTuple):
    """One log entry; the fields are in the order in which entries of a tick are applied."""

    tick: int
    rank: int
    arrivals: int
    bytes: int
    who: str


class Waiter(Protocol):
    """Somebody who waits for the present phase to complete."""

    def expect(self, flip: int | None) -> None:
        """Take note of the tick at which it will, as far as is known; None takes an earlier tick back."""


class LoggedBarrier:
    """An mbarrier whose remote and asynchronous operations are a time-ordered log.

    Parameters
    ----------
    count
        Arrivals that a phase needs.
    on_fault
        Called with (tick, fault) when an entry breaks a rule of PTX; the entry is dropped.
    """

    __slots__ = ("_log", "_on_fault", "_trial", "flipped", "history", "state", "waiters")

    def __init__(self, count: int, on_fault: Callable[[int, MbarrierFault], None]) -> None:
        self.state = Mbarrier(count)
        self._trial = Mbarrier(count)
        self.flipped = 0
        self.waiters: list[Waiter] = []
        self.history: list[Pending] = []
        self._log: list[Pending] = []
        self._on_fault = on_fault

    def push(self, tick: int, arrivals: int, data: int, who: str) -> None:
        """Add an entry: arrivals, then bytes that came (negative: bytes that are announced)."""
        rank = 0 if data < 0 else 1 if arrivals else 2
        insort(self._log, Pending(tick, rank, arrivals, data, who))

    def commit(self, tick: int) -> None:
        """Apply all entries up to and including `tick`."""
        log = self._log
        while log and log[0][0] <= tick:
            self._apply(log.pop(0))

    def foresee(self) -> None:
        """Tell all who wait when the known entries complete the present phase."""
        if self._log:
            flip = self.next_flip()
            for waiter in self.waiters:
                waiter.expect(flip)

    def next_flip(self) -> int | None:
        """Tick at which the known entries complete the present phase; None if they do not."""
        trial, state = self._trial, self.state
        trial.pending, trial.tx = state.pending, state.tx
        for tick, _, arrivals, data, _ in self._log:
            try:
                if trial.take(arrivals, data):
                    return tick
            except MbarrierFault:
                continue
        return None

    def _apply(self, entry: Pending) -> None:
        try:
            flipped = self.state.take(entry.arrivals, entry.bytes)
        except MbarrierFault as fault:
            self._on_fault(entry.tick, fault)
            return
        if not flipped:
            self.history.append(entry)
            return
        self.flipped = entry.tick
        self.history = []
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter.expect(entry.tick)
