"""The course of a program without time: one cluster, every transfer complete the moment it is issued.

That is one of the timings that the hardware may show, so a program that is right under all of them is right
under this one: what goes wrong here is wrong. It follows the first rounds of every ring.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hoppersim.program.operands import evaluate, mask_ranks
from hoppersim.program.operations import (
    Arrive,
    BulkCopy,
    Exit,
    ExpectTx,
    For,
    Operand,
    Operation,
    RemoteLoad,
    RemoteStore,
    StAsync,
    Sync,
    TmaLoad,
    Wait,
)
from hoppersim.program.rules.barrier_state import Act, BarrierState
from hoppersim.program.rules.shorten import matters, shortened
from hoppersim.program.walk import role_runs_on
from hoppersim.program.work import Flow, Role

MOST_OPERATIONS = 200_000

Key = tuple[int, str, int]
"""Rank, name and stage of a barrier."""


class Stop(NamedTuple):
    """Where a role waits: for a barrier's phase (`barrier` set), or for others at a sync of `scope`."""

    path: str
    barrier: Key | None
    parity: int
    scope: str


class Touch(NamedTuple):
    """An access by `rank` to the CTA `target`, in a `phase` of a barrier (-1: to data)."""

    path: str
    rank: int
    target: int
    barrier: Key | None
    phase: int
    is_async: bool


class _LeftError(Exception):
    """The role performed `Exit`."""


class _SpentError(Exception):
    """The budget of operations is spent."""


@dataclass
class Actor:
    """One role on one rank; `known` is the mask of ranks that are known to have started."""

    rank: int
    number: int
    role: Role
    known: int
    positions: dict[int, int] = field(default_factory=dict)
    open: dict[int, str] = field(default_factory=dict)
    at: Stop | None = None
    done: bool = False


