"""Traffic between the SMs of a GPC: what bounds it, and what it shares with traffic from the L2.

Hypothesis A: an SM's own way in or out is the only limit (21 B/cycle, whoever else sends). Hypothesis B: the
SMs of a GPC share a stage, so that each gets less the more pairs are active. One to nine pairs in a GPC,
clusters of 2 to 16 alone in their GPC, in a full GPC and on the full chip tell them apart.

Further: both ways of a pair share one limit or have one each (one way against exchange); distance in the
cluster counts or does not (ring against half a ring); loads and stores are bounded by their round trips and
threads, or by the same way as bulk copies (widths, threads, unrolling); pushes and loads from the L2 share
the SM's port, or do not (both at once against each alone).

Answer: B. An SM sends 21.4 B/cycle, 19.8 if it receives as well; 16 SMs of a GPC get 16 across TPCs and 18
inside them, and the rest of the chip adds nothing. Distance alone does not count. Loads and stores meet the
same limit (21.3 out of the owner), loads one round trip for each unrolled batch before it. Loads from the L2
fall to a third on an SM that sends, whoever makes the packets (copy engine or st.async), and keep all but
the pushed bytes on one that receives: the way out is shared with requests, the way in is one port.
"""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import Affine, For, RemoteLoad, RemoteStore, Sync
from hoppersim.program.work import Launch, Role, SmSet, Work, make_work
from hw_validate.bundle import Point
from hw_validate.plans.parts import Bytes, Phases, alone, marked, named, private
from hw_validate.plans.pushes import Pattern, Push, beside, push_work
from hw_validate.plans.rings import Ring, ring_work

GPC = 1
BYTES: tuple[Bytes, ...] = (4, 8, 16)
LONG: Phases = ((12, False),)
CLUSTERS = (2, 4, 8, 16)
PATTERNS: tuple[Pattern, ...] = ("ring", "exchange", "half")
ONE_SIDED = 16384
"""Bytes that a role of remote loads or stores moves in one operation."""


def points() -> list[Point]:
    """List the points."""
    copies = [*_pairs(), *_clusters(), *_sizes(), *_fans(), *_asynchronous(), *_beside()]
    copies += [*_across(), *_beside_kinds()]
    return [*marked(copies), *marked([*_one_sided(), *_one_sided_clusters()], verified=False)]


def _some(count: int, gpc: int = GPC) -> SmSet:
    return SmSet(gpcs=(gpc,), per_gpc=count)


def _point(work: Work, experiment: str, **tags: object) -> Point:
    return named(work, f"fabric_{experiment}", tags, experiment=experiment)


def _pairs() -> Iterator[Point]:
    """One to eight pairs in a GPC of 16 SMs, and nine in one of 18 where the part has it."""
    for pattern in ("one_way", "exchange"):
        for pairs in range(1, 10):
            sms = _some(2 * pairs) if pairs < 9 else _some(18, gpc=7)
            push = Push(2, 8192, pattern=pattern, rounds=LONG, sms=sms)
            yield _point(push_work(push), "pairs", pattern=pattern, pairs=pairs)


def _clusters() -> Iterator[Point]:
    """Clusters alone in a GPC, as many as fit in it, and all over the chip; pairs have plans of their own."""
    for cluster in CLUSTERS:
        for place, sms in (("alone", _some(cluster)), ("gpc", _some(16)), ("chip", SmSet())):
            for pattern in PATTERNS:
                pair_again = cluster == 2 and (pattern != "ring" or place != "chip")
                if pair_again or (cluster == 16 and place == "gpc"):
                    continue
                push = Push(cluster, 8192, pattern=pattern, rounds=LONG, sms=sms)
                yield _point(push_work(push), "cluster", cluster=cluster, place=place, pattern=pattern)


def _across() -> Iterator[Point]:
    """Traffic between TPCs by more and more clusters of a GPC, both ways and one way."""
    for pattern in ("half", "across"):
        for cluster in (4, 8, 16):
            for count in range(cluster, 17, cluster):
                if pattern == "half" and count in (cluster, 16):
                    continue
                push = Push(cluster, 8192, pattern=pattern, rounds=LONG, sms=_some(count))
                yield _point(push_work(push), "across", pattern=pattern, cluster=cluster, count=count)


def _sizes() -> Iterator[Point]:
    """Bulk copies by size, several in a stage where they are small; the pairs have those of 8 KB."""
    for size, copies in ((16, 8), (64, 8), (256, 8), (1024, 8), (4096, 2), (16384, 1), (32768, 1)):
        for pattern in ("one_way", "exchange"):
            push = Push(2, size, copies, pattern, rounds=LONG, sms=_some(2))
            yield _point(push_work(push), "size", bytes=size, copies=copies, pattern=pattern)
    for stages in (1, 2):
        for size in (2048, 16384):
            push = Push(2, size, 1, "one_way", stages=stages, rounds=LONG, sms=_some(2))
            yield _point(push_work(push), "depth", bytes=size, stages=stages)


def _fans() -> Iterator[Point]:
    """One tile to all others by a copy for each."""
    for cluster in (4, 8, 16):
        for place, sms in (("alone", _some(cluster)), ("chip", SmSet())):
            push = Push(cluster, 8192, pattern="fan", rounds=((4, False),), sms=sms)
            yield _point(push_work(push), "fan", cluster=cluster, place=place)


