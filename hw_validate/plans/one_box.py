"""One box at a time, after a synchronisation of each kind, by unicast and by multicast.

Hypotheses for the loops that meet at a cluster sync before every tile, which take longer than the sync and
the box taken apart: the sync itself waits for more when a box has just arrived, or the box takes longer
because the acquire emptied a cache that the TMA engine uses (its descriptor). A relaxed sync in the same
place tells them apart, and so does a fence alone. The same loop by multicast gives what fanning out adds to
a box.
"""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import Affine, ExpectTx, Fence, For, Operation, Sync, TmaLoad, Wait
from hoppersim.program.work import Barrier, Buffer, Launch, Role, Work, make_work
from hw_validate.bundle import Point
from hw_validate.plans.parts import rows_of

TRIPS = 256
BEFORE: dict[str, tuple[Operation, ...]] = {
    "nothing": (),
    "cluster acq_rel": (Sync("cluster"),),
    "cluster relaxed": (Sync("cluster", "relaxed"),),
    "fence cluster": (Fence("acq_rel_cluster"),),
    "cta sync": (Sync("cta"),),
}


def points() -> list[Point]:
    """List the points."""
    return [*_after_sync(), *_multicast()]


def _after_sync() -> Iterator[Point]:
    for name, before in BEFORE.items():
        for rows in (1, 128):
            for warps in (1, 4):
                work = box_after(2, rows, before, warps, None)
                tags = {"kind": "after_sync", "before": name, "rows": rows, "warps": warps, "trips": TRIPS}
                yield Point(work, f"after_{name}_{rows}_{warps}", 5, False, tags=tags)


def _multicast() -> Iterator[Point]:
    for cluster in (1, 2, 4, 8, 16):
        for rows in (1, 16, 64, 128, 256):
            for mode, mask in (("unicast", None), ("multicast", 2**cluster - 1)):
                work = box_after(cluster, rows, (Sync("cluster", "relaxed"),), 1, mask)
                tags = {"kind": "fan_out", "mode": mode, "cluster": cluster, "rows": rows, "trips": TRIPS}
                yield Point(work, f"fan_out_{mode}_{cluster}_{rows}", 5, False, tags=tags)


def box_after(cluster: int, rows: int, before: tuple[Operation, ...], warps: int, mask: int | None) -> Work:
    """Let every CTA (with a mask, rank 0 for all) load one box and wait for it, again and again."""
    load = TmaLoad("tiles", (0, Affine(cluster=rows)), "tile", "full", mask=mask)
    arm, wait = ExpectTx("full", rows * 128), Wait("full")
    issuer = Role("issuer", (For(TRIPS, (*before, arm, load, wait), 1, "tile"),), 1, "warp")
    roles = [issuer]
    if mask is not None and cluster > 1:
        peers = tuple(range(1, cluster))
        roles = [
            Role("issuer", issuer.body, 1, "warp", (0,)),
            Role("peer", (For(TRIPS, (*before, arm, wait), 1, "tile"),), 1, "warp", peers),
        ]
    if warps > 1:
        roles.append(Role("others", (For(TRIPS, (*before, wait), 1, "tile"),), warps - 1, "warps"))
    return make_work(
        "one box", tuple(roles), (Buffer("tile", rows * 128),), (Barrier("full", 1),),
        (rows_of("tiles", "data", 512, rows),), Launch((), cluster, (cluster, 1, 1)),
    )  # fmt: skip
