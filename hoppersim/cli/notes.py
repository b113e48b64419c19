"""What a legal work does that may not be meant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hoppersim.machine import Machine
from hoppersim.program.operations import Affine, Operand, TmaLoad
from hoppersim.program.outside import outside_bytes
from hoppersim.program.tiles import loop_steps, operand_values
from hoppersim.program.walk import Visit, role_runs_on, walk_performed
from hoppersim.program.work import Flow, Work

WIDE = 12
"""Receivers of a multicast above which it feels what its GPC did before."""
EVEN_RANKS = 0x5555
"""Bits of a mask whose rank is the first of the two in its TPC."""


def notes_on(machine: Machine, work: Work) -> list[str]:
    """Say what a legal work does that may not be meant, and what its time hangs on.

    Boxes out of bounds, multicasts to nobody else or to one SM of a TPC, and multicasts to many SMs.
    """
    return [*_outside(machine, work), *_lonely(work), *_halves(work), *_wide(machine, work)]


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


def _halves(work: Work) -> list[str]:
    """Name multicasts that reach one SM of a TPC and not the other, but for those to their own SM."""
    halves = [
        f"`{load.map}` by role `{visit.role.name}`"
        for flow, visit, load, mask in _multicasts(work)
        if not _is_own(flow, visit, mask) and any(_halved(value) for value in _masks(flow, visit, mask))
    ]
    if not halves:
        return []
    text = (
        f"multicast to one SM of a TPC and not the other (ranks 0 and 1 share one): {', '.join(halves)}. "
        "On silicon that leaves the GPC slower for later multicasts to more than 12 SMs, for good "
        "(docs/hardware.md)."
    )
    return [text]


def _wide(machine: Machine, work: Work) -> list[str]:
    """Say which state of the GPU a multicast to many SMs is simulated in."""
    widest = max(
        (
            value.bit_count()
            for flow, visit, _, mask in _multicasts(work)
            for value in _masks(flow, visit, mask)
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


def _halved(mask: int) -> bool:
    """Whether a mask names one of the two SMs of a TPC."""
    return bool((mask ^ mask >> 1) & EVEN_RANKS)


def _masks(flow: Flow, visit: Visit, mask: Operand) -> set[int]:
    """Give the values that a mask takes in the CTAs of the first cluster."""
    (trips,) = loop_steps((mask,), visit.loops).columns
    return {
        int(value)
        for rank in _ranks(flow, visit)
        for value in np.unique(operand_values(mask, trips, 0, rank))
    }


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
