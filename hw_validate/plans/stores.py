"""TMA stores: their rate alone and beside loads, and what waiting for them takes.

Hypothesis A: a store is a load backwards, with the same rates of SM, GPC port and HBM. Hypothesis B: stores
have a way of their own, with its own rate. Stores on one SM, on a GPC and on the chip give the rates; the
same stores beside loads of the same bytes tell whether the two share a way. For the wait: `.read` waits
until the bytes have left shared memory, the full wait for the answer of the L2 as well; stamps of single
stores show both.

Answer: B for the rates (32 B/cycle from an SM, 27 each from the 16 of a GPC, 20 each from all), but loads
beside them slow down, since their requests leave the SM by the same way. Both waits end when shared memory
has been read, 33 cycles and 4 more a row after the issue: the compiler makes the same instruction of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hoppersim.program.operations import Affine, Arrive, Operation, Stamp, StoreWait, TmaStore, Wait
from hoppersim.program.work import (
    Allocation,
    Buffer,
    Flow,
    Launch,
    Role,
    SmSet,
    TensorMap,
    Width,
    Work,
    make_work,
)
from hw_validate.bundle import Point
from hw_validate.plans.parts import (
    LINE,
    alone,
    fresh,
    marked,
    named,
    private,
    rounds_of,
    rows_of,
    slope_work,
)
from hw_validate.plans.pushes import beside
from hw_validate.plans.rings import Ring, ring_work

CTAS = 132
ROUNDS = 12
REGION = 8
TURN = 16_000
COPIES = (2, 4)
WIDTHS: tuple[Width, ...] = ("lane", "warp", "warps")


def points() -> list[Point]:
    """List the points; slopes are never set aside."""
    flows = marked([*_rates(), *_beside(), *_copies(), *_latencies()])
    return [*flows, *_slopes()]


def _point(work: Work, experiment: str, **tags: object) -> Point:
    return named(work, f"store_{experiment}", tags, experiment=experiment)


def store_work(
    rows: int, pending: int, ctas: int, fresh_tiles: bool, row_bytes: int = LINE, sms: SmSet | None = None
) -> Work:
    """Write a loop that stores boxes and keeps at most `pending` of them reading shared memory."""
    place, total = fresh(ctas, rows, REGION * ROUNDS) if fresh_tiles else private(ctas, rows, REGION)
    store = TmaStore("stored", (0, place), "outgoing")
    body: tuple[Operation, ...] = (store, StoreWait(pending, read=True))
    launch = Launch((), ctas, sms=sms or SmSet(), warm=int(not fresh_tiles))
    stored = TensorMap("stored", "results", (LINE // 2, total), (row_bytes // 2, rows))
    return _writer("stores", (rounds_of(ROUNDS, REGION, body), StoreWait(0)), stored, launch)


def _writer(name: str, body: tuple[Operation, ...], stored: TensorMap, launch: Launch) -> Work:
    """Write a program of one role that stores boxes of a tensor from its buffer."""
    size = stored.box[-1] * LINE
    return make_work(name, (Role("writer", body),), alone("outgoing", size), (), (stored,), launch)


def _rates() -> Iterator[Point]:
    gpc = SmSet(gpcs=(1,), per_gpc=16)
    for ctas, sms in ((1, SmSet()), (16, gpc), (CTAS, SmSet())):
        for rows in (8, 64, 128, 256):
            for pending in (0, 1, 3):
                work = store_work(rows, pending, ctas, False, sms=sms)
                yield _point(work, "rate", memory="l2", ctas=ctas, rows=rows, pending=pending)
    for rows, pending in ((64, 1), (128, 1), (256, 0), (256, 3)):
        for ctas in (1, CTAS):
            work = store_work(rows, pending, ctas, True)
            yield _point(work, "rate", memory="hbm", ctas=ctas, rows=rows, pending=pending)
    for row_bytes in (16, 32, 64):
        for ctas in (1, CTAS):
            work = store_work(128, 1, ctas, False, row_bytes)
            yield _point(work, "narrow", ctas=ctas, row_bytes=row_bytes)


def _beside() -> Iterator[Point]:
    """A ring of loads and a loop of stores in the same CTAs, with the same bytes, and each alone."""
    for ctas in (1, CTAS):
        for memory in ("l2", "hbm"):
            cold = memory == "hbm"
            tiles = REGION * ROUNDS
            place = fresh(ctas, 128, tiles) if cold else private(ctas, 128)
            ring = Ring(*place, 128, 4, phases=((ROUNDS, False),), grid=ctas, warm=int(not cold))
            loads, stores = ring_work(ring), store_work(128, 1, ctas, cold)
            for who, work in (("loads", loads), ("both", beside(loads, stores, "loads and stores"))):
                yield _point(work, "beside", who=who, memory=memory, ctas=ctas)


def _copies() -> Iterator[Point]:
    """Copies through shared memory: each tile is loaded, stored, its stage freed when it has been read."""
    for ctas in (1, CTAS):
        for memory in ("l2", "hbm"):
            for rows in (64, 128):
                tiles = REGION * ROUNDS
                cold = memory == "hbm"
                place = fresh(ctas, rows, tiles) if cold else private(ctas, rows)
                ring = Ring(*place, rows, 4, phases=((ROUNDS, False),), grid=ctas, warm=int(not cold))
                yield _point(_copying(ring), "copy", memory=memory, ctas=ctas, rows=rows)


def _copying(ring: Ring) -> Work:
    """Let the consumer of a ring store each tile before it gives the stage back."""
    flow = ring_work(ring).flows[0]
    program, launch = flow.program, flow.launch
    store = TmaStore("stored", (0, ring.place), "tile")
    body = (Wait("full"), store, StoreWait(0, read=True), Arrive("free"))
    loop = rounds_of(ROUNDS, ring.region, body, ring.stages)
    stored = rows_of("stored", "results", ring.total_rows, ring.rows)
    program = replace(
        program,
        roles=(program.roles[0], Role("consumer", (loop, StoreWait(0)))),
        maps=(*program.maps, stored),
    )
    memory = (*launch.allocations, Allocation("results", ring.total_rows * LINE))
    return Work((Flow(program, replace(launch, allocations=memory)),))


def _latencies() -> Iterator[Point]:
    """One store at a time on one SM at a time: issued, read from shared memory, done."""
    for warm in (0, 1):
        for rows in (1, 8, 32, 64, 128, 256):
            place, total = fresh(CTAS, rows, REGION)
            body = (
                Stamp("begin"), TmaStore("stored", (0, place), "outgoing"), Stamp("issued"),
                StoreWait(0, read=True), Stamp("read"), StoreWait(0), Stamp("done"),
            )  # fmt: skip
            launch = Launch((), CTAS, skew=Affine(cluster=TURN), warm=warm)
            stored = rows_of("stored", "results", total, rows)
            work = _writer("store latency", (rounds_of(1, 7, body),), stored, launch)
            yield _point(work, "latency", memory="l2" if warm else "hbm", rows=rows)


def _slopes() -> Iterator[Point]:
    """What the issuing thread pays: k stores, k stores with a wait each, k waits with nothing pending."""
    store = TmaStore("stored", (0, 0), "outgoing")
    for width in WIDTHS:
        yield _slope("nothing", (), width, 0)
    kinds: dict[str, tuple[Operation, ...]] = {
        "store": (store,),
        "store_and_wait": (store, StoreWait(0)),
        "store_and_read": (store, StoreWait(0, read=True)),
        "wait": (StoreWait(0),),
    }
    for kind, operations in kinds.items():
        for width in WIDTHS:
            for copies in COPIES:
                yield _slope(kind, operations, width, copies)


def _slope(kind: str, operations: tuple[Operation, ...], width: Width, copies: int) -> Point:
    role = Role("role", operations * copies, 4 if width == "warps" else 1, width)
    buffers, maps = (Buffer("outgoing", LINE),), (rows_of("stored", "results", 8, 1),)
    work = slope_work(f"slope {kind}", role, 64, Launch((), 1), buffers, maps)
    return _point(work, "slope", operation=kind, width=width, copies=copies, trips=64)
