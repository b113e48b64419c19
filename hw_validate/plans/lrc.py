"""How long the L2 request coalescer waits: two readers of one tile, a fixed time apart in every iteration.

Two hypotheses: a line stays open while its read is under way (some 100 to 200 cycles on an idle chip), or
it is held for a time of its own. The readers meet at a cluster sync before each tile, so they cannot drift;
the share of sectors that the L2 reads once for both, against the time between them, tells.
"""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import Affine, Compute, ExpectTx, Operation, Sync, TmaLoad, Wait
from hoppersim.program.work import Barrier, Buffer, Launch, Role, Work, make_work
from hw_validate.bundle import Point
from hw_validate.plans.parts import rounds_of, rows_of

DELAYS = (0, 20, 40, 60, 80, 100, 125, 150, 175, 200, 250, 300, 400, 600, 1000)
REGION = 16


def points() -> list[Point]:
    """List the points: pairs in one TPC and in two, small and large boxes."""
    return list(_points())


def _points() -> Iterator[Point]:
    for cluster, name in ((2, "same_tpc"), (4, "two_tpcs")):
        for rows in (1, 64):
            for delay in DELAYS:
                tags = {"experiment": "lrc_delay", "pair": name, "rows": rows, "delay": delay}
                yield Point(_work(cluster, rows, delay), f"lrc_{name}_{rows}_{delay}", 3, False, tags=tags)


def _work(cluster: int, rows: int, delay: int) -> Work:
    late = cluster // 2
    load: tuple[Operation, ...] = (
        ExpectTx("full", rows * 128),
        TmaLoad("tiles", (0, Affine(loops={"tile": rows})), "tile", "full"),
        Wait("full", Affine(loops={"tile": 1}, wrap=2)),
    )
    bodies: dict[int, tuple[Operation, ...]] = {
        rank: (Sync("cluster", "relaxed"),) for rank in range(cluster)
    }
    bodies[0] += load
    bodies[late] += (Compute(delay), *load) if delay else load
    roles = tuple(
        Role(f"rank{rank}", (rounds_of(16, REGION, body),), 1, "warp", (rank,))
        for rank, body in bodies.items()
    )
    return make_work(
        "lrc", roles, (Buffer("tile", rows * 128),), (Barrier("full", 1),),
        (rows_of("tiles", "data", REGION * rows, rows),), Launch((), cluster, (cluster, 1, 1)),
    )  # fmt: skip
