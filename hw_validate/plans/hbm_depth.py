"""HBM with few bytes in flight: why loops see 150 to 300 cycles more than a box alone does.

Two simplest hypotheses for each suspect, and the measurement that separates them:

- order of tiles: the time depends on bytes in flight alone, or on which rows and banks they hit. Stretches
  of a CTA's own, tiles interleaved over the CTAs, and scattered tiles, at equal bytes.
- translation: the reach of the TLBs covers all footprints, or tiles in new pages wait. The same tiles spread
  over 256 MB, 2 GB and one page each; and a chase over 4 to 4,096 pages of lines that the L2 holds.
- dirty lines: a cold L2 is an empty one, or it holds what the flush wrote, which each miss has to write
  back. The same loop after the flush alone, and after every CTA has read enough other data to push that out.
- depth: single boxes in a loop take what they take alone (then the loop's overlap is wrong), or more. Loops
  of 1 to 8 stages on 1 to 132 SMs, from HBM and from the L2, and with stamps.

Answer: dirty lines. The flush leaves an L2 full of lines that misses have to write back; the same loops
after a flush that reads other data take over the L2 what a box alone takes (430 to 600 cycles, on 1 to 66
SMs), and the chip reads 4.5 instead of 4.1 TB/s. The points behind a sweep show it too, but start apart from
each other and so say less than a clean flush does. Order makes no difference (3 %), translation none (a
chase takes 372 to 378 cycles on 8 to 8,448 pages); steps of a page and a little more can pile up on channels
(20 %).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Literal

from msgspec.structs import replace

from hoppersim.program.operations import (
    Affine,
    Compute,
    ExpectTx,
    For,
    Operand,
    Operation,
    Stamp,
    TmaLoad,
    Wait,
)  # fmt: skip
from hoppersim.program.work import Allocation, Barrier, Buffer, Flow, SmSet, Work
from hw_validate.bundle import Point
from hw_validate.plans.parts import LINE, MIB, MOST_SHARED, Phases, fresh, named, private, rows_of
from hw_validate.plans.rings import Ring, ring_work

PAGE_ROWS = 2 * MIB // LINE
SMS = (1, 4, 16, 66, 132)
ROWS = (8, 32, 64, 128, 256)
STAGES = (1, 2, 4, 8)
SWEEP_ROWS = 256
SETTLE = 40_000
TURN = 16_000
Order = Literal["stretch", "interleaved", "scattered"]


def points() -> list[Point]:
    """List the points."""
    return [*_depths(), *_orders(), *_footprints(), *_chases(), *_stamped(), *_dirt(), *_alone()]


def _rounds(rows: int) -> int:
    """Rounds of eight tiles that one CTA reads."""
    return 32 if rows <= 32 else 16 if rows <= 128 else 8


def _combinations(
    sms: tuple[int, ...], rows: tuple[int, ...], stages: tuple[int, ...]
) -> Iterator[tuple[int, int, int]]:
    """Yield SMs, rows and stages that fit in shared memory."""
    for count in sms:
        for height in rows:
            for depth in stages:
                if depth * height * LINE <= MOST_SHARED:
                    yield count, height, depth


def _ring(place: tuple[Affine, int], sms: int, rows: int, stages: int, phases: Phases, memory: str) -> Ring:
    region_sms = SmSet(gpcs=(1,), per_gpc=16) if sms == -16 else SmSet()
    grid = abs(sms)
    return Ring(*place, rows, stages, phases=phases, grid=grid, sms=region_sms, warm=int(memory == "l2"))


def _point(work: Work, experiment: str, **tags: object) -> Point:
    return named(work, experiment, tags, experiment=experiment)


def _depths() -> Iterator[Point]:
    """The grid of depths, from HBM (own stretches) and from the L2 (a region of its own for each CTA)."""
    for memory in ("hbm", "l2"):
        for sms, rows, stages in _combinations((*SMS, -16), ROWS, STAGES):
            if memory == "l2" and (sms in (4, 66) or stages == 8):
                continue
            phases = ((_rounds(rows), False),)
            place = (
                fresh(abs(sms), rows, 8 * _rounds(rows)) if memory == "hbm" else private(abs(sms), rows, 8)
            )
            ring = _ring(place, sms, rows, stages, phases, memory)
            yield _point(
                ring_work(ring), "depth", memory=memory, sms=sms, rows=rows, stages=stages, tiles=ring.tiles
            )


def ordered(order: Order, ctas: int, rows: int, tiles: int) -> tuple[Affine, int]:
    """Place tiles, each read once, in one of three orders: operand and total rows."""
    total = ctas * tiles
    match order:
        case "stretch":
            first, step = tiles, 1
        case "interleaved":
            first, step = 1, ctas
        case "scattered":
            step = round(0.618 * total)
            while gcd(step, total) > 1:
                step += 1
            first = tiles * step % total
    loops = {"tile": step * rows, "round": 8 * step % total * rows}
    return Affine(cluster=first * rows, loops=loops, wrap=total * rows), total * rows


def _orders() -> Iterator[Point]:
    for order in ("stretch", "interleaved", "scattered"):
        for sms, rows, stages in _combinations((16, 132), (8, 32, 128, 256), (1, 4)):
            rounds = _rounds(rows)
            place = ordered(order, sms, rows, 8 * rounds)
            ring = _ring(place, sms, rows, stages, ((rounds, False),), "hbm")
            yield _point(ring_work(ring), "order", order=order, sms=sms, rows=rows, stages=stages)


def spread(ctas: int, rows: int, tiles: int, footprint: int, odd: int = 8) -> tuple[Affine, int]:
    """Place tiles in stretches, with gaps, so that they cover a footprint [B].

    A footprint of 0 means a page for each tile, and `odd` rows more from one to the next.
    """
    total = ctas * tiles
    step = footprint // LINE // rows // total * rows if footprint else PAGE_ROWS + odd
    loops = {"tile": step, "round": 8 * step}
    return Affine(cluster=tiles * step, loops=loops), total * step + rows


def _footprints() -> Iterator[Point]:
    for footprint in (256 * MIB, 2048 * MIB, 0):
        for sms, rows, stages in _combinations((1, 16, 132), (8, 64, 256), (1, 4)):
            rounds = 8
            if footprint and sms * 8 * rounds * rows * LINE > footprint:
                continue
            place = spread(sms, rows, 8 * rounds, footprint)
            ring = _ring(place, sms, rows, stages, ((rounds, False),), "hbm")
            tags = {"footprint": footprint // MIB or "pages", "sms": sms, "rows": rows, "stages": stages}
            yield _point(ring_work(ring), "footprint", **tags)

    for odd in (40, 1320, 4104):
        for rows in (64, 256):
            place = spread(132, rows, 64, 0, odd)
            ring = _ring(place, 132, rows, 1, ((8, False),), "hbm")
            yield _point(ring_work(ring), "footprint", footprint="pages", odd=odd, rows=rows)


def _chases() -> Iterator[Point]:
    """One line of each of many pages, again and again: L2 hits, so what grows with the pages is translation.

    All SMs go through the same pages, or each through pages of its own.
    """
    for sms, most in ((1, 4096), (132, 2048)):
        for pages in (2**power for power in range(3, most.bit_length())):
            rounds = max(2, 2048 // pages)
            step, own = PAGE_ROWS + 33, 37
            place = Affine(cluster=own, loops={"tile": step})
            ring = Ring(place, pages * step + own * sms, 1, 1, pages, ((rounds, False),), grid=sms)
            yield _point(ring_work(ring), "chase", sms=sms, pages=pages, tiles=rounds * pages)
    for pages in (8, 16, 32, 64):
        step = PAGE_ROWS + 33
        place = Affine(cluster=pages * step, loops={"tile": step})
        ring = Ring(place, 132 * pages * step, 1, 1, pages, ((2048 // pages, False),))
        yield _point(ring_work(ring), "chase_own", sms=132, pages=132 * pages, tiles=2048)


def _stamped() -> Iterator[Point]:
    phases: Phases = ((4, False), (2, True), (2, False))
    for memory in ("hbm", "l2"):
        for sms, rows, stages in _combinations((1, 16, 132), (8, 64, 256), (1, 4)):
            place = fresh(sms, rows, 64) if memory == "hbm" else private(sms, rows)
            ring = _ring(place, sms, rows, stages, phases, memory)
            yield _point(ring_work(ring), "stamped", memory=memory, sms=sms, rows=rows, stages=stages)


def _dirt() -> Iterator[Point]:
    """The loop behind a sweep over other data, long (clean L2) or short (what the flush left)."""
    for swept in (4, 256 * MIB):
        for sms, rows, stages in _combinations((1, 16, 132), (8, 64, 256), (1, 4)):
            rounds = _rounds(rows)
            ring = _ring(fresh(sms, rows, 8 * rounds), sms, rows, stages, ((rounds, False),), "hbm")
            work = after_sweep(ring_work(ring), _sweep_tiles(swept, sms), SETTLE)
            state = "clean" if swept > MIB else "flushed"
            yield _point(work, "dirt", state=state, sms=sms, rows=rows, stages=stages, tiles=8 * rounds)


def _sweep_tiles(swept: int, sms: int) -> int:
    """Tiles of the sweep in each CTA, a multiple of 4."""
    return max(4, swept // (SWEEP_ROWS * LINE) // sms // 4 * 4)


def _alone() -> Iterator[Point]:
    """One box at a time on one SM at a time, behind a long and behind a short sweep."""
    for state, swept in (("flushed", 4), ("clean", 256 * MIB)):
        for rows in (1, 8, 64, 128, 256):
            ring = _ring(fresh(132, rows, 8), 132, rows, 1, ((1, True),), "hbm")
            turns = Affine(base=SETTLE, cluster=TURN)
            work = after_sweep(ring_work(ring), _sweep_tiles(swept, 132), turns)
            yield _point(work, "alone", state=state, rows=rows)


def after_sweep(work: Work, tiles: int, pause: Operand) -> Work:
    """Let the producer of a ring first read `tiles` boxes of other data and pause; stamp its begin and end.

    The consumer stamps ``end`` behind its last tile.
    """
    flow = work.flows[0]
    program, launch = flow.program, flow.launch
    bytes_swept = SWEEP_ROWS * LINE
    ctas = int(launch.grid)
    place = Affine(cluster=tiles * SWEEP_ROWS, loops={"sweep": SWEEP_ROWS})
    free = Wait("swept", "free")
    load = TmaLoad("others", (0, place), "sink", "swept")
    first: tuple[Operation, ...] = (
        For(tiles, (free, ExpectTx("swept", bytes_swept), load), 2, "sweep"),
        For(2, (free,), 2, "last"),
        Compute(pause),
        Stamp("begin"),
    )
    producer, consumer = program.roles
    program = replace(
        program,
        roles=(
            replace(producer, body=(*first, *producer.body)),
            replace(consumer, body=(*consumer.body, Stamp("end"))),
        ),
        buffers=(*program.buffers, Buffer("sink", bytes_swept, 2)),
        barriers=(*program.barriers, Barrier("swept", 1, 2)),
        maps=(*program.maps, rows_of("others", "others", ctas * tiles * SWEEP_ROWS, SWEEP_ROWS)),
    )
    memory = (*launch.allocations, Allocation("others", ctas * tiles * bytes_swept))
    return Work((Flow(program, replace(launch, allocations=memory)),))
