"""The cluster-scaling study on silicon: the points that the simulator's own study of that name shows."""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.cases import Case, Mode
from hw_validate.bundle import Point
from hw_validate.plans.parts import MIB
from hw_validate.plans.structure import point

MODES: tuple[Mode, ...] = ("unicast_distinct", "unicast", "multicast", "multicast_slices")


def points() -> list[Point]:
    """List the points: modes x clusters x boxes, L2-resident and from HBM."""
    return list(_points())


def _points() -> Iterator[Point]:
    for rows, stages in ((256, 4), (128, 4), (64, 4), (16, 4)):
        for mode in MODES:
            for cluster in (1, 2, 4, 8, 16):
                case = Case(mode, cluster, rows=rows, stages=stages, iterations=128, pattern="sweep",
                            footprint=24 * MIB)  # fmt: skip
                yield point(case, "scaling", repeats=7)
    for rows, stages in ((256, 4), (64, 8)):
        for mode in MODES:
            for cluster in (1, 2, 4, 8, 16):
                case = Case(
                    mode, cluster, rows=rows, stages=stages, iterations=64, pattern="sweep", memory="hbm"
                )
                yield point(case, "scaling_hbm", repeats=7)
