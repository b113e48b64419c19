"""What a blocked role would still do if it went on: its next operations, with their stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hoppersim.engine.output import RoleState
from hoppersim.program.operands import evaluate, mask_ranks
from hoppersim.program.operations import (
    Affine,
    Arrive,
    BulkCopy,
    ExpectTx,
    For,
    Operand,
    Operation,
    StAsync,
    TmaLoad,
)  # fmt: skip
from hoppersim.program.walk import role_runs_on
from hoppersim.program.work import Program, Role

Acting = Arrive | ExpectTx | TmaLoad | BulkCopy | StAsync
Rings = tuple[tuple[int, frozenset[int] | None], ...]
"""(stages, the stages that come) of the enclosing loops, outermost first; None: all of them."""


class Act(NamedTuple):
    """An operation that a role has before it; `later`: in another trip of a loop than the present one."""

    operation: Operation
    rings: Rings
    later: bool


class Effect(NamedTuple):
    """What an operation would do to a barrier."""

    arrives: bool
    announces: bool
    delivers: bool


def remaining(role: Role, state: RoleState) -> Iterator[Act]:
    """Yield the operations that a role has before it, the one that it waits at left out."""
    if not state.place:
        return _every(role.body, (), later=False)
    return _after(role.body, state, 0, ())


def passed(role: Role, state: RoleState) -> Iterator[Act]:
    """Yield the operations that a role has behind it in the present trips of its loops."""
    body: Sequence[Operation] = role.body
    rings: Rings = ()
    for depth, number in enumerate(state.place):
        yield from _every(body[:number], rings, later=False)
        loop = body[number]
        if isinstance(loop, For) and depth < len(state.rings):
            stages, present = state.rings[depth]
            body, rings = loop.body, (*rings, (stages, frozenset({present})))


def all_acts(role: Role) -> Iterator[Act]:
    """Yield all operations of a role."""
    return _every(role.body, (), later=False)


def _every(body: Sequence[Operation], rings: Rings, *, later: bool) -> Iterator[Act]:
    for operation in body:
        if isinstance(operation, For):
            yield from _every(operation.body, (*rings, (operation.stages, None)), later=later)
        else:
            yield Act(operation, rings, later)


def _after(body: Sequence[Operation], state: RoleState, depth: int, rings: Rings) -> Iterator[Act]:
    """Yield the rest of a body: inside the loop at hand, its further trips, then what follows."""
    number = state.place[depth]
    loop = body[number]
    if depth + 1 < len(state.place) and isinstance(loop, For):
        stages, present = state.rings[depth]
        yield from _after(loop.body, state, depth + 1, (*rings, (stages, frozenset({present}))))
        left = loop.n - 1 - state.loops[depth][1]
        if left > 0:
            coming = frozenset((present + step) % stages for step in range(1, min(left, stages) + 1))
            yield from _every(loop.body, (*rings, (stages, coming)), later=True)
    yield from _every(body[number + 1 :], rings, later=False)


def effect(program: Program, act: Act, actor: tuple[int, int], target: tuple[int, str, int]) -> Effect | None:
    """Say what an operation would do to a barrier; None where it does not reach it.

    Parameters
    ----------
    program
        The program.
    act
        From `remaining`.
    actor
        Cluster and rank that perform it.
    target
        Rank, name and stage of the barrier.
    """
    rank, name, stage = target
    operation = act.operation
    if not isinstance(operation, Acting) or operation.barrier != name:
        return None
    coming = _stages(program.barrier(name).stages, act.rings)
    if (coming is not None and stage not in coming) or not _reaches(operation, actor, rank):
        return None
    if isinstance(operation, Arrive):
        return Effect(True, False, False)
    if isinstance(operation, ExpectTx):
        return Effect(operation.arrive, True, False)
    return Effect(False, False, True)


def _stages(stages: int, rings: Rings) -> frozenset[int] | None:
    return next((coming for count, coming in reversed(rings) if count == stages), frozenset({0}))


def _reaches(operation: Acting, actor: tuple[int, int], rank: int) -> bool:
    """Tell whether an operation may reach a rank; one whose target changes in a loop may reach any."""
    if isinstance(operation, BulkCopy | StAsync):
        value = _value(operation.rank, actor)
        return value is None or value == rank
    mask: Operand | None = operation.mask if isinstance(operation, TmaLoad) else operation.to
    if mask is None:
        return actor[1] == rank
    value = _value(mask, actor)
    return value is None or rank in mask_ranks(value)


def _value(operand: Operand, actor: tuple[int, int]) -> int | None:
    if isinstance(operand, Affine) and any(operand.loops.values()):
        return None
    return evaluate(operand, *actor, {})


def roles_of(program: Program, rank: int) -> Iterator[Role]:
    """Yield the roles that run on a rank."""
    return (role for role in program.roles if role_runs_on(role, rank))
