"""The dataset: points that cover the modes and separate the mechanisms, a third of them set aside in advance.

The plan is drawn once, from a fixed seed; `set_aside` is part of the plan and never looked at by a fit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from hoppersim.errors import InputError
from hoppersim.program.builders import article_multicast, article_unicast, dsmem_pull, dsmem_push
from hoppersim.program.cases import Case, Mode, check_case
from hoppersim.program.work import SmSet, Work
from hw_validate.bundle import Point
from hw_validate.plans.parts import MIB, MOST_SHARED
from hw_validate.plans.structure import point

SEED = 20261130
CASES = 360
MODES: tuple[Mode, ...] = ("unicast", "unicast_distinct", "multicast", "multicast_slices")
COUNTED_SHARE = 0.16


def points() -> list[Point]:
    """List all points of the dataset."""
    return [*_case_points(), *_article(), *_dsmem()]


def _case_points() -> Iterator[Point]:
    source = random.Random(SEED)
    seen: set[Case] = set()
    while len(seen) < CASES:
        case = _draw(source)
        aside, counted = source.random() < 0.2, source.random() < COUNTED_SHARE
        if case is None or case in seen:
            continue
        seen.add(case)
        if not _launches(case):
            continue
        yield point(
            case,
            "dataset",
            repeats=7,
            verify=counted and case.memory == "l2",
            set_aside=aside_of(case, aside),
            counted=counted,
        )


def _launches(case: Case) -> bool:
    """Say whether a drawn case can run: a cluster lies in one GPC, so its SMs must be allowed there."""
    return not 0 < case.sms.per_gpc < case.cluster


def aside_of(case: Case, drawn: bool) -> str:
    """Say why a case is set aside: `random`, the name of a whole family, or nothing."""
    if case.cluster == 8:
        return "family: clusters of 8"
    if case.rows == 48:
        return "family: 48 rows"
    if case.stages == 3:
        return "family: 3 stages"
    if case.mode == "multicast_slices" and case.memory == "hbm":
        return "family: slices from HBM"
    return "random" if drawn else ""


def _draw(source: random.Random) -> Case | None:
    """Draw a case; None where the drawn fields do not go together."""
    mode = source.choice(MODES)
    rows = source.choice((8, 16, 32, 48, 64, 96, 128, 192, 256))
    stages = source.choice((1, 2, 3, 4, 4, 6, 8))
    cluster = source.choice((1, 2, 2, 4, 4, 8, 16))
    kind = source.choice(("hot", "sweep", "sweep", "hbm", "one"))
    compute = source.choice((0, 0, 0, 200, 600))
    sms = source.choice((SmSet(), SmSet(), SmSet(), SmSet(gpcs=(1,)), SmSet(gpcs=(1, 2, 3)),
                         SmSet(gpcs=tuple(range(8)), per_gpc=8)))  # fmt: skip
    if rows * 128 * stages > MOST_SHARED or (mode == "multicast_slices" and rows % cluster):
        return None
    fields: dict[str, Any] = {"pattern": "sweep" if kind == "hbm" else kind}
    if kind == "hbm":
        fields["memory"] = "hbm"
    elif kind == "sweep":
        fields["footprint"] = source.choice((8, 24)) * MIB
    iterations = 64 if rows >= 128 else 128 if rows >= 32 else 256
    case = Case(
        mode, cluster, rows=rows, stages=stages, iterations=iterations, compute=compute, sms=sms, **fields
    )
    try:
        check_case(case)
    except InputError:
        return None
    return case


def _article() -> Iterator[Point]:
    for pattern, iterations in (("hot", 1000), ("stream", 800)):
        for name, build in (("unicast", article_unicast), ("multicast", article_multicast)):
            for cluster in (2, 4):
                work = build(pattern, iterations, cluster)  # type: ignore[arg-type]
                tags = {"article": name, "pattern": pattern, "cluster": cluster, "iterations": iterations}
                yield _plain(
                    work, f"article_{name}_{pattern}_c{cluster}", "random" if cluster == 4 else "", tags
                )


def _dsmem() -> Iterator[Point]:
    source = random.Random(SEED + 1)
    for cluster in (2, 4, 8, 16):
        for tile in (2048, 8192, 16384, 32768):
            for stages in (1, 2, 4):
                work = dsmem_push(cluster, tile, stages, 64)
                tags = {"dsmem": "push", "cluster": cluster, "tile": tile, "stages": stages, "iterations": 64}
                aside = "family: clusters of 8" if cluster == 8 else "random" if source.random() < 0.2 else ""
                if tile * (stages + 1) <= MOST_SHARED:
                    yield _plain(work, f"push_c{cluster}_{tile}_s{stages}", aside, tags)
    for cluster in (2, 4, 8, 16):
        for reuse in (1, 2, 4, 8):
            work = dsmem_pull(cluster, 16384, reuse, 16)
            tags = {"dsmem": "pull", "cluster": cluster, "tile": 16384, "reuse": reuse, "iterations": 16}
            aside = "family: clusters of 8" if cluster == 8 else "random" if source.random() < 0.2 else ""
            yield _plain(work, f"pull_c{cluster}_r{reuse}", aside, tags)


def _plain(work: Work, label: str, aside: str, tags: dict[str, Any]) -> Point:
    fields = {"experiment": "dataset", "set_aside": aside, "counted": "_c2" in label, **tags}
    return Point(work, label, 7, "_c2" in label, tags=fields)
