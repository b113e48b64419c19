"""Where lines wait under load, and until when a late read joins one: latencies of few lines beside streams.

Queues. Hypothesis A: a GPC's port has a queue of some hundred lines, and behind it lines wait in front of the
slices, where lines for other GPCs wait as well. B: all that a GPC has in flight waits in queues of its own. A
listener in another GPC has an SM and a port of its own: what its lines take longer is what waits in front of
the slices. Its lines are a kilobyte apart, each in other slices, so how their waits are spread tells over how
many slices the queue is (`listen`). Which GPCs share a side differs from part to part: each of them listens.

Joining. Readers begin together and each asks for the same lines later than the one before. A read that joins
an earlier one has its data with it, so the round takes no longer; one that is answered apart adds its lag
(`echo`). Alone, beside streams of its own GPC, and beside streams of other GPCs.
"""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import (
    Affine,
    Arrive,
    Compute,
    ExpectTx,
    For,
    Operation,
    Stamp,
    TmaLoad,
    Wait,
)
from hoppersim.program.work import Barrier, Buffer, Flow, Launch, Role, SmSet, Work, make_work
from hw_validate.bundle import Point
from hw_validate.plans.parts import LINE, named, ring_barriers, rounds_of, rows_of
from hw_validate.plans.streams import Stream, private_stream

TRIPS = 16
"""Rounds of listeners, which all keep their stamps; as many run before."""
STREAMED = 12 << 20
"""Bytes that each SM of a stream reads, so that it outlasts the listeners."""
REGION = 8
IN_FLIGHT = ((128, 4), (128, 8), (192, 8))
"""Rows and stages of streams: 64, 128 and 192 KB."""
BLOCK, PAIR = 8, 2
"""Lines of a kilobyte, which lies in two slices, and of the pairs that alternate between them."""
SIZE = 16
"""CTAs of the cluster that fills GPC 1, which has as many SMs."""


def points() -> list[Point]:
    """List the points."""
    return [*_listen(), *_echo()]


def _listen() -> Iterator[Point]:
    for streams in ((1,), (1, 2), (1, 2, 3)):
        for rows, stages in IN_FLIGHT:
            for gpc in (gpc for gpc in range(8) if gpc not in streams):
                for half in (0, PAIR):
                    work = Work((_stream(streams, rows, stages), _listener(gpc, half)))
                    tags = {"streams": len(streams), "rows": rows, "stages": stages, "gpc": gpc, "half": half}
                    yield named(work, "listen", tags, 1, experiment="listen")


def _listener(gpc: int, half: int) -> Flow:
    """Read line after line, a kilobyte apart, in the first or second slice of each kilobyte."""
    loops: tuple[Operation, ...] = ()
    for first in (0, TRIPS):
        row = Affine(base=first * BLOCK + half, loops={"trip": BLOCK})
        body: tuple[Operation, ...] = (
            ExpectTx("landed", LINE),
            TmaLoad("few", (0, row), "lines", "landed"),
            Wait("landed"),
        )
        loops += (For(TRIPS, (*body, Stamp("round")) if first else body, 1, "trip"),)
    return make_work(
        "listener", (Role("leader", loops),), (Buffer("lines", LINE),), (Barrier("landed", 1),),
        (rows_of("few", "few", 2 * TRIPS * BLOCK, 1),), Launch((), 1, (1, 1, 1), SmSet(gpcs=(gpc,))),
    ).flows[0]  # fmt: skip


def _echo() -> Iterator[Point]:
    for beside in ("nothing", "gpc", "side"):
        for rows, stages in ((128, 4), (192, 8)) if beside != "nothing" else ((0, 0),):
            for readers, lines, lags in (
                (2, 1, (0, 25, 50, 100, 200, 400, 800)),
                (2, 32, (0, 50, 200, 400)),
                (4, 1, (0, 25, 100, 200)),
            ):
                for lag in lags:
                    streams = (rows, stages) if beside == "gpc" else None
                    flow = _readers(readers, lines, lag, (1,), streams)
                    flows = (flow,) if beside != "side" else (_stream((2, 3), rows, stages), flow)
                    tags = {"beside": beside, "rows": rows, "stages": stages}
                    tags |= {"readers": readers, "lines": lines, "lag": lag}
                    yield named(Work(flows), "echo", tags, 3, experiment="echo")


def _stream(gpcs: tuple[int, ...], rows: int, stages: int) -> Flow:
    rounds = STREAMED // (REGION * rows * LINE)
    sms = SmSet(gpcs=gpcs)
    return private_stream(Stream(rows=rows, stages=stages, rounds=rounds, readers=64, sms=sms)).flows[0]


def _readers(
    readers: int, lines: int, lag: int, gpcs: tuple[int, ...], streams: tuple[int, int] | None = None
) -> Flow:
    """Let the first ranks of a cluster read the same lines, each `lag` cycles later than the one before.

    With `streams`, the others of a cluster of 16 stream beside it, with such rows and stages.
    """
    rows, stages = streams or (0, 1)
    size = SIZE if streams else readers
    roles = [_reader(rank, readers, lines, lag) for rank in range(readers)]
    barriers = [Barrier("start", 1), Barrier("done", readers), Barrier("landed", 1)]
    buffers, maps = [Buffer("lines", lines * LINE)], [rows_of("few", "few", 2 * TRIPS * lines, lines)]
    if streams:
        roles += _streamers(range(readers, SIZE), rows, stages)
        barriers += ring_barriers(stages)
        buffers.append(Buffer("tile", rows * LINE, stages))
        maps.append(rows_of("tiles", "data", SIZE * REGION * rows, rows))
    launch = Launch((), size, (size, 1, 1), SmSet(gpcs=gpcs))
    return make_work("readers", tuple(roles), tuple(buffers), tuple(barriers), tuple(maps), launch).flows[0]


def _reader(rank: int, readers: int, lines: int, lag: int) -> Role:
    everyone = 2**readers - 1
    body: list[Operation] = [Arrive("start", to=everyone, release="cluster")] if rank == 0 else []
    body += [Wait("start"), *([Compute(rank * lag)] if rank * lag else []), ExpectTx("landed", lines * LINE)]
    loops: tuple[Operation, ...] = ()
    for first in (0, TRIPS):
        row = Affine(base=first * lines, loops={"trip": lines})
        load = TmaLoad("few", (0, row), "lines", "landed")
        rest: list[Operation] = [Wait("landed"), Arrive("done", to=1, release="cluster")]
        if rank == 0:
            rest += [Wait("done"), *([Stamp("round")] if first else [])]
        loops += (For(TRIPS, (*body, load, *rest), 1, "trip"),)
    return Role("leader" if rank == 0 else f"follower{rank}", loops, 1, "lane", (rank,))


def _streamers(ranks: range, rows: int, stages: int) -> list[Role]:
    row = Affine(rank=REGION * rows, loops={"tile": rows})
    bodies: dict[str, tuple[Operation, ...]] = {
        "producer": (
            Wait("free", "free"),
            ExpectTx("full", rows * LINE),
            TmaLoad("tiles", (0, row), "tile", "full"),
        ),
        "consumer": (Wait("full"), Arrive("free")),
    }
    rounds = STREAMED // (REGION * rows * LINE)
    return [
        Role(name, (rounds_of(rounds, REGION, body, stages),), 1, "lane", tuple(ranks))
        for name, body in bodies.items()
    ]
