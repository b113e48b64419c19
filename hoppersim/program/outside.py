"""How much of the boxes that a work loads lies out of bounds: bytes that the TMA fills instead of reading."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from hoppersim.machine import Machine
from hoppersim.program.operands import mask_ranks
from hoppersim.program.operations import For, Operand, TmaLoad
from hoppersim.program.tiles import box_tiles, loop_steps, operand_values
from hoppersim.program.traffic import count_clusters, place_flow
from hoppersim.program.walk import Visit, role_runs_on, walk_performed
from hoppersim.program.work import Flow, TensorMap, Work

MOST_PLACES = 2**24
"""Places of the boxes of one load that are looked at one by one."""


def outside_bytes(machine: Machine, work: Work) -> int | None:
    """Add up what lies out of bounds of all boxes that a legal work loads, for every receiver [B].

    Returns
    -------
    int | None
        None where there are too many boxes to look at.

    Raises
    ------
    InputError
        If a flow cannot be launched.
    """
    parts = [
        _outside(flow, visit, clusters)
        for flow in work.flows
        for clusters in [count_clusters(flow, place_flow(machine, flow))]
        for visit in walk_performed(flow.program)
        if isinstance(visit.operation, TmaLoad) and not _is_inside(flow, visit, clusters)
    ]
    return None if None in parts else sum(part or 0 for part in parts)


def _outside(flow: Flow, visit: Visit, clusters: int) -> int | None:
    """Add up what lies out of bounds of the boxes of one load [B]; None if they have too many places."""
    load = visit.operation
    assert isinstance(load, TmaLoad)
    tensor_map = flow.program.map(load.map)
    operands: tuple[Operand, ...] = (*load.coordinates, 1 if load.mask is None else load.mask)
    steps = loop_steps(operands, visit.loops)
    if clusters * flow.launch.cluster_size * len(steps.counts) > MOST_PLACES:
        return None
    total = 0
    for cluster in range(clusters):
        for rank in range(flow.launch.cluster_size):
            if role_runs_on(visit.role, rank):
                *coordinates, masks = (
                    operand_values(operand, column, cluster, rank)
                    for operand, column in zip(operands, steps.columns, strict=True)
                )
                distinct, place = np.unique(masks, return_inverse=True)
                receivers = np.array([len(mask_ranks(int(mask))) for mask in distinct])[place]
                filled = tensor_map.box_bytes - box_tiles(tensor_map, 0, coordinates).bytes
                total += int((filled * steps.counts * receivers).sum())
    return total


def _is_inside(flow: Flow, visit: Visit, clusters: int) -> bool:
    """Tell, without going through its boxes, that a load stays within its tensor; if unsure, it does not."""
    load = visit.operation
    assert isinstance(load, TmaLoad)
    tensor_map, size = flow.program.map(load.map), flow.launch.cluster_size
    for dim, operand in enumerate(load.coordinates):
        low, high = _span(operand, clusters, size, visit.loops)
        if low < 0 or high + _extent(tensor_map, dim) > tensor_map.dims[dim]:
            return False
    return True


def _extent(tensor_map: TensorMap, dim: int) -> int:
    """Give the elements from the first to the last of a box in one dimension."""
    step = tensor_map.element_strides[dim] if tensor_map.element_strides and dim else 1
    return (tensor_map.box_elements[dim] - 1) * step + 1


def _span(operand: Operand, clusters: int, size: int, loops: Sequence[For]) -> tuple[int, int]:
    """Give bounds of an operand over all clusters, ranks and trips."""
    if isinstance(operand, int):
        return operand, operand
    trips = {loop.name: loop.n for loop in loops}
    steps = [(operand.cluster, clusters), (operand.rank, size)]
    steps += [(step, trips[name]) for name, step in operand.loops.items()]
    table = operand.by_rank or (0,)
    low = operand.base + min(table) + sum(min(0, step * (count - 1)) for step, count in steps)
    high = operand.base + max(table) + sum(max(0, step * (count - 1)) for step, count in steps)
    if operand.wrap and not 0 <= low <= high < operand.wrap:
        # All values are of one class modulo what divides every step and the wrap.
        unit = gcd(operand.wrap, *(value - table[0] for value in table), *(step for step, _ in steps))
        first = (operand.base + table[0]) % unit
        return first, operand.wrap - unit + first
    return low, high
