"""More races for training: what the races that are set aside may not teach.

Drawn like the plan `races`, from another seed and with other numbers of tiles, so that no work is in two
plans. Multicasts come first, the largest clusters before smaller ones, and their unicast rivals last: what
reaches one SM of a TPC leaves its GPC slower at wide multicasts.
"""

from __future__ import annotations

import random

from msgspec.structs import replace

from hoppersim.program.cases import Case
from hw_validate.bundle import Point
from hw_validate.plans.races import anything, draw_races
from hw_validate.plans.structure import point

SEED = 20270307
RACES = 60
ITERATIONS = (88, 168, 312)
"""Tiles from 128 rows on, from 32 on, and below; unlike those of other plans."""


def points() -> list[Point]:
    """List the multicasts of all races, then the unicasts; `race` in their tags numbers the race."""
    source = random.Random(SEED)
    cases: list[Case] = []
    draw_races(source, cases, RACES, lambda drawn: anything(drawn, ITERATIONS))
    order = sorted(range(RACES), key=lambda number: -cases[number].cluster)
    multicasts = [_point(cases[number], number) for number in order]
    unicasts = [_point(replace(cases[number], mode="unicast"), number) for number in order]
    return [*multicasts, *unicasts]


def _point(case: Case, number: int) -> Point:
    return point(case, "rivals", repeats=9, race=number)
