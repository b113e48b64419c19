"""Why a program's course stops: what is missing at the barriers where roles are blocked for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from hoppersim.program.operations import Arrive, BulkCopy, ExpectTx, Operation, StAsync, TmaLoad
from hoppersim.program.rules.barrier_state import Act, BarrierState
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.course import Actor, Course, Key
from hoppersim.program.walk import Visit
from hoppersim.program.work import Program

Diagnosis = Literal["bytes", "arrivals", "unarrived", "unarmed", ""]


def stuck(context: Context) -> Iterator[tuple[Key, BarrierState]]:
    """Yield the barriers at which roles are blocked for good: of each name, the first."""
    seen: set[str] = set()
    keys = {actor.at.barrier for actor in context.course.blocked if actor.at and actor.at.barrier}
    explained = sorted(keys, key=lambda key: (not diagnose(context, key, context.course.barriers[key]), key))
    for key in explained:
        if key[1] not in seen:
            seen.add(key[1])
            yield key, context.course.barriers[key]


def diagnose(context: Context, key: Key, state: BarrierState) -> Diagnosis:
    """Say what a barrier lacks for good; empty where a blocked role could still supply it.

    Parameters
    ----------
    context
        The flow.
    key, state
        A barrier at which a role is blocked.
    """
    if state.tx and not (state.tx > 0 and _can_deliver(context, key, state)) and state.pending == 0:
        return "bytes"
    if state.pending == 0 or _can_arrive(context, key, state):
        return ""
    if state.deliveries and not state.expects:
        return "unarmed"
    if state.expects and not state.tx and not state.arrivals:
        return "unarrived"
    return "arrivals"


def announced(context: Context, act: Act) -> int:
    """Give the bytes that an expect_tx announces at the start of its loops; 0 for other operations."""
    operation = next((visit.operation for visit in context.visits if visit.path == act.path), None)
    return context.first_value(operation.bytes, act.rank) if isinstance(operation, ExpectTx) else 0


def declaration(context: Context, key: Key) -> str:
    """Give the field in which a barrier is declared."""
    number = next(n for n, item in enumerate(context.program.barriers) if item.name == key[1])
    return f"program.barriers[{number}]"


def count_of_a_round(context: Context, key: Key) -> int | None:
    """Give the count that a barrier needs if each operation that arrives there does so once a phase.

    Returns
    -------
    int | None
        None if the program would not run to its end with it.
    """
    count = len(context.course.barriers[key].arrivers)
    barriers = tuple(
        replace(item, count=count) if item.name == key[1] else item for item in context.program.barriers
    )
    return count if runs_through(context, replace(context.program, barriers=barriers)) else None


def runs_through(context: Context, program: Program) -> bool:
    """Tell whether all roles of a program come to their end in a flow, no barrier ahead of its waits."""
    course = Course(replace(context.flow, program=program))
    wrong = course.blocked or any(state.overrun or state.surplus for state in course.barriers.values())
    return course.ended and not wrong


def name(key: Key) -> str:
    """Give a barrier's name with its stage and rank."""
    return f"{key[1]}[{key[2]}] of rank {key[0]}"


def waiters(context: Context, key: Key) -> str:
    """Name the roles that wait for a barrier for good, and their operations."""
    actors = (actor for actor in context.course.blocked if actor.at and actor.at.barrier == key)
    paths = {actor.at.path for actor in actors if actor.at}
    return " and ".join(place(visit) for visit in context.visits if visit.path in paths)


def place(visit: Visit) -> str:
    """Say in words which operation of which role this is."""
    number = visit.path.rpartition("[")[2].rstrip("]")
    inside = f" of loop {visit.loops[-1].name}" if visit.loops else ""
    return f"operation {number}{inside} of role {visit.role.name}"


def whereabouts(actor: Actor) -> str:
    """Say where a blocked role is."""
    if actor.at is None:
        return "its end"
    if actor.at.barrier is None:
        return f"a {actor.at.scope} sync"
    return f"a wait for {name(actor.at.barrier)}"


def _can_arrive(context: Context, key: Key, state: BarrierState) -> bool:
    """Tell whether a role that waits elsewhere has an arrival on this barrier, not yet made in this phase."""
    made = set(state.arrivals)
    return any(
        (
            isinstance(visit.operation, Arrive)
            or (isinstance(visit.operation, ExpectTx) and visit.operation.arrive)
        )
        and _reaches(context, visit, actor, key)
        and Act(actor.rank, visit.path) not in made
        for actor, visit in _possible(context, key)
    )


def _can_deliver(context: Context, key: Key, state: BarrierState) -> bool:
    """Tell whether a role that waits elsewhere has bytes for this barrier, not yet sent in this phase."""
    sent = set(state.deliveries)
    return any(
        isinstance(visit.operation, TmaLoad | BulkCopy | StAsync)
        and _reaches(context, visit, actor, key)
        and Act(actor.rank, visit.path) not in sent
        for actor, visit in _possible(context, key)
    )


def _possible(context: Context, key: Key) -> Iterator[tuple[Actor, Visit]]:
    """Yield the operations on a barrier in roles that are blocked elsewhere."""
    for actor in context.course.blocked:
        if actor.at and actor.at.barrier == key:
            continue
        number = context.program.roles[actor.number]
        for visit in context.visits:
            if visit.role is number and getattr(visit.operation, "barrier", None) == key[1]:
                yield actor, visit


def _reaches(context: Context, visit: Visit, actor: Actor, key: Key) -> bool:
    """Tell whether an operation of a role ever reaches a barrier of the key's rank."""
    operation: Operation = visit.operation
    if isinstance(operation, BulkCopy | StAsync):
        return any(
            key[0] in values for rank, values in context.values(operation.rank, visit) if rank == actor.rank
        )
    mask = getattr(operation, "mask" if isinstance(operation, TmaLoad) else "to", None)
    if mask is None:
        return actor.rank == key[0]
    values = (value for rank, found in context.values(mask, visit) if rank == actor.rank for value in found)
    return any(int(value) >> key[0] & 1 for value in values)
