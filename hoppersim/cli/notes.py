"""What a legal work does that may not be meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from hoppersim.machine import Machine
from hoppersim.program.operands import mask_ranks
from hoppersim.program.operations import Affine, Operand, TmaLoad
from hoppersim.program.outside import outside_bytes
from hoppersim.program.tiles import loop_steps, operand_values
from hoppersim.program.traffic import flow_clusters, place_flow
from hoppersim.program.walk import Visit, role_runs_on, walk_performed
from hoppersim.program.work import Flow, Work

WIDE = 12
"""Receivers of a multicast above which it feels what its GPC did before."""
MOST_CLUSTERS = 132
"""Clusters whose masks are looked at: a wave of any chip."""


def notes_on(machine: Machine, work: Work) -> list[str]:
    """Say what a legal work does that may not be meant, and what its time hangs on.

    Boxes out of bounds, multicasts to nobody else or to one SM of a TPC, and multicasts to many SMs.
    """
    return [*_outside(machine, work), *_lonely(work), *_halves(machine, work), *_wide(machine, work)]


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


def _multicasts(work: Work) -> Iterator[tuple[Flow, Visit, TmaLoad, Operand]]:
    """List the loads with a mask, of all flows."""
    for flow in work.flows:
        for visit in walk_performed(flow.program):
            load = visit.operation
            if isinstance(load, TmaLoad) and load.mask is not None:
                yield flow, visit, load, load.mask


def _lonely(work: Work) -> list[str]:
    """Name multicasts that reach no SM but their own."""
    lonely = [
        f"`{load.map}` by role `{visit.role.name}`"
        for flow, visit, load, mask in _multicasts(work)
        if _is_own(flow, visit, mask)
    ]
    if not lonely:
        return []
    text = (
        f"multicast to its own SM only: {', '.join(lonely)}. A load without `mask` does the same, lets the "
        "L2 merge reads by several SMs, and slows no later multicast to more than 12 SMs (docs/hardware.md)."
    )
    return [text]


def _halves(machine: Machine, work: Work) -> list[str]:
    """Name multicasts that reach one SM of a TPC and not the other, but for those to their own SM."""
    halves = [
        f"`{load.map}` by role `{visit.role.name}`"
        for flow, visit, load, mask in _multicasts(work)
        if not _is_own(flow, visit, mask) and _cuts_a_tpc(machine, flow, visit, mask)
    ]
    if not halves:
        return []
    text = (
        f"multicast to one SM of a TPC and not the other: {', '.join(halves)}. On silicon that leaves the "
        "GPC slower for later multicasts to more than 12 SMs, for good (docs/hardware.md)."
    )
    return [text]


def _wide(machine: Machine, work: Work) -> list[str]:
    """Say which state of the GPU a multicast to many SMs is simulated in."""
    widest = max(
        (
            mask.bit_count()
            for flow, visit, _, operand in _multicasts(work)
            for _, mask in _masks(machine, flow, visit, operand)
        ),
        default=0,
    )
    if widest <= WIDE or machine.spec.xbar.wide_slowed:
        return []
    text = (
        f"multicast to {widest} SMs, as on a GPU that has just started. One in use, where merged reads or "
        "multicasts went to one SM of a TPC, gives each SM 80 to 97 B/cycle: `--set xbar.wide_slowed=1` "
        "(docs/hardware.md)."
    )
    return [text]


def _cuts_a_tpc(machine: Machine, flow: Flow, visit: Visit, operand: Operand) -> bool:
    """Whether a multicast reaches an SM of a TPC of two without the other."""
    tpc_of = machine.tpc_of.tolist()
    size = Counter(tpc_of)
    for sms, mask in _masks(machine, flow, visit, operand):
        reached = Counter(tpc_of[sm] for sm in {sms[rank] for rank in mask_ranks(mask) if rank < len(sms)})
        if any(count < size[tpc] for tpc, count in reached.items()):
            return True
    return False


def _masks(
    machine: Machine, flow: Flow, visit: Visit, operand: Operand
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Give the values that a mask takes in the first clusters, each with the SMs of its cluster by rank."""
    (trips,) = loop_steps((operand,), visit.loops).columns
    clusters = flow_clusters(flow, place_flow(machine, flow))
    for number, sms in enumerate(clusters[:MOST_CLUSTERS]):
        for rank in _ranks(flow, visit):
            values = np.unique(operand_values(operand, trips, number, rank))
            yield from ((sms, int(value)) for value in values)


def _ranks(flow: Flow, visit: Visit) -> list[int]:
    """List the ranks on which the role runs."""
    return [rank for rank in range(flow.launch.cluster_size) if role_runs_on(visit.role, rank)]


def _is_own(flow: Flow, visit: Visit, mask: Operand) -> bool:
    """Whether a mask names the own rank alone, in every CTA and trip."""
    if isinstance(mask, Affine) and mask.cluster:
        return False
    (trips,) = loop_steps((mask,), visit.loops).columns
    ranks = _ranks(flow, visit)
    return all((operand_values(mask, trips, 0, rank) == 1 << rank).all() for rank in ranks)
