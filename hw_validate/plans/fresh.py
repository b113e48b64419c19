"""A fresh set of points over all kinds of flows: 150 set aside, and 60 of the rarer kinds for training.

It was planned when most kinds had been measured and the model had been changed for them, so that the score of
a changed model is taken on points that nobody has seen. Two thirds of what is set aside are cases of the
ordinary modes; `hw_validate.plans.rare` writes the rarer kinds.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from hoppersim.program.canonical import work_hash
from hoppersim.program.cases import Case
from hoppersim.program.work import SmSet
from hw_validate.bundle import Point
from hw_validate.plans.dataset import MODES
from hw_validate.plans.races import COMPUTES, ROWS, can_run, memory_fields, tiles_for
from hw_validate.plans.rare import DRAWS
from hw_validate.plans.structure import point

SEED, TRAINING_SEED = 20270302, 20270303
ORDINARY, RARE, TRAINING = 100, 50, 60
VERIFIED_SHARE = 0.3
COUNTED_SHARE = 0.1
STAGES = (1, 2, 3, 4, 4, 5, 6, 8)
CLUSTERS = (1, 2, 2, 4, 4, 8, 16)
SKEWS = (0, 0, 0, 0, 0, 400, 1500)
SUBSETS = (SmSet(), SmSet(), SmSet(), SmSet(gpcs=(2,)), SmSet(gpcs=(1, 4)), SmSet(gpcs=(1, 2, 3, 4)),
           SmSet(gpcs=tuple(range(8)), per_gpc=4), SmSet(gpcs=tuple(range(1, 8)), per_gpc=12))  # fmt: skip
ITERATIONS = (72, 144, 288)
"""Tiles from 128 rows on, from 32 on, and below; unlike those of other plans, so that no work is in two."""
Draw = Callable[[random.Random], Point]


def points() -> list[Point]:
    """List the points: ordinary ones, rarer kinds, and rarer kinds for training."""
    source, training = random.Random(SEED), random.Random(TRAINING_SEED)
    seen: set[str] = set()
    aside = [*_distinct(source, ORDINARY, [ordinary], seen), *_distinct(source, RARE, DRAWS, seen)]
    taught = _distinct(training, TRAINING, DRAWS, seen)
    return [
        *(_marked(one, "random", source) for one in aside),
        *(_marked(one, "", training) for one in taught),
    ]


def _distinct(source: random.Random, count: int, draws: list[Draw], seen: set[str]) -> list[Point]:
    """Draw so many points, the kinds in turn, each work once."""
    found: list[Point] = []
    while len(found) < count:
        one = draws[len(found) % len(draws)](source)
        if work_hash(one.work) not in seen:
            seen.add(work_hash(one.work))
            found.append(one)
    return found


def _marked(drawn: Point, reason: str, source: random.Random) -> Point:
    """Say whether a point is set aside, counted and verified; whatever is stored is always verified."""
    verify, counted = source.random() < VERIFIED_SHARE, source.random() < COUNTED_SHARE
    tags = {**drawn.tags, "experiment": "fresh", "set_aside": reason, "counted": counted}
    return Point(drawn.work, f"fresh_{drawn.label}", 7, verify or drawn.verify, tags=tags)


def ordinary(source: random.Random, iterations: tuple[int, int, int] = ITERATIONS) -> Point:
    """Draw a case of the ordinary modes that can run."""
    while True:
        rows = source.choice(ROWS)
        cluster = source.choice(CLUSTERS)
        mode = source.choice(MODES)
        kind = source.choice(("hot", "sweep", "sweep", "hbm", "one"))
        case = Case(
            mode,
            cluster,
            rows=rows,
            stages=source.choice(STAGES),
            iterations=tiles_for(rows, iterations),
            compute=source.choice(COMPUTES),
            sms=source.choice(SUBSETS),
            skew=source.choice(SKEWS) if cluster > 1 else 0,
            **memory_fields(source, kind),
        )
        if can_run(case):
            return point(case, "ordinary")
