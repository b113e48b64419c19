"""Who merges with whom: two SMs that read the same lines, by where they are, and by how much one lags behind.

Two hypotheses. A: the coalescer in front of a slice merges reads of any two SMs of its side. B: it merges
those of one GPC only, since a response goes to one GPC and is handed out behind that GPC's port. Counted
alone on the chip with both SMs at once, and on the full chip with a lag, where requests wait: how far apart
two reads may be says how many lines a coalescer keeps open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from hoppersim.program.operations import Affine
from hoppersim.program.work import SmSet, Work
from hw_validate.bundle import Point
from hw_validate.plans.parts import named
from hw_validate.plans.streams import CTAS, Stream, private_stream, same_tiles

PLACES = {
    "same_gpc": SmSet(gpcs=(1,), per_gpc=2, spread=True),
    "same_side": SmSet(gpcs=(1, 2), per_gpc=1),
    "other_side": SmSet(gpcs=(1, 4), per_gpc=1),
    "one_of_each": SmSet(gpcs=tuple(range(8)), per_gpc=1),
    "four_of_each": SmSet(gpcs=tuple(range(8)), per_gpc=4, spread=True),
    "gpc": SmSet(gpcs=(1,)),
}
LAGS = (0, 100, 200, 300, 400, 600, 900, 1300)
WINDOWS = ((2, 128, 4), (2, 256, 6), (4, 128, 4), (8, 64, 6))
"""Cluster, rows and stages of the loops whose ranks lag behind each other."""


def points() -> list[Point]:
    """List the points, all of which are counted."""
    return [*_places(), *_lags()]


def _point(work: Work, **tags: Any) -> Point:
    return named(work, "readers", tags, 3, experiment="readers", counted=True)


def _places() -> Iterator[Point]:
    for place, sms in PLACES.items():
        for rows, stages in ((1, 1), (16, 1), (128, 1), (128, 4)):
            work = private_stream(Stream(rows=rows, stages=stages, rounds=24, sms=sms))
            yield _point(Work((same_tiles(work.flows[0]),)), place=place, rows=rows, stages=stages)


def _lags() -> Iterator[Point]:
    """Clusters that read tiles of their own, each rank later than the one before: the chip, a GPC."""
    for where, kind in (("chip", {"grid": CTAS}), ("gpc", {"sms": SmSet(gpcs=(1,))})):
        for cluster, rows, stages in WINDOWS:
            if where == "chip" and CTAS % cluster:
                continue
            work = private_stream(
                Stream(cluster=cluster, shared=True, rows=rows, stages=stages, rounds=12, **kind)
            )
            for lag in LAGS:
                flow = work.flows[0]
                late = replace(flow, launch=replace(flow.launch, skew=Affine(rank=lag)))
                yield _point(Work((late,)), place=where, cluster=cluster, rows=rows, stages=stages, lag=lag)
