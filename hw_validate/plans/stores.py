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

from hoppersim.program.operations import (
    Affine,
    Arrive,
    For,
    Operation,
    Stamp,
    StoreWait,
    TmaStore,
    Wait,
)  # fmt: skip
from hoppersim.program.work import (
    Allocation,
    Barrier,
    Buffer,
    Flow,
    Launch,
    Program,
    Role,
    SmSet,
    TensorMap,
    Width,
    Work,
)  # fmt: skip
from hw_validate.bundle import Point
from hw_validate.plans.pushes import beside
from hw_validate.plans.rings import LINE, Ring, fresh, marked, padding, private, ring_work

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
    name = "_".join(str(value) for value in tags.values())
    return Point(work, f"store_{experiment}_{name}", 5, False, tags={"experiment": experiment, **tags})


def store_work(
    rows: int, pending: int, ctas: int, fresh_tiles: bool, row_bytes: int = LINE, sms: SmSet | None = None
) -> Work:
    """Write a loop that stores boxes and keeps at most `pending` of them reading shared memory."""
    place, total = fresh(ctas, rows, REGION * ROUNDS) if fresh_tiles else private(ctas, rows, REGION)
    store = TmaStore("stored", (0, place), "outgoing")
    body: tuple[Operation, ...] = (store, StoreWait(pending, read=True))
    loop = For(ROUNDS, (For(REGION, body, 1, "tile"),), 1, "round")
    program = Program(
        "stores", (Role("writer", (loop, StoreWait(0))),),
        (Buffer("outgoing", rows * LINE), *padding(rows * LINE)), (),
        (TensorMap("stored", "results", (LINE // 2, total), (row_bytes // 2, rows)),),
    )  # fmt: skip
    launch = Launch(
        (Allocation("results", total * LINE),), ctas, sms=sms or SmSet(), warm=int(not fresh_tiles)
    )
    return Work((Flow(program, launch),))


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
    loop = For(ROUNDS, (For(ring.region, body, ring.stages, "tile"),), 1, "round")
    stored = TensorMap("stored", "results", (LINE // 2, ring.total_rows), (LINE // 2, ring.rows))
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
            role = Role("writer", (For(1, (For(7, body, 1, "tile"),), 1, "round"),))
            program = Program(
                "store latency", (role,), (Buffer("outgoing", rows * LINE), *padding(rows * LINE)), (),
                (TensorMap("stored", "results", (LINE // 2, total), (LINE // 2, rows)),),
            )  # fmt: skip
            memory = (Allocation("results", total * LINE),)
            launch = Launch(memory, CTAS, skew=Affine(cluster=TURN), warm=warm)
            memory_name = "l2" if warm else "hbm"
            yield _point(Work((Flow(program, launch),)), "latency", memory=memory_name, rows=rows)


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
    body = (Wait("own", 1), Arrive("spare"), *(operations * copies))
    role = Role("role", (For(64, body, 1, "i"),), 4 if width == "warps" else 1, width)
    program = Program(
        f"slope {kind}", (role,), (Buffer("outgoing", LINE),),
        (Barrier("spare", 2**20 - 1), Barrier("own", 1)),
        (TensorMap("stored", "results", (LINE // 2, 8), (LINE // 2, 1)),),
    )  # fmt: skip
    work = Work((Flow(program, Launch((Allocation("results", 1024),), 1)),))
    return _point(work, "slope", operation=kind, width=width, copies=copies, trips=64)
