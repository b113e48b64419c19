"""What operations between SMs, reads of shared memory, stamps and wide meetings cost: slopes and round trips.

Hypothesis A: an operation costs the issuing thread a fixed time, whatever its bytes. Hypothesis B: it costs
time for each access that a thread makes. Slopes over k copies in a real loop, at two or three sizes and at
all widths of a role, tell them apart (as in `costs`, which has the hypotheses of the slopes themselves).

One way of a small copy, of an asynchronous store and of a store with an arrival behind it: half of the round
trip of two CTAs that answer each other. Hypothesis A: all take the network's time alone. Hypothesis B: the
copy engine adds a time of its own, and the arrival that follows a store a fence.

Answer: a fixed time for one access a thread, then the 21.3 B/cycle of the fabric, so both in turn. A bulk
copy of 16 bytes takes 10 cycles more than an arrival alone (159 against 149), st.async 17; an arrival behind
a store takes 178, and 488 with release at cluster scope: the fence, not the network. Meetings of warps cost
12 cycles and 2 more a warp; a cluster sync of 32 warps takes 757.
"""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import (
    Arrive,
    BulkCopy,
    ExpectTx,
    For,
    LocalRead,
    Operation,
    Release,
    RemoteLoad,
    RemoteStore,
    Stamp,
    StAsync,
    Sync,
    Wait,
)  # fmt: skip
from hoppersim.program.work import Barrier, Buffer, Launch, Role, Width, Work, make_work
from hw_validate.bundle import Point
from hw_validate.plans.parts import Bytes, named, slope_work

TRIPS = 32
STAMPED_TRIPS = 8
"""Only the first 64 times of a stamp are written."""
BUFFER = 16384
PING_PONGS = 256
Team = tuple[Width, int]
"""Width of a role and its warps."""
ROLES: tuple[Team, ...] = (("lane", 1), ("warp", 1), ("warps", 4), ("warps", 16))
RELEASES: tuple[Release, ...] = ("relaxed", "cta", "cluster")
ASYNCHRONOUS: tuple[tuple[int, Bytes, Team], ...] = (
    (4, 4, ("lane", 1)),
    (8, 8, ("lane", 1)),
    (16, 16, ("lane", 1)),
    (512, 16, ("warp", 1)),
    (2048, 16, ("warps", 4)),
    (8192, 16, ("warps", 4)),
)
"""Bytes of a store, bytes of a thread's access, and who stores."""
WIDE: tuple[Bytes, ...] = (4, 16)


def points() -> list[Point]:
    """List all slopes and round trips."""
    return [*_slopes(), *_reads(), *_meetings(), *_round_trips()]


def _launch(cluster: int) -> Launch:
    return Launch((), cluster, (cluster, 1, 1))


def _point(work: Work, kind: str, **tags: object) -> Point:
    return named(work, kind, tags, kind=kind)


def _slope(name: str, operation: Operation | None, role: Team, copies: int, cluster: int = 2,
           size: int = BUFFER, trips: int = TRIPS) -> Point:  # fmt: skip
    """Copy an operation into a loop; its time grows by what each copy costs."""
    width, warps = role
    added = (operation,) * copies if operation is not None else ()
    buffers = (Buffer("tile", size), Buffer("other", size))
    issuer = Role("role", added, warps, width, (0,) if cluster > 1 else ())
    work = slope_work(f"slope {name}", issuer, trips, _launch(cluster), buffers)
    tags = {"operation": name, "width": width, "warps": warps, "copies": copies, "trips": trips}
    return _point(work, "fabric_slope", **tags)


def _slopes() -> Iterator[Point]:
    """Operations that go to a peer, and stamps; one access a thread, of 4 and of 16 bytes."""
    for role in ROLES:
        threads = 1 if role[0] == "lane" else 32 * role[1]
        yield _slope("nothing", None, role, 0)
        yield _slope("nothing", None, role, 0, trips=STAMPED_TRIPS)
        for name, operation in _operations(threads):
            for copies in (4, 8):
                yield _slope(name, operation, role, copies)
        for copies in (4, 8):
            yield _slope("stamp", Stamp("here"), role, copies, trips=STAMPED_TRIPS)


