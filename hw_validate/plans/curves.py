"""Bandwidth-latency curves: boxes issued at a pace, and the time from each issue to its arrival.

Hypothesis A: a box takes its latency on an idle chip until the rate comes near the peak, where a queue
builds up (one bottleneck, a knee). Hypothesis B: the latency rises steadily with the rate, because boxes
meet at many places that are unevenly loaded (slices, channels, ports). Paces from idle to past the peak,
with stamps at issue and arrival once the ring runs evenly, and with CTAs spread over the interval, tell them
apart. Of a push over the cluster fabric the sender sees the credit that comes back, since clocks of two SMs
differ.

Answer: A for the L2, shared tiles, multicast and pushes (flat to 80 % of the peak, a quarter more at 90 %,
then a knee); B for HBM, where a box takes 28 % more at 70 % of the peak and half more at 86 %.
"""

from __future__ import annotations

from collections.abc import Iterator

from hw_validate.bundle import Point
from hw_validate.plans.parts import STEADY, fresh, marked, private
from hw_validate.plans.pushes import Push, push_work
from hw_validate.plans.rings import Ring, ring_work

ROWS = 128
PUSHED = 8192
TILES = 96
PACES: dict[str, tuple[int, ...]] = {
    "distinct": (0, 280, 320, 360, 420, 560, 800, 1400, 4000),
    "hbm": (0, 780, 860, 960, 1100, 1400, 2000, 3400, 8000),
    "c2": (0, 60, 80, 110, 150, 220, 360, 700, 2000),
    "c4": (0, 10, 30, 50, 80, 130, 250, 600, 1500),
    "push": (0, 200, 260, 320, 400, 550, 800, 1500, 4000),
}
"""Cycles between boxes: the first at the peak, then from about the peak's interval to a tenth of its rate."""


def points() -> list[Point]:
    """List the points: distinct, shared and multicast tiles from the L2, distinct ones from HBM, pushes."""
    return marked([*_distinct(), *_clusters(), *_pushes()])


def _distinct() -> Iterator[Point]:
    place, total = private(132, ROWS)
    for pace in PACES["distinct"]:
        yield _ring(Ring(place, total, ROWS, pace=pace), "distinct")
    place, total = fresh(132, ROWS, TILES)
    for pace in PACES["hbm"]:
        yield _ring(Ring(place, total, ROWS, pace=pace, warm=0), "hbm")


def _clusters() -> Iterator[Point]:
    for cluster, ctas in ((2, 132), (4, 120)):
        place, total = private(ctas // cluster, ROWS)
        for pace in PACES[f"c{cluster}"]:
            shared = Ring(place, total, ROWS, cluster=cluster, pace=pace, grid=ctas)
            yield _ring(shared, f"shared_c{cluster}")
            many = Ring(place, total, ROWS, mode="multicast", cluster=cluster, pace=pace, grid=ctas)
            yield _ring(many, f"multicast_c{cluster}")


def _ring(ring: Ring, curve: str) -> Point:
    work = ring_work(ring, f"curve {curve}")
    tags = {"experiment": "curve", "curve": curve, "pace": ring.pace, "bytes": ring.rows * 128}
    return Point(work, f"curve_{curve}_{ring.pace}", 5, tags=tags)


def _pushes() -> Iterator[Point]:
    for cluster, ctas in ((2, 132), (4, 120)):
        for pace in PACES["push"]:
            push = Push(cluster, PUSHED, stages=8, rounds=STEADY, pace=pace, grid=ctas)
            tags = {"experiment": "curve", "curve": f"push_c{cluster}", "pace": pace, "bytes": PUSHED}
            yield Point(push_work(push), f"curve_push_c{cluster}_{pace}", 5, tags=tags)
