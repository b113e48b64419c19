"""Addresses confined to a few slices of the L2: what one slice gives, and where its requests queue.

The map of `hoppersim.blocks.addresses` says where they lie: a kilobyte lies in two slices, whose pairs of
lines alternate, and the first pairs of eight kilobytes that follow each other lie in as many slices. Rows
of 256 bytes, 512 bytes apart, so keep to one slice for each kilobyte. Every CTA goes round and round over the
rows of k kilobytes, each from another one on.

Hypothesis A: a slice answers one request (64 bytes) each L2 cycle, whoever asks, so k slices give k times 55
B/cycle until ports or SMs are the limit, and a request waits for all that is in flight in front of its slice.
Hypothesis B: requests for one slice are held up before it as well (in the network, at the coalescer, by a
share for each GPC), so a few slices give less than their part, or SMs in several GPCs more than SMs in one.
Numbers of slices, of SMs and of GPCs tell them apart; stamps give the time that a stage waits, and counters
say how much the coalescer merged and that the fullest slice has a k-th of the sectors.

Answer: A, with a slice on each side of the L2: 49 to 54 B/cycle of look-ups each, four readers to a look-up.
The fullest slice has one of up to 8 first pairs, two of 16 and three of 32; so the map, which then gave one
of up to 47, draws anew after eight kilobytes now.
"""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import Affine, TmaLoad
from hoppersim.program.work import Launch, SmSet, TensorMap, Work
from hw_validate.bundle import Point
from hw_validate.plans.parts import STEADY, box_ring

KILOBYTE = 1024
ROW_BYTES, PITCH = 256, 512
ROWS = KILOBYTE // PITCH
"""Rows of a kilobyte in its first slice: one box."""
BOXES = 16
"""Boxes of a stage, each of another kilobyte."""
STRIDE = 5
"""Kilobytes from the first box of a CTA to that of the next; goes round all powers of two."""
REGION = 8
SLICES = (1, 2, 4, 8, 16, 32)
PLACES = {
    "one": SmSet(gpcs=(1,), per_gpc=1),
    "four_of_one_gpc": SmSet(gpcs=(1,), per_gpc=4),
    "one_gpc": SmSet(gpcs=(1,), per_gpc=16),
    "one_of_each_gpc": SmSet(gpcs=tuple(range(8)), per_gpc=1),
    "chip": SmSet(),
}


def points() -> list[Point]:
    """List the points: slices x places x stages; those of a full GPC and of the chip are counted."""
    return list(_points())


def _points() -> Iterator[Point]:
    for slices in SLICES:
        for place, sms in PLACES.items():
            for stages in (1, 4):
                tags = {
                    "experiment": "slices",
                    "slices": slices,
                    "place": place,
                    "stages": stages,
                    "counted": stages == 4 and place in ("one_gpc", "chip"),
                }
                work = confined(slices, stages, sms)
                yield Point(work, f"slices_{slices}_{place}_s{stages}", 5, stages == 4, tags=tags)


def confined(slices: int, stages: int, sms: SmSet) -> Work:
    """Write a ring of stages of 16 boxes, all of whose lines lie in so many slices.

    Parameters
    ----------
    slices
        Slices of the L2, at most 47; so many kilobytes are read.
    stages
        Stages of 8 KB.
    sms
        Which SMs read.
    """
    box_bytes, total = ROWS * ROW_BYTES, slices * ROWS
    onward = BOXES * ROWS % total
    loops = {"tile": onward} if onward else {}
    loads = tuple(
        TmaLoad(
            "rows",
            (0, Affine(box * ROWS, cluster=STRIDE * ROWS, loops=loops, wrap=total)),
            "tile",
            "full",
            box * box_bytes,
        )
        for box in range(BOXES)
    )
    rows = TensorMap("rows", "data", (PITCH // 2, total), (ROW_BYTES // 2, ROWS))
    ring = (BOXES * box_bytes, stages, REGION)
    return box_ring("slices", loads, rows, ring, STEADY, Launch(sms=sms))
