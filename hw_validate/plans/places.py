"""What it costs that a compiled loop reads the CTA's place in its cluster again, and which loops do.

Tiles so small that the producer's loop sets the time, each CTA's own, so that its rank is in the address. The
compiler keeps the address of shared memory in a register where something before the loop has needed it (the
choice of SMs, a skew), and reads the place in every trip elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hoppersim.program.cases import Case
from hoppersim.program.work import SmSet
from hw_validate.bundle import Point
from hw_validate.plans.parts import MIB
from hw_validate.plans.structure import point

SUBSETS = (SmSet(), SmSet(gpcs=(1, 2, 3)))
SKEWS = (0, 200)
RINGS = ((8, 6, 296), (16, 5, 280))
"""Rows, stages and tiles."""


def points() -> list[Point]:
    """List the points, those of slices first."""
    return [*_slices(), *_distinct()]


def _slices() -> Iterator[Point]:
    """Slices of clusters of one: a multicast to oneself, whose rank is in the address as well."""
    for sms, (rows, stages, tiles) in product(SUBSETS, RINGS):
        case = Case("multicast_slices", 1, rows=rows, stages=stages, iterations=tiles, pattern="sweep",
                    sms=sms, footprint=8 * MIB)  # fmt: skip
        yield point(case, "places", repeats=9)


def _distinct() -> Iterator[Point]:
    for cluster, sms, skew, (rows, stages, tiles) in product((16, 8, 4, 2), SUBSETS, SKEWS, RINGS):
        case = Case("unicast_distinct", cluster, rows=rows, stages=stages, iterations=tiles, sms=sms,
                    pattern="sweep", skew=skew, footprint=8 * MIB)  # fmt: skip
        yield point(case, "places", repeats=9)
