"""Races: the same tiles by multicast and by unicast, all else equal, to see which is faster.

A race is two points that differ in the mode only. Races are drawn at random; two thirds of them are set
aside, both points of each. Some of those drawn apart from the rest should end close together: tiny boxes,
whose loop is all software, and large ones by clusters of 2, which the coalescer merges as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hoppersim.errors import InputError
from hoppersim.program.cases import Case, Mode, check_case
from hoppersim.program.work import SmSet
from hw_validate.bundle import Point
from hw_validate.plans.parts import MIB, MOST_SHARED
from hw_validate.plans.structure import point

SEED = 20270301
RACES, CLOSE = 92, 10
"""Races drawn at random, and those that should be close."""
VERIFIED_SHARE = 0.25
ROWS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
STAGES = (1, 2, 3, 4, 4, 6, 8)
CLUSTERS = (2, 2, 3, 4, 4, 6, 8, 16)
SKEWS = (0, 0, 0, 0, 200, 800, 2000)
COMPUTES = (0, 0, 0, 200, 600)
SUBSETS = (SmSet(), SmSet(), SmSet(), SmSet(gpcs=(1,)), SmSet(gpcs=(1, 2, 3)),
           SmSet(gpcs=tuple(range(8)), per_gpc=8))  # fmt: skip
ITERATIONS = (96, 160, 320)
"""Tiles from 128 rows on, from 32 on, and below; unlike those of other plans, so that no work is in two."""


def points() -> list[Point]:
    """List both points of each race; `race` in their tags numbers it."""
    source = random.Random(SEED)
    cases: list[Case] = []
    for count, draw in ((RACES, anything), (CLOSE, _close)):
        draw_races(source, cases, len(cases) + count, draw)
    aside = set(source.sample(range(len(cases)), round(2 * len(cases) / 3)))
    found = []
    for number, case in enumerate(cases):
        verify = source.random() < VERIFIED_SHARE
        reason = "random" if number in aside else ""
        for one in (case, replace(case, mode="unicast")):
            tags: dict[str, Any] = {"set_aside": reason, "race": number, "close": number >= RACES}
            found.append(point(one, "race", repeats=9, verify=verify, **tags))
    return found


def draw_races(
    source: random.Random, cases: list[Case], count: int, draw: Callable[[random.Random], Case]
) -> None:
    """Draw cases that can be launched until there are so many, no two against the same unicast."""
    known = {replace(case, mode="unicast") for case in cases}
    while len(cases) < count:
        case = draw(source)
        rival = replace(case, mode="unicast")
        if rival not in known and can_run(case):
            known.add(rival)
            cases.append(case)


def can_run(case: Case) -> bool:
    """Say whether a case has a meaning, fits in shared memory, and its clusters find room in its SMs."""
    if case.tile_bytes * case.stages > MOST_SHARED or 0 < case.sms.per_gpc < case.cluster:
        return False
    try:
        check_case(case)
    except InputError:
        return False
    return True


def tiles_for(rows: int, iterations: tuple[int, int, int]) -> int:
    """Give the tiles of a case by its rows: fewer large ones."""
    return iterations[0] if rows >= 128 else iterations[1] if rows >= 32 else iterations[2]


def memory_fields(source: random.Random, kind: str) -> dict[str, Any]:
    """Give the fields of a case for where its tiles lie: ``hot``, ``one``, ``sweep`` or ``hbm``."""
    if kind == "hbm":
        return {"pattern": "sweep", "memory": "hbm"}
    return {"pattern": kind, "footprint": source.choice((8, 24)) * MIB if kind == "sweep" else 0}


def anything(source: random.Random, iterations: tuple[int, int, int] = ITERATIONS) -> Case:
    """Draw a multicast of any kind, which may not be able to run."""
    mode: Mode = source.choice(("multicast", "multicast", "multicast_slices"))
    rows = source.choice(ROWS)
    return Case(
        mode,
        source.choice(CLUSTERS),
        rows=rows,
        stages=source.choice(STAGES),
        iterations=tiles_for(rows, iterations),
        compute=source.choice(COMPUTES),
        sms=source.choice(SUBSETS),
        skew=source.choice(SKEWS),
        **memory_fields(source, source.choice(("hot", "sweep", "sweep", "hbm", "one"))),
    )


def _close(source: random.Random) -> Case:
    """Draw a case in which both ways should take nearly the same time."""
    mode: Mode = source.choice(("multicast", "multicast_slices"))
    tiny = source.random() < 0.5
    rows = source.choice((8, 16)) if tiny else source.choice((128, 192, 256))
    stages = source.choice((2, 4))
    kind = source.choice(("hot", "sweep"))
    return Case(mode, 2, rows=rows, stages=stages, iterations=tiles_for(rows, ITERATIONS),
                **memory_fields(source, kind))  # fmt: skip
