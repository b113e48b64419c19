"""What the plans share: buffers, tensors of rows, loops in phases, places of tiles, small works, points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as with_fields
from random import Random
from typing import Any, Literal

from msgspec.structs import replace

from hoppersim.program.builder_parts import ALONE_ON_SM
from hoppersim.program.canonical import work_hash
from hoppersim.program.operations import Affine, Arrive, ExpectTx, For, Operation, Stamp, TmaLoad, Wait
from hoppersim.program.work import Barrier, Buffer, Launch, Role, TensorMap, Work, make_work
from hw_validate.bundle import Point

LINE = 128
"""Bytes of a line, and of a row where nothing else is said."""
MIB = 2**20
MOST_SHARED = 200 * 1024
"""Shared memory that rings of boxes may take in drawn points."""
NEVER = 2**20 - 1
"""Arrivals of a barrier that no loop completes."""
SEED = 20270125
ASIDE_SHARE, VERIFIED_SHARE = 0.27, 0.25
Bytes = Literal[4, 8, 16]
"""Bytes of one access of a thread."""
Phases = tuple[tuple[int, bool], ...]
"""Rounds of a loop, without or with stamps."""
STEADY: Phases = ((6, False), (2, True), (4, False))
"""Rounds of a ring: until it runs evenly, then with stamps, then until the other CTAs are done as well."""
LOOP_CYCLES = 180
"""About what a producer's loop takes beside the pace, to spread the CTAs evenly over an interval."""


def padding(used: int) -> tuple[Buffer, ...]:
    """Give the buffer that keeps a second CTA off the SM, if `used` bytes do not already."""
    return () if used >= ALONE_ON_SM else (Buffer("padding", ALONE_ON_SM - used),)


def alone(name: str, size: int, stages: int = 1) -> tuple[Buffer, ...]:
    """Give a buffer of stages of `size` bytes, and the padding that keeps a second CTA off the SM."""
    return (Buffer(name, size, stages), *padding(size * stages))


def rows_of(name: str, allocation: str, total: int, rows: int) -> TensorMap:
    """Describe a tensor of `total` rows of one line, whose box is `rows` of them."""
    return TensorMap(name, allocation, (LINE // 2, total), (LINE // 2, rows))


def rounds_of(rounds: int, region: int, body: tuple[Operation, ...], stages: int = 1) -> For:
    """Repeat a body for each tile of a region, in rounds."""
    return For(rounds, (For(region, body, stages, "tile"),), 1, "round")


def phased(phases: Phases, stages: int, region: int, body: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Repeat a body in phases of rounds; stamps in the body stay in phases with stamps only.

    Row operands continue from phase to phase by the step of their loop ``round``.
    """
    loops: list[Operation] = []
    first = 0
    for rounds, stamped in phases:
        here = tuple(_shifted(item, first) for item in body if stamped or not isinstance(item, Stamp))
        loops.append(rounds_of(rounds, region, here, stages))
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


def spread_starts(pace: int) -> int | Affine:
    """Give the start skew that spreads clusters evenly over an interval; none without a pace."""
    interval = pace + LOOP_CYCLES
    return Affine(cluster=round(0.618 * interval), wrap=interval) if pace else 0


def private(ctas: int, rows: int, region: int = 8) -> tuple[Affine, int]:
    """Place `region` tiles of its own for each cluster, read again in every round: operand and total rows."""
    return Affine(cluster=region * rows, loops={"tile": rows}), ctas * region * rows


def fresh(ctas: int, rows: int, tiles: int, region: int = 8) -> tuple[Affine, int]:
    """Place a stretch of `tiles` tiles for each cluster, each read once: operand and total rows."""
    loops = {"tile": rows, "round": region * rows}
    return Affine(cluster=tiles * rows, loops=loops), ctas * tiles * rows


def ring_barriers(stages: int, frees: int = 1) -> tuple[Barrier, ...]:
    """Give the barriers of a ring; a stage is free after so many arrivals."""
    return Barrier("full", 1, stages), Barrier("free", frees, stages)


def box_ring(
    name: str,
    loads: tuple[TmaLoad, ...],
    boxes: TensorMap,
    ring: tuple[int, int, int],
    phases: Phases,
    launch: Launch,
    landed: int | None = None,
) -> Work:
    """Write a ring of stages that a producer fills with loads and a consumer frees.

    Stamps: ``issued`` after the loads of a stage and ``arrived`` after its wait, in phases with stamps.

    Parameters
    ----------
    name, phases, launch
        Name of the program; its rounds; how it is started.
    loads, boxes
        Loads of one stage into the buffer ``tile``, completing on ``full``; the tensor that they read.
    ring
        Bytes of a stage, stages, and tiles of a round.
    landed
        Bytes that the loads of a stage bring, where they do not fill it.
    """
    size, stages, region = ring
    armed = ExpectTx("full", size if landed is None else landed)
    bodies: dict[str, tuple[Operation, ...]] = {
        "producer": (Wait("free", "free"), armed, *loads, Stamp("issued")),
        "consumer": (Wait("full"), Stamp("arrived"), Arrive("free")),
    }
    roles = tuple(Role(role, phased(phases, stages, region, body)) for role, body in bodies.items())
    return make_work(name, roles, alone("tile", size, stages), ring_barriers(stages), (boxes,), launch)


def slope_work(
    name: str,
    role: Role,
    trips: int,
    launch: Launch,
    buffers: tuple[Buffer, ...] = (),
    maps: tuple[TensorMap, ...] = (),
) -> Work:
    """Write a loop of a wait that passes, an arrival that completes nothing, and what a role does beside."""
    loop = For(trips, (Wait("own", 1), Arrive("spare"), *role.body))
    barriers = (Barrier("spare", NEVER), Barrier("own", 1))
    return make_work(name, (replace(role, body=(loop,)),), buffers, barriers, maps, launch)


def named(
    work: Work, prefix: str, tags: dict[str, Any], repeats: int = 5, *, verify: bool = False, **more: Any
) -> Point:
    """Make a point that is called by its prefix and the values of its tags; `more` are tags, not named."""
    name = "_".join((prefix, *(str(value) for value in tags.values())))
    return Point(work, name, repeats, verify, tags={**more, **tags})


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
