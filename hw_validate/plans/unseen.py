"""A second fresh set, all set aside, for the score of a model whose coalescer and ports had been changed.

Drawn like the plans `fresh` and `races`, from other seeds and with other numbers of tiles, so that no work is
in two plans. Whatever can merge by itself is counted, and a fifth of the rest.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from msgspec.structs import replace

from hoppersim.program.canonical import work_hash
from hw_validate.bundle import Point
from hw_validate.plans import fresh, races, structure
from hw_validate.plans.rare import DRAWS

SEED = 20270306
ORDINARY, RACES, RARE = 60, 30, 30
COUNTED_SHARE, VERIFIED_SHARE = 0.2, 0.3
ITERATIONS = (80, 152, 304)
"""Tiles from 128 rows on, from 32 on, and below; unlike those of other plans."""
Draw = Callable[[random.Random], list[Point]]


def points() -> list[Point]:
    """List the points: ordinary ones, both ways of each race, rarer kinds."""
    source = random.Random(SEED)
    seen = {work_hash(point.work) for plan in (fresh, races) for point in plan.points()}
    draws = [_ordinary] * ORDINARY + [_race] * RACES + [_one_of(DRAWS[i % len(DRAWS)]) for i in range(RARE)]
    drawn = [point for draw in draws for point in _new(draw, source, seen)]
    return [_marked(point, source) for point in drawn]


def _new(draw: Draw, source: random.Random, seen: set[str]) -> list[Point]:
    """Draw until no work is one that is known."""
    while True:
        drawn = draw(source)
        hashes = {work_hash(point.work) for point in drawn}
        if not hashes & seen:
            seen |= hashes
            return drawn


def _ordinary(source: random.Random) -> list[Point]:
    return [fresh.ordinary(source, ITERATIONS)]


def _one_of(draw: Callable[[random.Random], Point]) -> Draw:
    return lambda source: [draw(source)]


def _race(source: random.Random) -> list[Point]:
    """Draw a case and its rival, the unicast of the same tiles."""
    while True:
        case = races.anything(source, ITERATIONS)
        if races.can_run(case):
            return [structure.point(one, "race", race=1) for one in (case, replace(case, mode="unicast"))]


def _marked(drawn: Point, source: random.Random) -> Point:
    """Set a point aside and say whether it is counted and verified."""
    verify, counted = source.random() < VERIFIED_SHARE, source.random() < COUNTED_SHARE
    merges = drawn.tags.get("case", {}).get("mode") == "unicast"
    tags = {**drawn.tags, "experiment": "unseen", "set_aside": "random", "counted": counted or merges}
    return Point(drawn.work, f"unseen_{drawn.label}", 7, verify or drawn.verify, tags=tags)
