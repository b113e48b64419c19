"""Whether a program's barriers get the bytes that they expect, by adding up loops; no course is followed."""

from __future__ import annotations

from collections import defaultdict
from math import prod

from hoppersim.errors import InputError
from hoppersim.program.operands import evaluate, mask_ranks
from hoppersim.program.operations import Affine, BulkCopy, ExpectTx, Operand, Operation, StAsync, TmaLoad
from hoppersim.program.walk import Visit, role_runs_on, walk
from hoppersim.program.work import Flow, Work

Totals = dict[tuple[int, str], dict[tuple[int, ...], int]]
"""Bytes expected less bytes delivered, by rank and barrier, then by the trip counts of the loops."""


def bytes_balance(work: Work) -> bool:
    """Tell whether all barriers expect what they get, as far as sums over loops can tell.

    Programs that fail here complete phases in the middle of a box, if at all: their bytes must be counted as
    they land. Masks that change inside a loop are followed for its first round only.
    """
    return all(_balances(flow) for flow in work.flows)


def _balances(flow: Flow) -> bool:
    try:
        totals = _totals(flow)
    except (InputError, StopIteration):
        return False
    for by_loops in totals.values():
        if sum(count * prod(trips) for trips, count in by_loops.items()):
            return False
    return True


def _totals(flow: Flow) -> Totals:
    totals: Totals = defaultdict(lambda: defaultdict(int))
    for visit in walk(flow.program):
        if not isinstance(visit.operation, ExpectTx | TmaLoad | BulkCopy | StAsync):
            continue
        trips = tuple(loop.n for loop in visit.loops)
        for rank in range(flow.launch.cluster_size):
            if role_runs_on(visit.role, rank):
                for target, count in _effect(flow, visit, rank):
                    totals[target, visit.operation.barrier][trips] += count
    return totals


def _effect(flow: Flow, visit: Visit, rank: int) -> list[tuple[int, int]]:
    """List (rank, bytes) that an operation expects (above zero) or delivers (below) in its first round."""
    operation: Operation = visit.operation
    if isinstance(operation, ExpectTx):
        count = _value(operation.bytes, visit, rank)
        return [(target, count) for target in _ranks(operation.to, visit, rank)]
    if isinstance(operation, TmaLoad):
        count = -flow.program.map(operation.map).box_bytes
        return [(target, count) for target in _ranks(operation.mask, visit, rank)]
    assert isinstance(operation, BulkCopy | StAsync)
    return [(_value(operation.rank, visit, rank), -operation.bytes)]


def _ranks(mask: Operand | None, visit: Visit, rank: int) -> tuple[int, ...]:
    return (rank,) if mask is None else mask_ranks(_value(mask, visit, rank))


def _value(operand: Operand, visit: Visit, rank: int) -> int:
    if isinstance(operand, Affine):
        return evaluate(operand, 0, rank, dict.fromkeys(visit.loop_names, 0))
    return operand


__all__ = ["bytes_balance"]
