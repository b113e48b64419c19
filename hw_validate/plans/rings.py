"""Programs that several plans share: a ring of boxes in every CTA, in phases, with a pace and stamps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from random import Random
from typing import Literal

from msgspec.structs import replace

from hoppersim.program.canonical import work_hash
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
    Work,
)  # fmt: skip
from hw_validate.bundle import Point

LINE = 128
ALONE_ON_SM = 120 * 1024
"""Shared memory that leaves room for one CTA on an SM."""
SEED = 20270125
ASIDE_SHARE, VERIFIED_SHARE = 0.27, 0.25
Phases = tuple[tuple[int, bool], ...]
STEADY: Phases = ((6, False), (2, True), (4, False))
"""Rounds of a ring: until it runs evenly, then with stamps, then until the other CTAs are done as well."""
LOOP_CYCLES = 180
"""About what a producer's loop takes beside the pace, to spread the CTAs evenly over an interval."""


@dataclass(frozen=True)
class Ring:
    """One ring of boxes: what is loaded, how, and in which pace.

    Parameters
    ----------
    place
        Row of a box, with the loops ``round`` and ``tile``.
    total_rows
        Rows of the tensor.
    rows
        Rows of a box, 128 bytes each.
    stages, region, phases
        Stages; tiles of a round; rounds, without or with stamps. A phase but the last goes whole times
        twice around the ring.
    mode, cluster
        Every CTA for itself, or rank 0 for the cluster.
    pace
        SM cycles that the producer computes between two boxes; CTAs start evenly spread over an interval.
    """

    place: Affine
    total_rows: int
    rows: int = 128
    stages: int = 8
    region: int = 8
    phases: Phases = STEADY
    mode: Literal["unicast", "multicast"] = "unicast"
    cluster: int = 1
    pace: int = 0
    grid: int | Literal["fill"] = 132
    sms: SmSet = field(default_factory=SmSet)
    warm: int = 1

    @property
    def tiles(self) -> int:
        """Tiles of each CTA."""
        return self.region * sum(rounds for rounds, _ in self.phases)


def ring_work(ring: Ring, name: str = "ring") -> Work:
    """Write the program and the launch of a ring.

    Stamps: ``issued`` after each load and ``arrived`` after each wait, in the phases that have stamps.
    """
    tile_bytes = ring.rows * LINE
    program = Program(
        name,
        roles=(*_producers(ring), _consumer(ring)),
        buffers=(Buffer("tile", tile_bytes, ring.stages), *padding(tile_bytes * ring.stages)),
        barriers=(
            Barrier("full", 1, ring.stages),
            Barrier("free", ring.cluster if ring.mode == "multicast" else 1, ring.stages),
        ),
        maps=(TensorMap("tiles", "data", (LINE // 2, ring.total_rows), (LINE // 2, ring.rows)),),
    )
    launch = Launch(
        (Allocation("data", ring.total_rows * LINE),),
        ring.grid,
        (ring.cluster, 1, 1),
        ring.sms,
        spread_starts(ring.pace),
        warm=ring.warm,
    )
    return Work((Flow(program, launch),))


def padding(used: int) -> tuple[Buffer, ...]:
    """Give the buffer that keeps a second CTA off the SM, if `used` bytes do not already."""
    return () if used >= ALONE_ON_SM else (Buffer("padding", ALONE_ON_SM - used),)


def spread_starts(pace: int) -> int | Affine:
    """Give the start skew that spreads clusters evenly over an interval; none without a pace."""
    interval = pace + LOOP_CYCLES
    return Affine(cluster=round(0.618 * interval), wrap=interval) if pace else 0


def phased(phases: Phases, stages: int, region: int, body: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Repeat a body in phases of rounds; stamps in the body stay in phases with stamps only.

    Row operands continue from phase to phase by the step of their loop ``round``.
    """
    loops: list[Operation] = []
    first = 0
    for rounds, stamped in phases:
        here = tuple(_shifted(item, first) for item in body if stamped or not isinstance(item, Stamp))
        loops.append(For(rounds, (For(region, here, stages, "tile"),), 1, "round"))
        first += rounds
    return tuple(loops)


def _shifted(operation: Operation, rounds: int) -> Operation:
    """Let the rows of a load start so many rounds later."""
    if not isinstance(operation, TmaLoad) or rounds == 0:
        return operation
    return replace(
        operation,
        coordinates=tuple(
            part if isinstance(part, int) else _later(part, rounds) for part in operation.coordinates
        ),
    )


def _later(operand: Affine, rounds: int) -> Affine:
    base = operand.base + rounds * operand.loops.get("round", 0)
    return replace(operand, base=base % operand.wrap if operand.wrap else base)


def _producers(ring: Ring) -> tuple[Role, ...]:
    """Give the role that issues and, for a leader's multicast, the role that arms the peers' barriers."""
    multicast = ring.mode == "multicast"
    mask = 2**ring.cluster - 1 if multicast else None
    arm = ExpectTx("full", ring.rows * LINE)
    load = TmaLoad("tiles", (0, ring.place), "tile", "full", mask=mask)
    pace = (Compute(ring.pace),) if ring.pace else ()
    body: tuple[Operation, ...] = (Wait("free", "free"), arm, load, Stamp("issued"), *pace)
    producer = phased(ring.phases, ring.stages, ring.region, body)
    if not multicast or ring.cluster == 1:
        return (Role("producer", producer),)
    arms = phased(ring.phases, ring.stages, ring.region, (Wait("full", "free"), arm))
    peers = tuple(range(1, ring.cluster))
    return (Role("leader", producer, ranks=(0,)), Role("arm", arms, ranks=peers))


def _consumer(ring: Ring) -> Role:
    to = 1 if ring.mode == "multicast" and ring.cluster > 1 else None
    body = (Wait("full"), Stamp("arrived"), Arrive("free", to=to))
    return Role("consumer", phased(ring.phases, ring.stages, ring.region, body))


def private(ctas: int, rows: int, region: int = 8) -> tuple[Affine, int]:
    """Place `region` tiles of its own for each cluster, read again in every round: operand and total rows."""
    return Affine(cluster=region * rows, loops={"tile": rows}), ctas * region * rows


def fresh(ctas: int, rows: int, tiles: int, region: int = 8) -> tuple[Affine, int]:
    """Place a stretch of `tiles` tiles for each cluster, each read once: operand and total rows."""
    loops = {"tile": rows, "round": region * rows}
    return Affine(cluster=tiles * rows, loops=loops), ctas * tiles * rows


def marked(points: Iterable[Point], *, verified: bool = True) -> list[Point]:
    """Set a quarter of the points aside and, if wanted, verify the data of a fifth, by a draw for each.

    The draw depends on the seed and on the work's hash alone, so it stays when points are added.
    """
    found = []
    for point in points:
        source = Random(f"{SEED} {work_hash(point.work)}")
        aside, checked = source.random() < ASIDE_SHARE, source.random() < VERIFIED_SHARE
        tags = {**point.tags, "set_aside": "random" if aside else ""}
        found.append(with_fields(point, tags=tags, verify=verified and checked))
    return found
