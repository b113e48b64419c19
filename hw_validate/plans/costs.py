"""What operations cost the thread that performs them: slopes inside real loops.

Two hypotheses: costs of single operations add up to a loop, or they overlap with what stands beside them. A
loop with k extra copies of an operation, k = 0, 4, 8, tells them apart: its time is a straight line in k,
and the slope is the cost. Copies act on a barrier of their own that can never complete, so they change
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import (
    Affine,
    Arrive,
    ExpectTx,
    Fence,
    For,
    Operation,
    Stamp,
    Sync,
    TmaLoad,
    Wait,
)
from hoppersim.program.work import Barrier, Buffer, Launch, Role, Width, Work, make_work
from hw_validate.bundle import Point
from hw_validate.plans.parts import NEVER, rows_of, slope_work

TRIPS = 256
COPIES = (0, 4, 8)
WIDTHS: tuple[Width, ...] = ("lane", "warp", "warps")


def points() -> list[Point]:
    """List all slope and round-trip measurements."""
    return [*_slopes(), *_round_trips(), *_loads(), *_latencies()]


def _operations() -> dict[str, tuple[Operation, int]]:
    """Give the operations to copy, by cost key stem, with the cluster size that they need."""
    found: dict[str, tuple[Operation, int]] = {
        "wait.try.hit": (Wait("spare", 1), 1),
        "wait.test.hit": (Wait("spare", 1, form="test"), 1),
        "expect_tx.local": (ExpectTx("spare", 16, arrive=False), 1),
        "expect_tx.arrive": (ExpectTx("spare", 16), 1),
        "expect_tx.remote": (ExpectTx("spare", 16, to=2, arrive=False), 2),
        "sync.warp": (Sync("warp"), 1),
        "sync.cta": (Sync("cta"), 1),
        "sync.cluster.acq_rel": (Sync("cluster"), 2),
        "sync.cluster.relaxed": (Sync("cluster", form="relaxed"), 2),
        "sync.cluster1.acq_rel": (Sync("cluster"), 1),
    }
    for release in ("cta", "cluster", "relaxed"):
        found[f"arrive.local.{release}"] = (Arrive("spare", release=release), 1)
        found[f"arrive.remote.{release}"] = (Arrive("spare", to=2, release=release), 2)
    for kind in ("mbarrier_init", "proxy_async", "acq_rel_cta", "acq_rel_cluster"):
        found[f"fence.{kind}"] = (Fence(kind), 1)
    return found


def _slopes() -> Iterator[Point]:
    for name, (operation, cluster) in _operations().items():
        for width in WIDTHS:
            if isinstance(operation, Sync) and (
                width == "lane" or (operation.scope == "warp" and width == "warps")
            ):
                continue
            for warps in (1, 4) if width == "warps" else (1,):
                for copies in COPIES:
                    yield _slope(name, operation, cluster, width, warps, copies)


def _slope(name: str, operation: Operation, cluster: int, width: Width, warps: int, copies: int) -> Point:
    role = Role("role", (operation,) * copies, warps, width)
    work = slope_work(f"slope {name}", role, TRIPS, _launch(cluster))
    tags = {
        "kind": "slope",
        "operation": name,
        "width": width,
        "warps": warps,
        "copies": copies,
        "trips": TRIPS,
    }
    return _point(work, f"slope_{name}_{width}{warps}_{copies}", tags)


def _launch(cluster: int) -> Launch:
    return Launch(grid=cluster, cluster=(cluster, 1, 1))


def _point(work: Work, label: str, tags: dict[str, object]) -> Point:
    return Point(work, label, repeats=5, verify=False, tags=tags)


def _round_trips() -> Iterator[Point]:
    """Two roles that answer each other: what an arrive takes until the waiter goes on."""
    for release in ("cta", "cluster", "relaxed"):
        for form in ("try", "test"):
            for width in ("lane", "warp"):
                yield _ping_pong(release, form, width, remote=False)
                yield _ping_pong(release, form, width, remote=True)


def _ping_pong(release: str, form: str, width: str, *, remote: bool) -> Point:
    wait = {"form": form}
    to_b, to_a = (2, 1) if remote else (None, None)
    a = (Arrive("ping", to=to_b, release=release), Wait("pong", "full", **wait))  # type: ignore[arg-type]
    b = (Wait("ping", "full", **wait), Arrive("pong", to=to_a, release=release))  # type: ignore[arg-type]
    ranks_a, ranks_b = ((0,), (1,)) if remote else ((), ())
    roles = (
        Role("a", (For(TRIPS, a, 1, "i"),), 1, width, ranks_a),  # type: ignore[arg-type]
        Role("b", (For(TRIPS, b, 1, "i"),), 1, width, ranks_b),  # type: ignore[arg-type]
    )
    barriers, launch = (Barrier("ping", 1), Barrier("pong", 1)), _launch(2 if remote else 1)
    work = make_work("ping pong", roles, barriers=barriers, launch=launch)
    place = "remote" if remote else "local"
    tags = {
        "kind": "ping_pong",
        "place": place,
        "release": release,
        "form": form,
        "width": width,
        "trips": TRIPS,
    }
    return _point(work, f"ping_pong_{place}_{release}_{form}_{width}", tags)


def _loads() -> Iterator[Point]:
    """Loads of one row in a loop that never waits for them: what issuing costs."""
    for width in ("lane", "warp"):
        for mask, cluster in ((None, 1), (1, 1), (3, 2)):
            for copies in (1, 2, 4):
                load = TmaLoad("tiles", (0, 0), "tile", "spare", mask=mask)
                body = (Wait("own", 1), *([load] * copies))
                role = Role("role", (For(64, body, 1, "i"),), 1, width, (0,))  # type: ignore[arg-type]
                work = make_work(
                    "issue", (role,), (Buffer("tile", 128),), (Barrier("spare", NEVER), Barrier("own", 1)),
                    (rows_of("tiles", "data", 8, 1),), _launch(cluster),
                )  # fmt: skip
                form = "self" if mask is None else f"multicast{cluster}"
                tags: dict[str, object] = {
                    "kind": "issue",
                    "form": form,
                    "width": width,
                    "copies": copies,
                    "trips": 64,
                }
                yield _point(work, f"issue_{form}_{width}_{copies}", tags)


def _latencies() -> Iterator[Point]:
    """One box at a time on one SM at a time: CTAs take turns by their skew."""
    for memory in ("l2", "hbm"):
        for rows in (1, 8, 32, 64, 128, 256):
            yield latency_point(rows, memory)


def latency_point(rows: int, memory: str = "l2") -> Point:
    """Time one box of `rows` 128-byte rows on each SM, alone on the chip, four times at four places."""
    boxes, ctas = 4, 132
    tile = TmaLoad("tiles", (0, Affine(cluster=boxes * 256, loops={"i": 256})), "tile", "full")
    body = (ExpectTx("full", rows * 128), tile, Stamp("issued"), Wait("full"), Stamp("arrived"))
    work = make_work(
        "latency", (Role("role", (For(boxes, body, 1, "i"),)),), (Buffer("tile", 32768),),
        (Barrier("full", 1),), (rows_of("tiles", "data", ctas * boxes * 256, rows),),
        Launch(grid=ctas, skew=Affine(cluster=12000), warm=int(memory == "l2")),
    )  # fmt: skip
    tags: dict[str, object] = {"kind": "latency", "rows": rows, "memory": memory}
    return _point(work, f"latency_{rows}_{memory}", tags)
