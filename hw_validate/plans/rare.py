"""The rarer kinds of flows, each drawn at random: what the plans `fresh` and later ones are made of.

Every function draws one point of its kind; counts of rounds and CTAs are unlike those of other plans, so that
no work is in two.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal

from msgspec.structs import replace

from hoppersim.program.builders import article_multicast, article_unicast, dsmem_pull
from hoppersim.program.operations import Affine, For, Operation, RemoteLoad
from hoppersim.program.work import Flow, SmSet, Work
from hw_validate.bundle import Point
from hw_validate.plans.cluster_fabric import BYTES, one_sided
from hw_validate.plans.parts import LINE, Phases, fresh, private
from hw_validate.plans.pushes import Pattern, Push, beside, push_work
from hw_validate.plans.rings import Ring, ring_work
from hw_validate.plans.shapes import BOX_BYTES, Shape, shape_work
from hw_validate.plans.stores import store_work

ROUNDS: Phases = ((10, False),)
CLUSTERS = (2, 2, 4, 8, 16)
PUSHES: tuple[Pattern, ...] = ("ring", "ring", "exchange", "half", "one_way", "across")
STORES: tuple[Pattern, ...] = ("ring", "exchange", "one_way")
WAYS: tuple[tuple[Literal["unicast", "multicast"], int], ...] = (
    ("unicast", 1),
    ("unicast", 2),
    ("multicast", 2),
    ("multicast", 4),
)
PLACES = (SmSet(), SmSet(), SmSet(gpcs=(1,)), SmSet(gpcs=(1, 4)))


def _point(kind: str, work: Work, verify: bool = False, **tags: Any) -> Point:
    """Name a point by its kind and what was drawn."""
    drawn = "_".join(str(value) for value in tags.values())
    label = f"{kind}_{drawn}".replace(" ", "_")
    return Point(work, label, 7, verify, tags={"kind": kind, **tags})


def article(source: random.Random) -> Point:
    """Draw one of the article's loops."""
    way = source.choice(("unicast", "multicast"))
    pattern, cluster = source.choice(("hot", "stream")), source.choice((2, 4, 8))
    iterations = source.choice((480, 640))
    build = article_unicast if way == "unicast" else article_multicast
    work = build(pattern, iterations, cluster)  # type: ignore[arg-type]
    return _point("article", work, article=way, pattern=pattern, cluster=cluster, iterations=iterations)


def push(source: random.Random) -> Point:
    """Draw bulk copies between the CTAs of a cluster."""
    cluster, stages = source.choice(CLUSTERS), source.choice((1, 2, 4, 6))
    size, copies = source.choice(((1024, 4), (2048, 1), (4096, 2), (8192, 1), (16384, 1), (24576, 1)))
    pattern = source.choice(PUSHES)
    sms = source.choice(PLACES)
    work = push_work(Push(cluster, size, copies, pattern, stages=stages, rounds=ROUNDS, sms=sms))
    return _point("push", work, cluster=cluster, tile=size * copies, copies=copies, pattern=pattern,
                  stages=stages, gpcs=len(sms.gpcs))  # fmt: skip


def asynchronous(source: random.Random) -> Point:
    """Draw stores that complete on a barrier of the receiver."""
    cluster, stages = source.choice(CLUSTERS), source.choice((1, 2, 4))
    size, width = source.choice((2048, 8192, 16384)), source.choice(BYTES)
    warps = source.choice((1, 4, 8))
    pattern = source.choice(STORES)
    sms = source.choice(PLACES)
    work = push_work(Push(cluster, size, 1, pattern, width, warps, stages, ROUNDS, sms=sms))
    return _point("st_async", work, cluster=cluster, tile=size, width=width, warps=warps, pattern=pattern,
                  stages=stages, gpcs=len(sms.gpcs))  # fmt: skip


def pull(source: random.Random) -> Point:
    """Draw remote loads of a tile that each CTA of a cluster uses several times."""
    cluster, tile = source.choice(CLUSTERS), source.choice((4096, 8192, 16384, 32768))
    reuse, width = source.choice((1, 2, 3, 4, 6, 8)), source.choice((4, 8, 16))
    unroll, warps = source.choice((1, 2, 4, 8)), source.choice((1, 4, 8, 16))
    work = _with_loads(dsmem_pull(cluster, tile, reuse, 12, warps), width, unroll)
    return _point("remote loads", work, cluster=cluster, tile=tile, reuse=reuse, width=width, unroll=unroll,
                  warps=warps)  # fmt: skip


def _with_loads(work: Work, width: Any, unroll: int) -> Work:
    """Give a work whose remote loads have another width and unrolling."""

    def changed(operation: Operation) -> Operation:
        if isinstance(operation, For):
            return replace(operation, body=tuple(changed(item) for item in operation.body))
        if isinstance(operation, RemoteLoad):
            return replace(operation, width=width, unroll=unroll)
        return operation

    (flow,) = work.flows
    roles = tuple(
        replace(role, body=tuple(changed(item) for item in role.body)) for role in flow.program.roles
    )
    return Work((Flow(replace(flow.program, roles=roles), flow.launch),))