def _operations(threads: int) -> Iterator[tuple[str, Operation]]:
    yield "bulk_copy 16", BulkCopy("tile", "other", 16, 1, "spare")
    for width in WIDE:
        once = threads * width
        yield f"remote_ld {width}", RemoteLoad("tile", 1, once, width, 1)
        yield f"remote_st {width}", RemoteStore("tile", 1, once, width, 1)
        if once <= 2048:
            yield f"st_async {width}", StAsync("tile", 1, once, "spare", width)
    yield "remote_ld 16x4", RemoteLoad("tile", 1, min(BUFFER, threads * 64), 16, 4)
    yield "remote_st 16x4", RemoteStore("tile", 1, min(BUFFER, threads * 64), 16, 4)


def _reads() -> Iterator[Point]:
    """Reads of own shared memory: a whole buffer of some size, by a warp, by 4 and by 16."""
    for size in (512, 2048, 8192, 16384):
        for warps in (1, 4, 16):
            role: Team = ("warps", warps)
            for width in WIDE:
                for copies in (0, 2, 4):
                    read = LocalRead("tile", 1, width)
                    if copies or width == 16:
                        name = f"local_read {size} {width}" if copies else f"nothing {size}"
                        yield _slope(name, read, role, copies, 1, size)


def _meetings() -> Iterator[Point]:
    """Meetings of many warps: of a role, of the CTA, of the cluster."""
    for warps in (2, 4, 8, 16, 32):
        role: Team = ("warps", warps)
        for name, sync in (
            ("role", Sync("role")),
            ("cta", Sync("cta")),
            ("cluster", Sync("cluster")),
            ("cluster relaxed", Sync("cluster", "relaxed")),
        ):
            for copies in (0, 4, 8):
                if copies or name == "role":
                    yield _meeting(name, sync, role, copies)


def _meeting(name: str, sync: Sync, role: Team, copies: int) -> Point:
    width, warps = role
    meeting = Role("role", (sync,) * copies, warps, width)
    work = slope_work(f"meeting {name}", meeting, TRIPS, _launch(2))
    tags = {"operation": f"sync {name}" if copies else "nothing", "warps": warps, "copies": copies}
    return _point(work, "meeting", **tags, trips=TRIPS)


def _round_trips() -> Iterator[Point]:
    for size in (16, 128, 512, 1024, 4096, 16384):
        copies = (BulkCopy("out", "in", size, 1, "ping"), BulkCopy("out", "in", size, 0, "pong"))
        yield _ping_pong("bulk_copy", copies, size, ("lane", 1))
    for size, width, role in ASYNCHRONOUS:
        stores = (StAsync("in", 1, size, "ping", width), StAsync("in", 0, size, "pong", width))
        yield _ping_pong("st_async", stores, size, role)
    for size, width, role in (ASYNCHRONOUS[0], ASYNCHRONOUS[3]):
        for release in RELEASES:
            ping: tuple[Operation, ...] = (RemoteStore("in", 1, size, width, 1), Arrive("ping", 2, release))
            pong: tuple[Operation, ...] = (RemoteStore("in", 0, size, width, 1), Arrive("pong", 1, release))
            yield _pair(f"remote_st {release}", (*ping, Wait("pong")), (Wait("ping"), *pong), size, role)


def _ping_pong(name: str, moves: tuple[Operation, ...], size: int, role: Team) -> Point:
    """Let two CTAs send each other bytes that complete on a barrier, each after the other's have come."""
    ping, pong = (ExpectTx("ping", size), Wait("ping")), (ExpectTx("pong", size), Wait("pong"))
    first = (pong[0], moves[0], pong[1])
    return _pair(name, first, (*ping, moves[1]), size, role)


def _pair(
    name: str, first: tuple[Operation, ...], second: tuple[Operation, ...], size: int, role: Team
) -> Point:
    width, warps = role
    work = make_work(
        "answer",
        (
            Role("a", (For(PING_PONGS, first),), warps, width, (0,)),
            Role("b", (For(PING_PONGS, second),), warps, width, (1,)),
        ),
        (Buffer("out", BUFFER), Buffer("in", BUFFER)),
        (Barrier("ping", 1), Barrier("pong", 1)),
        launch=_launch(2),
    )
    return _point(work, "round_trip", operation=name, bytes=size, width=width, trips=PING_PONGS)
