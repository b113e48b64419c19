"""Shared memory as the watch sees it: who writes each stage of a buffer, who reads it, and in which phase."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from hoppersim.blocks.mbarrier import MbarrierFault
from hoppersim.engine.barriers import LoggedBarrier, Pending
from hoppersim.engine.context import Cta
from hoppersim.engine.roles import RoleRun
from hoppersim.program.operations import Operation

MOST_KEPT = 16
"""Reads of a stage that are kept before those that are over are looked for."""

WHOLE = 1 << 40
"""More bytes than any stage has."""


@dataclass(slots=True, eq=False)
class Use:
    """One access to a stage by a role, over a stretch of it and of time; `end` is -1 while it lasts."""

    run: RoleRun
    operation: Operation
    iteration: tuple[tuple[str, int], ...]
    start: int
    end: int
    low: int
    high: int
    place: Place
    barrier: WatchedBarrier | None = None
    """Barrier that counts the bytes of an asynchronous write."""
    remaining: int = 0
    """Of those bytes, the ones that have not landed."""

    def meets(self, other: Use) -> bool:
        """Whether both touch some of the same bytes."""
        return self.low < other.high and other.low < self.high


@dataclass(slots=True, eq=False)
class Place:
    """One stage of a buffer in one CTA.

    Attributes
    ----------
    overrun
        Called with a write that lands in a phase (the second argument) before anybody saw the one before.
    flying
        Asynchronous writes that have not landed.
    landed, source, phase
        The newest writes that have, their barrier, and its phase in which they landed.
    reads, stores
        Reads and stores that may still last.
    holds
        Roles that have waited for the stage's data and not yet released them: since when, by which wait.
    """

    cta: Cta
    buffer: str
    stage: int
    overrun: Callable[[Use, int], None]
    flying: list[Use] = field(default_factory=list)
    landed: list[Use] = field(default_factory=list)
    source: WatchedBarrier | None = None
    phase: int = -1
    reads: list[Use] = field(default_factory=list)
    stores: list[Use] = field(default_factory=list)
    holds: dict[RoleRun, tuple[int, Operation]] = field(default_factory=dict)

    def land(self, write: Use, phase: int) -> None:
        """Note that a write has landed in a phase of its barrier."""
        self.flying.remove(write)
        if phase != self.phase or write.barrier is not self.source:
            self.landed.clear()
            self.phase, self.source = phase, write.barrier
        self.landed.append(write)

    def add_read(self, read: Use, now: int) -> None:
        """Keep a read for as long as it lasts."""
        if len(self.reads) >= MOST_KEPT:
            self.forget(now)
        self.reads.append(read)

    def forget(self, now: int) -> None:
        """Forget reads and stores that are over."""
        self.reads = [read for read in self.reads if read.end > now]
        self.stores = [store for store in self.stores if store.end > now]

    def users(self) -> list[Use]:
        """List the reads that may still last, roles that hold the stage among them."""
        return [*self.reads, *(self.held_by(run, hold, -1) for run, hold in self.holds.items())]

    def held_by(self, run: RoleRun, hold: tuple[int, Operation], end: int) -> Use:
        """Tell a hold as a use of the whole stage."""
        return Use(run, hold[1], tuple(run.loops.items()), hold[0], end, 0, WHOLE, self)


class WatchedBarrier(LoggedBarrier):
    """A barrier that knows which writes its bytes belong to: those of a barrier land in the order of issue.

    Attributes
    ----------
    waited
        Phases that somebody has seen completed.
    flying
        Writes whose bytes have not all arrived.
    brought
        (write, bytes) of the present phase.
    """

    __slots__ = ("brought", "flying", "waited")

    def __init__(self, count: int, on_fault: Callable[[int, MbarrierFault], None]) -> None:
        super().__init__(count, on_fault)
        self.waited = 0
        self.flying: deque[Use] = deque()
        self.brought: list[tuple[Use, int]] = []

    def under_way(self, now: int) -> bool:
        """Whether bytes of writes have not arrived by `now`; looks at the log without committing it."""
        there = sum(entry.bytes for entry in self._log if entry.tick <= now and entry.bytes > 0)
        return sum(write.remaining for write in self.flying) > there

    def _apply(self, entry: Pending) -> None:
        phase = self.state.phase
        LoggedBarrier._apply(self, entry)
        if entry.bytes > 0 and self.flying:
            self._land(entry.bytes, phase, entry.tick)
        if self.state.phase != phase:
            self.brought.clear()

    def _land(self, count: int, phase: int, tick: int) -> None:
        while count and self.flying:
            write = self.flying[0]
            part = min(count, write.remaining)
            write.remaining -= part
            count -= part
            self.brought.append((write, part))
            if not write.remaining:
                self.flying.popleft()
                write.end = tick
                if phase > self.waited:
                    write.place.overrun(write, phase)
                write.place.land(write, phase)
