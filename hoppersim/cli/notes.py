"""What a legal work does that may not be meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hoppersim.engine.tables import NARROW_RECEIVERS
from hoppersim.machine import Machine
from hoppersim.program.operands import mask_ranks
from hoppersim.program.operations import Affine, Operand, TmaLoad
from hoppersim.program.outside import outside_bytes
from hoppersim.program.tiles import loop_steps, operand_values
from hoppersim.program.traffic import flow_clusters, place_flow
from hoppersim.program.walk import Visit, role_runs_on, walk_performed
from hoppersim.program.work import Flow, Work

MOST_CLUSTERS = 132
"""Clusters whose masks are looked at: a wave of any chip."""


class _Multicast(NamedTuple):
    """A load with a mask: its name, whether it names its own SM alone, and what SMs it reaches."""

    name: str
    is_own: bool
    reached: frozenset[tuple[int, ...]]


def notes_on(machine: Machine, work: Work) -> list[str]:
    """Say what a legal work does that may not be meant, and what its time hangs on.

    Boxes out of bounds, multicasts to nobody else or to one SM of a TPC, and multicasts to many SMs.
    """
    found = _multicasts(machine, work)
    return [*_outside(machine, work), *_lonely(found), *_halves(machine, found), *_wide(machine, found)]


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


def _multicasts(machine: Machine, work: Work) -> list[_Multicast]:
    """Look at the loads with a mask, of all flows."""
    found = []
    for flow in work.flows:
        masked = [
            (visit, load.map, load.mask)
            for visit in walk_performed(flow.program)
            if isinstance(load := visit.operation, TmaLoad) and load.mask is not None
        ]
        clusters = flow_clusters(flow, place_flow(machine, flow))[:MOST_CLUSTERS] if masked else ()
        for visit, name, mask in masked:
            reached = frozenset(_reached(flow, visit, mask, clusters))
            label = f"`{name}` by role `{visit.role.name}`"
            found.append(_Multicast(label, _is_own(flow, visit, mask), reached))
    return found


def _reached(
    flow: Flow, visit: Visit, operand: Operand, clusters: Sequence[tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    """Give the SMs that each value of a mask names, in every cluster."""
    (trips,) = loop_steps((operand,), visit.loops).columns
    for number, sms in enumerate(clusters):
        for rank in _ranks(flow, visit):
            for mask in np.unique(operand_values(operand, trips, number, rank)):
                yield tuple(sms[peer] for peer in mask_ranks(int(mask)) if peer < len(sms))


def _lonely(multicasts: list[_Multicast]) -> list[str]:
    """Name multicasts that reach no SM but their own."""
    names = ", ".join(each.name for each in multicasts if each.is_own)
    text = (
        f"multicast to its own SM only: {names}. A load without `mask` does the same, lets the "
        "L2 merge reads by several SMs, and slows no later multicast to more than 12 SMs (docs/hardware.md)."
    )
    return [text] if names else []


def _halves(machine: Machine, multicasts: list[_Multicast]) -> list[str]:
    """Name multicasts that reach one SM of a TPC and not the other, but for those to their own SM."""
    tpc_of = machine.tpc_of.tolist()
    size = Counter(tpc_of)
    names = ", ".join(
        each.name
        for each in multicasts
        if not each.is_own and any(_cuts_a_tpc(tpc_of, size, sms) for sms in each.reached)
    )
    text = (
        f"multicast to one SM of a TPC and not the other: {names}. On silicon that leaves the "
        "GPC slower for later multicasts to more than 12 SMs, for good (docs/hardware.md)."
    )
    return [text] if names else []


def _cuts_a_tpc(tpc_of: list[int], size: Counter[int], sms: tuple[int, ...]) -> bool:
    """Whether SMs are one of a TPC of several without the others."""
    reached = Counter(tpc_of[sm] for sm in set(sms))
    return any(count < size[tpc] for tpc, count in reached.items())


def _wide(machine: Machine, multicasts: list[_Multicast]) -> list[str]:
    """Say which state of the GPU a multicast to many SMs is simulated in."""
    widest = max((len(sms) for each in multicasts for sms in each.reached), default=0)
    if widest <= NARROW_RECEIVERS or machine.spec.xbar.wide_slowed:
        return []
    text = (
        f"multicast to {widest} SMs, as on a GPU that has just started. One in use, where merged reads or "
        "multicasts went to one SM of a TPC, gives each SM 80 to 97 B/cycle: `--set xbar.wide_slowed=1` "
        "(docs/hardware.md)."
    )
    return [text]


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
