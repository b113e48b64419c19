"""Private streams: every reader goes round and round over tiles that nobody else reads.

A sweep over shared memory lets readers that lag behind each other merge in the L2 request coalescer, so it
cannot tell a port from a merge. Here nothing can merge unless the program says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec.structs import replace

from hoppersim.program.operations import Affine, For, Operation, TmaLoad
from hoppersim.program.work import Flow, Launch, SmSet, Work
from hw_validate.bundle import Point
from hw_validate.plans.parts import LINE, box_ring, named, rows_of

REGION = 8
ROUNDS = 16
CTAS = 132


@dataclass(frozen=True)
class Stream:
    """Who reads what: each CTA (with `shared`, each cluster) its own `region` tiles `rounds` times.

    With `lines`, a tile is that many rows only, but lies as far from the next as a whole one.
    """

    rows: int = 256
    stages: int = 6
    region: int = REGION
    rounds: int = ROUNDS
    cluster: int = 1
    sms: SmSet = field(default_factory=SmSet)
    grid: int | Literal["fill"] = "fill"
    readers: int = 160
    shared: bool = False
    lines: int = 0


def private_stream(stream: Stream) -> Work:
    """Write the program and the launch of a stream."""
    step, share = stream.region * stream.rows, 1 if stream.shared else stream.cluster
    own = Affine(cluster=step * share, rank=0 if stream.shared else step, loops={"tile": stream.rows})
    count = stream.lines or stream.rows
    load = TmaLoad("tiles", (0, own), "tile", "full")
    return box_ring(
        "private stream",
        (load,),
        rows_of("tiles", "data", stream.readers * step, count),
        (stream.rows * LINE, stream.stages, stream.region),
        ((stream.rounds, False),),
        Launch((), stream.grid, (stream.cluster, 1, 1), stream.sms),
        landed=count * LINE,
    )


def points() -> list[Point]:
    """List the points of the experiments with private streams."""
    return [*_neighbours(), *_ports(), *_chip(), *_skew()]


def _point(work: Work, experiment: str, **tags: Any) -> Point:
    verify = experiment in ("private_all", "skew")
    return named(work, experiment, tags, 3, verify=verify, experiment=experiment)


def _neighbours() -> Iterator[Point]:
    for group in range(8):
        for lone in range(8, 14):
            work = private_stream(Stream(sms=SmSet(gpcs=(group, lone)), rounds=8))
            yield _point(work, "private_neighbours", group=group, lone=lone)
    for group in range(8):
        for other in range(group + 1, 8):
            work = private_stream(Stream(sms=SmSet(gpcs=(group, other)), rounds=8))
            yield _point(work, "private_pairs", group=group, other=other)


def _ports() -> Iterator[Point]:
    for group in (0, 1, 4, 5, 7):
        for count in (1, 2, 4, 6, 7, 8, 9, 10, 12, 14, 16):
            work = private_stream(Stream(sms=SmSet(gpcs=(group,), per_gpc=count)))
            yield _point(work, "private_port", group=group, count=count)
    for cluster in (2, 4, 8, 16):
        work = private_stream(Stream(sms=SmSet(gpcs=(1,)), cluster=cluster))
        yield _point(work, "private_cluster", group=1, cluster=cluster)


def _chip() -> Iterator[Point]:
    for count in (1, 2, 4, 5, 6, 8, 10, 12, 14, 16):
        work = private_stream(Stream(sms=SmSet(gpcs=tuple(range(8)), per_gpc=count)))
        yield _point(work, "private_chip", count=count)
    for stages in (1, 2, 4, 6):
        for region in (1, 2, 4, 8):
            for rows in (256, 64):
                work = private_stream(
                    Stream(rows=rows, stages=stages, region=region, rounds=128 // region, grid=CTAS)
                )
                yield _point(work, "private_all", stages=stages, region=region, rows=rows)


def _skew() -> Iterator[Point]:
    """Two readers of the same tiles, one later than the other, alone and all over the chip."""
    for name, kind in (("alone", {"grid": 2}), ("chip", {"grid": CTAS})):
        for skew in (0, 50, 100, 200, 300, 400, 600, 800, 1200, 1600, 2400, 4000):
            for stages in (1, 4):
                work = private_stream(Stream(cluster=2, shared=True, stages=stages, rows=128, **kind))  # type: ignore[arg-type]
                flow = work.flows[0]
                late = replace(flow, launch=replace(flow.launch, skew=Affine(rank=skew)))
                yield _point(Work((late,)), "skew", where=name, skew=skew, stages=stages)
    for skew in (0, 100, 200, 400, 800, 1600):
        for place, gpcs in (("same_side", (1, 2)), ("other_side", (1, 4))):
            work = private_stream(Stream(rows=128, stages=4, sms=SmSet(gpcs=gpcs, per_gpc=1), readers=2))
            flow = work.flows[0]
            load_all = replace(flow, launch=replace(flow.launch, skew=Affine(cluster=skew)))
            same = same_tiles(load_all)
            yield _point(Work((same,)), "skew_gpcs", place=place, skew=skew)


def same_tiles(flow: Flow) -> Flow:
    """Let all clusters read the tiles of the first."""
    text = flow.program

    def strip(operation: Operation) -> Operation:
        if isinstance(operation, For):
            return replace(operation, body=tuple(strip(item) for item in operation.body))
        if isinstance(operation, TmaLoad):
            plain = tuple(
                replace(item, cluster=0) if isinstance(item, Affine) else item
                for item in operation.coordinates
            )
            return replace(operation, coordinates=plain)
        return operation

    roles = tuple(replace(role, body=tuple(strip(item) for item in role.body)) for role in text.roles)
    return replace(flow, program=replace(text, roles=roles))
