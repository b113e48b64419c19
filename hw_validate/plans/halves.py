"""Multicasts that reach one SM of a TPC only, and what they leave behind in their GPC.

The plan `wide` showed that a GPU remembers multicasts to one SM each. Hypotheses: (a) any multicast to few
SMs does it, for the whole GPU; (b) one that reaches one of a TPC's two SMs does, in its own GPC. The same
multicast to 16 SMs of each of five GPCs is measured again and again, a round each, which differ in one
iteration. Between the rounds run loops by which only some masks cut a TPC in half. Give the plan a bundle and
a run of its own, on a GPU that has just started.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hoppersim.program.cases import Case, build_case
from hoppersim.program.operations import Affine, For, Operation, TmaLoad
from hoppersim.program.work import SmSet, Work
from hw_validate.bundle import Point
from hw_validate.lower import Options
from hw_validate.plans.parts import MIB
from hw_validate.plans.structure import point

GPCS = (1, 2, 4, 5, 6)
PROBE = Case("multicast", 16, rows=256, stages=2, iterations=128, pattern="sweep", footprint=24 * MIB)
LOOP = Case("multicast", rows=96, stages=3, iterations=128, pattern="sweep", footprint=24 * MIB)
ROUNDS: tuple[tuple[tuple[int, int, int], ...], ...] = (
    (),
    ((1, 2, 0), (5, 1, 1)),
    ((1, 4, 0), (5, 1, 2)),
    ((1, 12, 0), (5, 1, 4)),
    ((2, 3, 0), (5, 1, 8)),
    ((6, 5, 0),),
)
"""Loops before each round: GPC, cluster, and SMs, each in a TPC of its own (0 for all of the GPC)."""


def points() -> list[Point]:
    """List the points, in the order in which they must run."""
    return list(_points())


def _points() -> Iterator[Point]:
    for number, loops in enumerate(ROUNDS):
        for gpc, cluster, sms in loops:
            chosen = SmSet(gpcs=(gpc,), per_gpc=sms, spread=sms > 0)
            yield point(replace(LOOP, cluster=cluster, sms=chosen), "halves", round=number)
        yield from _probes(number)
    yield _to_itself(4)
    yield from _probes(len(ROUNDS))


def _probes(number: int) -> Iterator[Point]:
    for gpc in GPCS:
        probe = replace(PROBE, iterations=PROBE.iterations + number, sms=SmSet(gpcs=(gpc,)))
        yield point(probe, "halves", round=number, gpc=gpc)


def _to_itself(gpc: int) -> Point:
    """Make a loop of clusters of two whose CTAs multicast to themselves, each by a mask of its own SM."""
    plain = replace(LOOP, mode="unicast", cluster=2, sms=SmSet(gpcs=(gpc,)))
    (flow,) = build_case(plain).flows
    roles = tuple(replace(role, body=_masked(role.body)) for role in flow.program.roles)
    program = replace(flow.program, name=f"{flow.program.name}_to_itself", roles=roles)
    work = Work((replace(flow, program=program),))
    tags = {"experiment": "halves", "round": len(ROUNDS), "gpc": gpc}
    return Point(work, "halves_to_itself", 5, False, options=Options(idle="gone"), tags=tags)


def _masked(body: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Give every load a mask of the CTA that issues it."""

    def masked(item: Operation) -> Operation:
        if isinstance(item, For):
            return replace(item, body=_masked(item.body))
        return replace(item, mask=Affine(by_rank=(1, 2))) if isinstance(item, TmaLoad) else item

    return tuple(masked(item) for item in body)