def _asynchronous() -> Iterator[Point]:
    """Stores that complete on a barrier: width and threads alone, then places and patterns."""
    for width in BYTES:
        for warps in (1, 4, 16):
            push = Push(2, 8192, 1, "one_way", width, warps, rounds=LONG, sms=_some(2))
            yield _point(push_work(push), "st_async", width=width, warps=warps)
    for pairs in (2, 4, 8):
        push = Push(2, 8192, 1, "one_way", 16, 4, rounds=LONG, sms=_some(2 * pairs))
        yield _point(push_work(push), "st_async_pairs", pairs=pairs)
    for cluster, place in ((2, "alone"), (2, "chip"), (4, "chip"), (16, "chip")):
        sms = _some(2) if place == "alone" else SmSet()
        push = Push(cluster, 8192, 1, "ring", 16, 4, rounds=LONG, sms=sms)
        yield _point(push_work(push), "st_async_ring", cluster=cluster, place=place)


def _beside() -> Iterator[Point]:
    """A ring of loads from the L2 and a push in the same CTAs, and each alone."""
    for cluster in (2, 4, 16):
        for place, ctas, sms in (("alone", cluster, _some(cluster)), ("chip", 112, SmSet())):
            rows = 128
            where, total = private(ctas // cluster, rows * cluster)
            own = Affine(cluster=where.cluster, rank=8 * rows, loops={"tile": rows})
            ring = Ring(own, total, rows, 4, phases=LONG, cluster=cluster, grid=ctas, sms=sms)
            push = Push(cluster, 8192, rounds=LONG, grid=ctas, sms=sms)
            loads, copies = ring_work(ring), push_work(push)
            for who, work in (
                ("loads", loads),
                ("push", copies),
                ("both", beside(loads, copies, "loads and push")),
            ):
                yield _point(work, "beside", cluster=cluster, place=place, who=who)


def _beside_kinds() -> Iterator[Point]:
    """Loads beside pushes of other kinds, by one pair: is it the copy engine that they share, or a port."""
    pushes = {
        "bulk_8x1k": Push(2, 1024, 8, rounds=LONG, grid=2, sms=_some(2)),
        "bulk_one_way": Push(2, 8192, 1, "one_way", rounds=LONG, grid=2, sms=_some(2)),
        "st_async": Push(2, 8192, 1, "ring", 16, 4, rounds=LONG, grid=2, sms=_some(2)),
        "st_async_one_way": Push(2, 8192, 1, "one_way", 16, 4, rounds=LONG, grid=2, sms=_some(2)),
    }
    where, total = private(1, 256)
    own = Affine(cluster=where.cluster, rank=8 * 128, loops={"tile": 128})
    for rounds in (12, 36):
        phases: Phases = ((rounds, False),)
        loads = ring_work(Ring(own, total, 128, 4, phases=phases, cluster=2, grid=2, sms=_some(2)))
        for kind, push in pushes.items():
            work = beside(loads, push_work(push), "loads and push")
            yield _point(work, "beside_kind", kind=kind, rounds=rounds)


def one_sided(
    kind: str, cluster: int, target: Affine, ranks: tuple[int, ...], shape: tuple[Bytes, int, int], sms: SmSet
) -> Work:
    """Write a loop of remote loads or stores of 16 KB; `shape` is width, unrolling and warps."""
    width, unroll, warps = shape
    operation = RemoteLoad if kind == "load" else RemoteStore
    move = operation("tile", target, ONE_SIDED, width, unroll)
    role = Role(kind, (For(16, (move, Sync("role"))),), warps, "warps", ranks)
    launch = Launch((), "fill", (cluster, 1, 1), sms)
    return make_work(f"remote {kind}", (role,), alone("tile", ONE_SIDED), launch=launch)


def _one_sided() -> Iterator[Point]:
    """Loads and stores of one pair, by width, unrolling and warps; then of more pairs in the GPC."""
    there = Affine(by_rank=(1, 0))
    for kind, unrolls in (("load", (1, 4, 8)), ("store", (4,))):
        for width in BYTES:
            for unroll in unrolls:
                for warps in (1, 4, 16):
                    shape: tuple[Bytes, int, int] = (width, unroll, warps)
                    work = one_sided(kind, 2, there, (0,), shape, _some(2))
                    yield _point(work, kind, width=width, unroll=unroll, warps=warps)
        for pairs in (1, 2, 4, 8):
            for pattern, ranks in (("one_way", (0,)), ("exchange", ())):
                work = one_sided(kind, 2, there, ranks, (16, 4, 16), _some(2 * pairs))
                if pairs > 1 or pattern == "exchange":
                    yield _point(work, f"{kind}_pairs", pairs=pairs, pattern=pattern)


def _one_sided_clusters() -> Iterator[Point]:
    """Loads from, and stores to, the next rank all over the chip."""
    for kind in ("load", "store"):
        for cluster in (2, 4, 8, 16):
            following = Affine(base=1, rank=1, wrap=cluster)
            for warps in (4, 16):
                work = one_sided(kind, cluster, following, (), (16, 4, warps), SmSet())
                yield _point(work, f"{kind}_ring", cluster=cluster, warps=warps)
