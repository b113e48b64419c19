"""Multicast to few and to many SMs, on a GPU that has just started and on one that has been in use.

Hypotheses: what an SM takes in of a multicast depends (a) on the program and the place of its cluster only,
or (b) on what the GPU ran before as well. The same loops run first of all, and again after loops of the whole
chip by clusters of four, of two and of one; a round differs from the others in one iteration, by which its
works are told apart. Points count on the order and on a GPU that ran nothing else: give the plan a bundle of
its own (`make_bundle`), and run it after a reset or a reboot.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hoppersim.program.cases import Case
from hoppersim.program.work import SmSet
from hw_validate.bundle import Point
from hw_validate.plans.parts import MIB
from hw_validate.plans.structure import point

BASE = Case("multicast", rows=256, stages=6, iterations=128, pattern="sweep", footprint=24 * MIB)
GPCS = (1, 4)
BEFORE = (0, 4, 2, 1)
"""Cluster of the loop of the whole chip that runs before a round; none before the first."""
SIZES = (2, 4, 6, 8, 10, 12, 14, 16)
RINGS = ((256, 2), (256, 3), (256, 4), (128, 6), (64, 6))
"""Rows and stages of clusters of 16."""


def points() -> list[Point]:
    """List the points, in the order in which they must run."""
    return list(_points())


def _points() -> Iterator[Point]:
    for number, before in enumerate(BEFORE):
        if before:
            yield point(replace(BASE, cluster=before), "wide", round=number, before=before)
        for case in _round(replace(BASE, iterations=BASE.iterations + number)):
            yield point(case, "wide", round=number, before=before)


def _round(base: Case) -> Iterator[Case]:
    for gpc in GPCS:
        alone = replace(base, sms=SmSet(gpcs=(gpc,)))
        yield from (replace(alone, cluster=size) for size in SIZES)
        yield from (replace(alone, cluster=size, pattern="hot", footprint=0) for size in (8, 12, 16))
        yield from (replace(alone, cluster=16, rows=rows, stages=stages) for rows, stages in RINGS)
        yield replace(alone, cluster=16, mode="multicast_slices")
    yield replace(base, cluster=16)
    yield replace(base, cluster=16, mode="multicast_slices")
