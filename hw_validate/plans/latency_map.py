"""Latency of one line by SM and place: which SMs are near which lines, before and after a copy exists.

Hypothesis A: every hit takes the same time from an SM, wherever the line lies. Hypothesis B: lines have a
side, and a hit on the other side costs a crossing, until the reader's side holds a copy. All SMs read the
same lines, one SM at a time, after a warm launch; and each SM reads lines that only another SM has read. All
SMs at once read tiles that another one has read (or they themselves): what the fabric between the sides
carries.

Answer: B, twice. A line that only the other side holds takes 170 cycles more. And with copies on both sides
each line is still 40 to 50 cycles nearer to one side than to the other. The fabric is not the limit at 1,200
B/cycle.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from hoppersim.program.work import Barrier, Buffer, Launch, Role, Work, make_work
from hw_validate.bundle import Point
from hw_validate.plans.parts import LINE, alone, padding, rows_of

CTAS = 132
LINES = 30
GAP = 33
"""Rows from one line to the next."""
TURN = 16_000
TILE_ROWS, TILES = 128, 16


def points() -> list[Point]:
    """List the points."""
    return [*_points(), *_crossings()]


def _points() -> Iterator[Point]:
    for first in range(4):
        here = Affine(base=first * LINES * GAP, loops={"i": GAP})
        work = _work((), here, 4 * LINES * GAP, 1)
        tags = {"experiment": "latency_map", "kind": "all", "first": first}
        yield Point(work, f"latency_all_{first}", 3, False, tags=tags)
    rows = CTAS * LINES * GAP
    for shift in (1, 2, 7, 66):
        own = Affine(cluster=LINES * GAP, loops={"i": GAP})
        other = Affine(shift * LINES * GAP, cluster=LINES * GAP, loops={"i": GAP}, wrap=rows)
        work = _work(_reads(own, ()), other, rows, 0)
        tags = {"experiment": "latency_map", "kind": "others", "shift": shift}
        yield Point(work, f"latency_others_{shift}", 3, False, tags=tags)


def _crossings() -> Iterator[Point]:
    """Each CTA fetches tiles from HBM, pauses, and reads those of another CTA; the second part has stamps."""
    own_rows = TILE_ROWS * TILES
    rows = CTAS * own_rows
    for shift in (0, 1, 2, 66):
        parts: list[Operation] = []
        for first, stamps in ((0, ()), (shift * own_rows, (Stamp("begin"), Stamp("end")))):
            place = Affine(first, cluster=own_rows, loops={"i": TILE_ROWS}, wrap=rows)
            load = TmaLoad("lines", (0, place), "tile", "full")
            fill = (Wait("full", "free"), ExpectTx("full", TILE_ROWS * LINE), load)
            parts += [*stamps[:1], For(TILES, fill, 4, "i"), For(4, (Wait("full", "free"),), 4, "last")]
            parts += [Compute(60_000)] if not stamps else stamps[1:]
        work = make_work(
            "crossing", (Role("reader", tuple(parts)),), alone("tile", TILE_ROWS * LINE, 4),
            (Barrier("full", 1, 4),), (rows_of("lines", "data", rows, TILE_ROWS),), Launch((), CTAS, warm=0),
        )  # fmt: skip
        tags = {"experiment": "crossing", "shift": shift, "bytes": own_rows * LINE}
        yield Point(work, f"crossing_{shift}", 7, False, tags=tags)


def _reads(place: Operand, stamps: tuple[str, ...]) -> tuple[Operation, ...]:
    """Read the lines one by one; with two names of stamps, note issue and arrival."""
    before, after = (tuple(Stamp(name) for name in stamps[part : part + 1]) for part in (0, 1))
    load = TmaLoad("lines", (0, place), "tile", "full")
    return (For(LINES, (ExpectTx("full", LINE), load, *before, Wait("full"), *after), 1, "i"),)


def _work(first: tuple[Operation, ...], place: Operand, rows: int, warm: int) -> Work:
    """Let CTAs take turns at reading lines, after what they do first."""
    body = (*first, Compute(Affine(base=2 * TURN, cluster=TURN)), *_reads(place, ("issued", "arrived")))
    return make_work(
        "latency map", (Role("reader", body),), (Buffer("tile", LINE), *padding(1024)), (Barrier("full", 1),),
        (rows_of("lines", "data", rows, 1),), Launch((), CTAS, warm=warm),
    )  # fmt: skip
