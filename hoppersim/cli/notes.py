"""What a legal work does that may not be meant."""

from __future__ import annotations

from hoppersim.machine import Machine
from hoppersim.program.operations import Affine, Operand, TmaLoad
from hoppersim.program.outside import outside_bytes
from hoppersim.program.tiles import loop_steps, operand_values
from hoppersim.program.walk import Visit, role_runs_on, walk_performed
from hoppersim.program.work import Flow, Work


def notes_on(machine: Machine, work: Work) -> list[str]:
    """Say what a legal work does that may not be meant: boxes out of bounds, multicasts to nobody else."""
    return [*_outside(machine, work), *_lonely(work)]


def _outside(machine: Machine, work: Work) -> list[str]:
    """Say how much of the boxes lies out of bounds, if any does."""
    filled = outside_bytes(machine, work)
    if filled is None:
        return ["whether boxes lie out of bounds was not looked at: there are too many of them."]
    if not filled:
        return []
    text = (
        f"{filled:,} B of the boxes that it loads lie out of bounds: the TMA fills them (zeros, unless `oob` "
        "says nan) instead of reading them."
    )
    return [text]


def _lonely(work: Work) -> list[str]:
    """Name multicasts that reach no SM but their own."""
    lonely = []
    for flow in work.flows:
        for visit in walk_performed(flow.program):
            load = visit.operation
            if isinstance(load, TmaLoad) and load.mask is not None and _is_own(flow, visit, load.mask):
                lonely.append(f"`{load.map}` by role `{visit.role.name}`")
    if not lonely:
        return []
    text = (
        f"multicast to its own SM only: {', '.join(lonely)}. A load without `mask` does the same, lets the "
        "L2 merge reads by several SMs, and slows no later multicast to more than 12 SMs (docs/hardware.md)."
    )
    return [text]


def _is_own(flow: Flow, visit: Visit, mask: Operand) -> bool:
    """Whether a mask names the own rank alone, in every CTA and trip."""
    if isinstance(mask, Affine) and mask.cluster:
        return False
    (trips,) = loop_steps((mask,), visit.loops).columns
    ranks = (rank for rank in range(flow.launch.cluster_size) if role_runs_on(visit.role, rank))
    return all((operand_values(mask, trips, 0, rank) == 1 << rank).all() for rank in ranks)
