"""Rate against bytes in flight: how much has to be under way for a port, the slices or a CPC to be busy.

Hypotheses: (a) a loaded path adds only the queues that the peak rates make; (b) it adds time from moderate
load on, because lines collide in queues that are narrower than the whole. One GPC, a few SMs of every GPC and
the whole chip, with the same rings, tell where such queues are: near the SM, at the GPC, or at the slices.
"""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.cases import Case, Mode
from hoppersim.program.work import SmSet
from hw_validate.bundle import Point
from hw_validate.plans.parts import MIB
from hw_validate.plans.structure import point

RINGS = ((32, 1), (32, 2), (32, 4), (64, 4), (128, 2), (128, 4), (256, 1), (256, 2), (256, 4))
WAYS: tuple[tuple[Mode, int], ...] = (
    ("unicast_distinct", 1),
    ("multicast", 2),
    ("multicast", 4),
    ("multicast", 16),
)
PLACES = {
    "gpc": SmSet(gpcs=(1,)),
    "four_of_each": SmSet(gpcs=tuple(range(8)), per_gpc=4),
    "eight_of_each": SmSet(gpcs=tuple(range(8)), per_gpc=8),
    "chip": SmSet(),
}


def points() -> list[Point]:
    """List rings of growing depth, in four ways, in four places."""
    return list(_points())


def _points() -> Iterator[Point]:
    for place, sms in PLACES.items():
        for mode, cluster in WAYS:
            if cluster == 16 and place in ("four_of_each", "eight_of_each"):
                continue
            for rows, stages in RINGS:
                if cluster > 2 and rows * stages < 256:
                    continue
                case = Case(mode, cluster, rows=rows, stages=stages, iterations=64 if rows > 64 else 128,
                            pattern="sweep", footprint=24 * MIB, sms=sms)  # fmt: skip
                yield point(case, "in_flight", place=place)