def direct(source: random.Random) -> Point:
    """Draw remote loads or stores from rank to rank, with nothing else in the loop."""
    kind, cluster = source.choice(("load", "load", "store")), source.choice(CLUSTERS)
    width, unroll, warps = source.choice(BYTES), source.choice((1, 2, 4, 8)), source.choice((2, 4, 8))
    following = Affine(base=1, rank=1, wrap=cluster)
    sms = source.choice((SmSet(gpcs=(2,)), SmSet(gpcs=(1, 4)), SmSet(gpcs=(1, 2, 3))))
    work = one_sided(kind, cluster, following, (), (width, unroll, warps), sms)
    return _point(f"remote {kind}", work, cluster=cluster, width=width, unroll=unroll, warps=warps,
                  gpcs=len(sms.gpcs))  # fmt: skip


def stores(source: random.Random) -> Point:
    """Draw a loop of TMA stores."""
    rows, pending = source.choice((8, 32, 64, 96, 128, 256)), source.choice((0, 1, 2, 3))
    ctas, cold = source.choice((1, 8, 64, 120)), source.random() < 0.3
    row_bytes = source.choice((32, 64, 128, 128, 128))
    work = store_work(rows, pending, ctas, cold, row_bytes)
    return _point("stores", work, not cold, memory="hbm" if cold else "l2", ctas=ctas, rows=rows,
                  pending=pending, row_bytes=row_bytes)  # fmt: skip


def beside_stores(source: random.Random) -> Point:
    """Draw a ring of loads beside a loop of stores in the same CTAs."""
    rows, stored = source.choice((32, 64, 128, 256)), source.choice((16, 64, 128))
    ctas, cold, stages = source.choice((1, 16, 120)), source.random() < 0.3, source.choice((2, 4))
    place = fresh(ctas, rows, 80) if cold else private(ctas, rows)
    ring = Ring(*place, rows, stages, phases=ROUNDS, grid=ctas, warm=int(not cold))
    work = beside(ring_work(ring), store_work(stored, 1, ctas, cold), "loads and stores")
    return _point("loads and stores", work, memory="hbm" if cold else "l2", ctas=ctas, rows=rows,
                  stored=stored, stages=stages)  # fmt: skip


def beside_push(source: random.Random) -> Point:
    """Draw a ring of loads beside a push in the same CTAs."""
    rows, cluster, ctas = source.choice((32, 64, 128)), source.choice((2, 4)), source.choice((4, 16, 104))
    size, stages = source.choice((2048, 8192)), source.choice((2, 4))
    where, total = private(ctas // cluster, rows * cluster)
    ring = Ring(replace(where, rank=8 * rows), total, rows, stages, phases=ROUNDS, cluster=cluster, grid=ctas)
    pushed = push_work(Push(cluster, size, rounds=ROUNDS, grid=ctas))
    work = beside(ring_work(ring), pushed, "loads and push")
    return _point("loads and push", work, cluster=cluster, ctas=ctas, rows=rows, stages=stages, pushed=size)


def shapes(source: random.Random) -> Point:
    """Draw boxes off the line grid, or of narrow rows."""
    width = source.choice((32, 64, 128, 256))
    shift = source.choice((0, 16, 32, 48, 64, 96, 112))
    boxes, stages = source.choice(((1, 1), (1, 4), (2, 4), (4, 4)))
    ctas = source.choice((2, 8, 66, 120))
    shape = Shape(width, 512, shift, 0, boxes, stages, 4, ctas)
    return _point("off the grid", shape_work(shape), memory="l2", width=width, shift=shift, boxes=boxes,
                  stages=stages, tile=boxes * BOX_BYTES, ctas=ctas)  # fmt: skip


def promotion(source: random.Random) -> Point:
    """Draw boxes with an L2 promotion, from HBM or from the L2."""
    width, promoted = source.choice((32, 64, 128, 256)), source.choice((64, 128, 256))
    cold, ctas = source.random() < 0.6, source.choice((8, 66, 120))
    boxes, stages = source.choice(((1, 4), (2, 4), (2, 2)))
    shape = Shape(width, 512, 0, promoted, boxes, stages, 4, ctas, cold)
    return _point("promotion", shape_work(shape), memory="hbm" if cold else "l2", width=width,
                  promotion=promoted, boxes=boxes, stages=stages, tile=boxes * BOX_BYTES,
                  ctas=ctas)  # fmt: skip


def paced(source: random.Random) -> Point:
    """Draw boxes in a pace: distinct or for a cluster, from the L2 or from HBM."""
    mode, cluster = source.choice(WAYS)
    cold, rows = cluster == 1 and source.random() < 0.4, source.choice((32, 64, 128))
    pace = source.choice((40, 90, 180, 300, 500, 900, 1800))
    ctas = 120
    place = fresh(ctas, rows, 80) if cold else private(ctas // cluster, rows)
    ring = Ring(*place, rows, 6, phases=ROUNDS, mode=mode, cluster=cluster, pace=pace, grid=ctas,
                warm=int(not cold))  # fmt: skip
    return _point(f"paced {mode}", ring_work(ring), memory="hbm" if cold else "l2", cluster=cluster,
                  rows=rows, stages=6, tile=rows * LINE, pace=pace)  # fmt: skip


DRAWS: list[Callable[[random.Random], Point]] = [
    article, push, asynchronous, pull, pull, direct, stores, beside_stores, beside_push, shapes, promotion,
    paced,
]  # fmt: skip
"""Kinds in turn; remote loads with reuse count twice."""