class Course:
    """Runs a flow's program and keeps what the rules ask about.

    Parameters
    ----------
    flow
        A flow that breaks no plain rule.
    """

    def __init__(self, flow: Flow) -> None:
        self.program = shortened(flow.program)
        self.size = flow.launch.cluster_size
        self.barriers: dict[Key, BarrierState] = {
            (rank, item.name, stage): BarrierState(item.count)
            for rank in range(self.size)
            for item in self.program.barriers
            for stage in range(item.stages)
        }
        self.actors = [
            Actor(rank, number, role, 1 << rank)
            for rank in range(self.size)
            for number, role in enumerate(self.program.roles)
            if role_runs_on(role, rank)
        ]
        self.early: list[Touch] = []
        """Accesses to CTAs that need not have started yet."""
        self.late: list[Touch] = []
        """Accesses to CTAs that may have exited by then."""
        self.ended = True
        """Whether the course was followed to its end; else the budget was spent without a finding."""
        self._left = MOST_OPERATIONS
        self._run()

    @property
    def followed(self) -> int:
        """Operations that were followed."""
        return MOST_OPERATIONS - self._left

    @property
    def blocked(self) -> list[Actor]:
        """Roles that can never go on."""
        return [actor for actor in self.actors if not actor.done] if self.ended else []

    def _run(self) -> None:
        threads = [
            (actor, self._body(actor, actor.role.body, f"program.roles[{actor.number}]", ()))
            for actor in self.actors
        ]
        moved = True
        try:
            while moved:
                moved = False
                for actor, steps in threads:
                    moved |= self._advance(actor, steps)
                moved |= self._meet()
        except _SpentError:
            self.ended = False
        self._collect_late()

    def _advance(self, actor: Actor, steps: Iterator[Stop]) -> bool:
        """Run a role until it waits; tell whether it moved."""
        moved = False
        while not actor.done and self._may_go(actor):
            moved = True
            try:
                actor.at = next(steps)
            except (StopIteration, _LeftError):
                actor.done, actor.at = True, None
        return moved

    def _may_go(self, actor: Actor) -> bool:
        if actor.at is None:
            return True
        if actor.at.barrier is None:
            return False
        state = self.barriers[actor.at.barrier]
        if not state.passed(actor.at.parity):
            return False
        state.waited = max(state.waited, state.phase)
        actor.known |= state.known
        return True

    def _meet(self) -> bool:
        """Release the syncs at which all roles that are left have arrived."""
        groups = [("cluster", self.actors)]
        groups += [("cta", [a for a in self.actors if a.rank == rank]) for rank in range(self.size)]
        released = False
        for scope, group in groups:
            left = [actor for actor in group if not actor.done]
            if left and all(actor.at and actor.at.scope == scope for actor in left):
                known = 0
                for actor in left:
                    known |= actor.known
                    actor.at = None
                for actor in left:
                    actor.known |= known
                if scope == "cluster":
                    self.late = [touch for touch in self.late if touch.is_async]
                    for actor in left:
                        actor.open.clear()
                released = True
        return released

    def _body(
        self, actor: Actor, body: tuple[Operation, ...], path: str, loops: tuple[tuple[For, int], ...]
    ) -> Iterator[Stop]:
        """Perform a body; yield wherever the role must wait."""
        for place, operation in enumerate(body):
            here = f"{path}.body[{place}]"
            if isinstance(operation, For):
                if not matters(operation):
                    continue
                for trip in range(operation.n):
                    yield from self._body(actor, operation.body, here, (*loops, (operation, trip)))
                    actor.positions[id(operation)] = actor.positions.get(id(operation), 0) + 1
                continue
            self._left -= 1
            if self._left < 0:
                raise _SpentError
            match operation:
                case Wait():
                    yield self._stop(actor, operation, here, loops)
                case Sync(scope="cta" | "cluster" as scope):
                    yield Stop(here, None, 0, scope)
                case Exit():
                    raise _LeftError
                case _:
                    self._perform(actor, operation, here, loops)

    def _stop(self, actor: Actor, wait: Wait, path: str, loops: tuple[tuple[For, int], ...]) -> Stop:
        stage, turn = self._place(actor, wait.barrier, loops)
        if isinstance(wait.phase, str):
            parity = turn if wait.phase == "full" else turn ^ 1
        else:
            parity = self._value(actor, wait.phase, loops)
        return Stop(path, (actor.rank, wait.barrier, stage), parity, "")

    def _perform(
        self, actor: Actor, operation: Operation, path: str, loops: tuple[tuple[For, int], ...]
    ) -> None:
        """Perform an operation that does not wait."""
        match operation:
            case Arrive(barrier=name, to=to):
                for key in self._targets(actor, name, to, loops):
                    self._note(actor, key, path, is_async=False)
                    self.barriers[key].arrive(Act(actor.rank, path), actor.known)
            case ExpectTx(barrier=name, bytes=size, to=to, arrive=arrive):
                for key in self._targets(actor, name, to, loops):
                    self._note(actor, key, path, is_async=False)
                    self.barriers[key].expect(Act(actor.rank, path), self._value(actor, size, loops))
                    if arrive:
                        self.barriers[key].arrive(Act(actor.rank, path), actor.known)
            case TmaLoad(barrier=name, mask=mask, map=source):
                for key in self._targets(actor, name, mask, loops):
                    self._note(actor, key, path, is_async=True)
                    self.barriers[key].deliver(
                        Act(actor.rank, path), self.program.map(source).box_bytes, actor.known
                    )
            case (
                BulkCopy(barrier=name, rank=rank, bytes=count) | StAsync(barrier=name, rank=rank, bytes=count)
            ):
                stage, _ = self._place(actor, name, loops)
                key = (self._value(actor, rank, loops), name, stage)
                self._note(actor, key, path, is_async=True)
                self.barriers[key].deliver(Act(actor.rank, path), count, actor.known)
            case RemoteLoad(rank=rank) | RemoteStore(rank=rank):
                self._touch(actor, self._value(actor, rank, loops), path)
            case _:
                pass

    def _targets(
        self, actor: Actor, name: str, to: Operand | None, loops: tuple[tuple[For, int], ...]
    ) -> list[Key]:
        """List the barriers that an operation with a mask reaches."""
        stage, _ = self._place(actor, name, loops)
        ranks = (actor.rank,) if to is None else mask_ranks(self._value(actor, to, loops))
        return [(rank, name, stage) for rank in ranks]

    def _place(self, actor: Actor, name: str, loops: tuple[tuple[For, int], ...]) -> tuple[int, int]:
        """Give the stage of a barrier at this point, and the parity of the ring's turn."""
        stages = self.program.barrier(name).stages
        for loop, _ in reversed(loops):
            if loop.stages == stages:
                turn, stage = divmod(actor.positions.get(id(loop), 0), stages)
                return stage, turn & 1
        return 0, 0

    def _value(self, actor: Actor, operand: Operand, loops: tuple[tuple[For, int], ...]) -> int:
        return evaluate(operand, 0, actor.rank, {loop.name: trip for loop, trip in loops})

    def _note(self, actor: Actor, key: Key, path: str, *, is_async: bool) -> None:
        """Keep an access to another CTA's barrier; earlier data accesses are ordered before it."""
        target = key[0]
        if target == actor.rank:
            return
        touch = Touch(path, actor.rank, target, key, self.barriers[key].phase, is_async)
        if not actor.known >> target & 1:
            self.early.append(touch)
        self.late.append(touch)
        if not is_async:
            actor.open.pop(target, None)

    def _touch(self, actor: Actor, target: int, path: str) -> None:
        """Keep an access to another CTA's data."""
        if target != actor.rank:
            actor.open[target] = path
            if not actor.known >> target & 1:
                self.early.append(Touch(path, actor.rank, target, None, -1, False))

    def _collect_late(self) -> None:
        """Keep the accesses that nothing in the target waits for."""
        self.late = [t for t in self.late if t.barrier and self.barriers[t.barrier].waited <= t.phase]
        for actor in self.actors:
            self.late += [
                Touch(path, actor.rank, target, None, -1, False) for target, path in actor.open.items()
            ]
