"""How long boxes take while the L2 is half to nearly fully busy: sizes and sets of SMs that no fit has seen.

Measured after the model of the slices' banks had been written down and had told these times.
"""

from __future__ import annotations

from itertools import product

from hoppersim.program.cases import Case, Mode
from hoppersim.program.work import SmSet
from hw_validate.bundle import Point
from hw_validate.plans.parts import MIB
from hw_validate.plans.structure import point

SUBSETS = (SmSet(), SmSet(gpcs=tuple(range(8)), per_gpc=8), SmSet(gpcs=tuple(range(8)), per_gpc=12))
RINGS = ((40, 4), (40, 6), (80, 4))
"""Rows and stages."""
WAYS: tuple[tuple[Mode, int], ...] = (
    ("multicast", 4), ("multicast", 2), ("unicast", 4), ("unicast", 2), ("unicast_distinct", 1),
)  # fmt: skip


def points() -> list[Point]:
    """List the points, multicasts by the largest clusters first."""
    return [
        point(
            Case(mode, cluster, rows=rows, stages=stages, iterations=136, pattern="sweep", sms=sms,
                 footprint=24 * MIB),
            "loads", repeats=9,
        )
        for (mode, cluster), sms, (rows, stages) in product(WAYS, SUBSETS, RINGS)
    ]  # fmt: skip
