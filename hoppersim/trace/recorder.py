"""Writes down what happens in a run: operations of roles, transfers, what reaches barriers, use of links.

A recorder is an `Observer`: it wraps the steps of the roles that it follows and the clockwork that they act
on, and passes everything through unchanged. The fabric is left alone: issue and completion of a transfer are
known to roles and barriers, and the use of links is read from the fabric's counters whenever it has advanced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import simpy

from hoppersim.engine.clockwork import Clockwork
from hoppersim.engine.context import Cta
from hoppersim.engine.interface import Fabric, Transfer
from hoppersim.engine.observer import Bind
from hoppersim.engine.roles import RoleExit, RoleRun, Step, Waiting
from hoppersim.program.operations import Operation
from hoppersim.trace.meter import Meter, Reading
from hoppersim.trace.selection import Selection
from hoppersim.units import TICKS_PER_CYCLE

BYTES_A_RECORD = 110
"""What one record takes in the file, at most about [B]."""
READING_TICKS = 64 * TICKS_PER_CYCLE
"""Least time between two readings of the counters [tick]."""
READING_RECORDS = 4
"""Records that a reading counts as."""


@dataclass(slots=True, eq=False)
class Act:
    """One operation of a role [tick].

    Attributes
    ----------
    number, depth
        Place among all acts by their start; operations of the role that enclose it.
    loops
        Trip counts of the enclosing loops.
    start, end
        When its thread began and ended it; `end` is -1 while it lasts.
    barrier, phase
        Barrier that it waits for or acted on, and the phase that it waits for; -1 where there is none.
    blocked
        Whether it had to wait for that phase.
    """

    run: RoleRun
    operation: Operation
    number: int
    depth: int
    loops: tuple[tuple[str, int], ...]
    start: int
    end: int = -1
    barrier: int = -1
    phase: int = -1
    blocked: bool = False


class Sent(NamedTuple):
    """A transfer and the operation that issued it."""

    transfer: Transfer
    act: Act


class Post(NamedTuple):
    """Something that reaches a barrier at a tick; `act` is None where the fabric brings it."""

    tick: int
    barrier: int
    arrivals: int
    bytes: int
    act: Act | None


class Recorder:
    """Notes one run.

    Parameters
    ----------
    selection
        What to note.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.stop = selection.end
        """Tick from which on nothing is noted: the end of the window, or where the size limit was reached."""
        self.was_cut = False
        self.acts: list[Act] = []
        self.sent: list[Sent] = []
        self.posts: list[Post] = []
        self.readings: list[Reading] = []
        self.ctas: list[Cta] = []
        self.counts: dict[int, int] = {}
        """Arrivals that a phase needs, of every barrier that is noted."""
        self._clockwork: RecordingClockwork | None = None
        self._acting: Act | None = None
        self._stacks: dict[RoleRun, list[Act]] = {}
        self._known: set[int] = set()
        self._begun = 0
        self._room = max(1, selection.megabytes * 1_000_000 // BYTES_A_RECORD)
        self._meter = Meter()
        self._next_reading = selection.begin

    def clockwork(self, fabric: Fabric) -> Clockwork:
        """Make the clockwork of the run."""
        self._clockwork = RecordingClockwork(fabric, self)
        return self._clockwork

    def bind(self, bind: Bind) -> Bind:
        """Give a binder whose steps note what they do, in the clusters that are followed."""

        def noted(run: RoleRun, operation: Operation) -> Step:
            blocking, perform = bind(run, operation)
            if not self.selection.follows(run.cta):
                return blocking, perform
            self._meet(run)
            wrap = self._lasting if blocking else self._at_once
            return blocking, wrap(run, operation, perform)

        return noted

    @property
    def now(self) -> int:
        """Present tick of the run."""
        return int(self._clockwork.env.now) if self._clockwork else 0

    def unfinished(self) -> list[Act]:
        """List the operations that have not ended, as after a hang."""
        return [act for stack in self._stacks.values() for act in stack]

    def note_post(self, barrier: int, tick: int, arrivals: int, data: int, from_fabric: bool) -> None:
        """Note what will reach a barrier, if anybody who is followed has to do with that barrier."""
        act = None if from_fabric else self._acting
        if act is not None:
            self._touch(act, barrier)
        if barrier in self.counts and self._keeps(tick, tick, always=True):
            self.posts.append(Post(tick, barrier, arrivals, data, act))

    def note_look(self, barrier: int, phase: int, *, passed: bool) -> None:
        """Note that an operation waits for a phase of a barrier, or found it completed.

        The last look at a phase counts: an earlier one was made before the thread came.
        """
        act = self._acting
        if act is not None:
            again = (act.barrier, act.phase) == (barrier, phase)
            self._touch(act, barrier)
            act.phase = phase
            act.blocked = not passed or (act.blocked and not again)

    def note_transfer(self, transfer: Transfer) -> None:
        """Note a transfer that an operation issues."""
        act = self._acting
        if act is None:
            return
        for destination in transfer.destinations:
            self._touch(act, destination.barrier)
        records = 1 + len(transfer.destinations)
        if self._keeps(transfer.tick, transfer.tick, always=True, records=records):
            self.sent.append(Sent(transfer, act))

    def note_advance(self, fabric: Fabric) -> None:
        """Read the counters, if it is time."""
        tick = fabric.frontier
        if tick < self._next_reading or tick >= self.stop:
            return
        reading = self._meter.read(tick, fabric.counters())
        self._next_reading = tick + READING_TICKS
        if reading is not None and self._keeps(reading.tick, tick, records=READING_RECORDS):
            self.readings.append(reading)

    def _meet(self, run: RoleRun) -> None:
        """Take up the cluster of a role when it is first seen."""
        if run not in self._stacks:
            self._stacks[run] = []
            if id(run.cta) not in self._known:
                self._known |= {id(cta) for cta in run.cta.peers}
                self.ctas += run.cta.peers
                for cta in run.cta.peers:
                    for name, numbers in cta.barriers.items():
                        count = cta.flow.flow.program.barrier(name).count
                        self.counts |= dict.fromkeys(numbers, count)

    def _touch(self, act: Act, barrier: int) -> None:
        self.counts.setdefault(barrier, 1)  # the barrier of a store's bulk group, which no CTA declares
        act.barrier = barrier

    def _keeps(self, start: int, end: int, *, always: bool = False, records: int = 1) -> bool:
        """Tell whether something is noted, and count it.

        What barriers need to be followed up to the window is noted `always`, without being counted.
        """
        if start >= self.stop:
            return False
        if end < self.selection.begin:
            return always
        self._room -= records
        if self._room <= 0 and not self.was_cut:
            self.stop, self.was_cut = self.now, True
        return True

    def _begin(self, run: RoleRun, operation: Operation) -> Act:
        stack = self._stacks[run]
        act = Act(run, operation, self._begun, len(stack), tuple(run.loops.items()), run.time)
        self._begun += 1
        stack.append(act)
        self._acting = act
        return act

    def _finish(self, act: Act) -> None:
        self._stacks[act.run].pop()
        self._acting = None
        act.end = act.run.time
        if self._keeps(act.start, act.end):
            self.acts.append(act)

    def _at_once(
        self, run: RoleRun, operation: Operation, perform: Callable[[], object]
    ) -> Callable[[], None]:
        def step() -> None:
            act = self._begin(run, operation)
            try:
                perform()
            finally:
                self._finish(act)

        return step

    def _lasting(
        self, run: RoleRun, operation: Operation, perform: Callable[[], Waiting]
    ) -> Callable[[], Waiting]:
        def step() -> Waiting:
            act = self._begin(run, operation)
            events, value = perform(), None
            try:
                while True:
                    event = events.send(value)
                    self._acting = None
                    value = yield event
                    self._acting = act
            except StopIteration:
                self._finish(act)
            except RoleExit:
                self._finish(act)
                raise

        return step


class RecordingClockwork(Clockwork):
    """A clockwork that tells a recorder what passes through it."""

    def __init__(self, fabric: Fabric, recorder: Recorder) -> None:
        super().__init__(fabric)
        self._recorder = recorder
        self._pumping = False

    def post(self, barrier: int, tick: int, arrivals: int, data: int, who: str) -> None:
        """Let something reach a barrier, and note it."""
        super().post(barrier, tick, arrivals, data, who)
        self._recorder.note_post(barrier, tick, arrivals, data, self._pumping)

    def passed(self, barrier: int, parity: int) -> bool:
        """Say whether a wait returns at once, and note which phase it is about."""
        passed = super().passed(barrier, parity)
        phase = self.barriers[barrier].state.phase
        self._recorder.note_look(barrier, phase - int(passed), passed=passed)
        return passed

    def inject(self, transfer: Transfer) -> None:
        """Hand a transfer to the fabric, and note it."""
        super().inject(transfer)
        self._recorder.note_transfer(transfer)

    def _pump(self, event: simpy.Event) -> None:
        self._pumping = True
        super()._pump(event)
        self._pumping = False
        self._recorder.note_advance(self.fabric)
