"""Statistics of a comparison: errors by group, the article's loops, the worst points.

Stable points only count; the others are listed apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hw_validate.compare import Pair, score_of

BOUND_TILE_BYTES, BOUND_STAGES = 16 * 1024, 4
"""Bytes of a stage, and stages, from which on hardware sets the time rather than software."""
TINY_TILE_BYTES = 2 * 1024
"""Bytes of a tile in the L2 up to which, with `BOUND_STAGES` or more, software sets the time."""
SOFTWARE_KINDS = ("slope", "ping_pong", "issue")
NEW_PLANS = "set aside: new plans"
"""Points of `unseen`, which were planned and measured for the score of a changed model alone."""
EARLIER_PLANS = "set aside: earlier plans"
KINDS = ("ordinary loops", "races of multicast against unicast", "rarer kinds")
"""Kinds of points of the new plans."""
Scores = dict[str, dict[str, float]]


def portions(set_aside: str) -> tuple[str, ...]:
    """Name the portions of the dataset that a point belongs to, by why it is set aside."""
    if not set_aside:
        return ("training",)
    return "set aside", "set aside, random" if set_aside == "random" else "set aside, families"


def kind_in_new_plans(pair: Pair) -> str:
    """Name the kind of a point that is set aside in one of the new plans; "" for any other point."""
    experiment = pair.tags.get("experiment")
    if not pair.set_aside or experiment != "unseen":
        return ""
    return KINDS[1] if "race" in pair.tags else KINDS[0] if "case" in pair.tags else KINDS[2]


def groups(found: Iterable[Pair]) -> dict[str, list[Pair]]:
    """Sort stable points into groups, in the order in which they are shown.

    A point is in several: its portions and, within training or set aside, its family, mode and memory.
    """
    sorted_in: dict[str, list[Pair]] = defaultdict(list)
    for pair in found:
        if pair.stable:
            for name in _groups_of(pair):
                sorted_in[name].append(pair)
    return dict(sorted(sorted_in.items(), key=lambda item: place_of(item[0])))


def _groups_of(pair: Pair) -> list[str]:
    mine = portions(pair.set_aside)
    names = [*mine, f"{mine[0]}: mode {pair.mode}", f"{mine[0]}: memory {pair.memory}"]
    if pair.set_aside.startswith("family"):
        names.append(f"set aside: {pair.set_aside}")
    if pair.set_aside:
        kind = kind_in_new_plans(pair)
        names += [NEW_PLANS, f"{NEW_PLANS}, {kind}"] if kind else [EARLIER_PLANS]
    if is_hardware_bound(pair):
        names += [f"{portion}, hardware-bound" for portion in mine]
    if is_all_software(pair):
        names += [f"{portion}, all software" for portion in mine]
    return names


def place_of(name: str) -> tuple[bool, bool, str]:
    """Put portions before their parts, and what is set aside before training."""
    return ":" in name, not name.startswith("set aside"), name


def is_hardware_bound(pair: Pair) -> bool:
    """Whether stages are so large and so many that hardware sets the time."""
    tile, stages = _stage(pair)
    return tile >= BOUND_TILE_BYTES and stages >= BOUND_STAGES


def is_all_software(pair: Pair) -> bool:
    """Whether a loop moves nothing, or boxes so small that what threads do sets its time."""
    if pair.tags.get("kind") in SOFTWARE_KINDS:
        return True
    tile, stages = _stage(pair)
    return 0 < tile <= TINY_TILE_BYTES and stages >= BOUND_STAGES and pair.memory in ("hot", "sweep")


def _stage(pair: Pair) -> tuple[int, int]:
    """Give bytes of a tile [B] and stages, from the tags; no bytes where they do not say."""
    case = pair.tags.get("case", pair.tags)
    stages = case.get("stages", 1)
    if "case" in pair.tags:
        return case["rows"] * case.get("row_bytes", 128) * case.get("boxes", 1), stages
    return case.get("tile", 0), stages


def scores(grouped: dict[str, list[Pair]]) -> Scores:
    """Score the simulator in each group."""
    return {name: score_of(pair.error for pair in members) for name, members in grouped.items()}


def as_closed_form(found: Iterable[Pair]) -> list[Pair]:
    """Put the closed-form baseline in the place of the simulated time, where points have one."""
    return [replace(pair, simulated=pair.closed_form) for pair in found if pair.closed_form is not None]


def article_scores(found: Iterable[Pair]) -> Scores:
    """Score the article's loops by portion: largest gap of a ratio, largest error of a time."""
    loops: dict[str, list[Pair]] = defaultdict(list)
    for pair in found:
        if "article" in pair.tags:
            for portion in portions(pair.set_aside):
                loops[f"{portion}: article"].append(pair)
    return {name: _article_score(members) for name, members in sorted(loops.items())}


def _article_score(loops: list[Pair]) -> dict[str, float]:
    ways: dict[tuple[Any, ...], dict[str, Pair]] = defaultdict(dict)
    for pair in loops:
        tags = pair.tags
        ways[tags["pattern"], tags["cluster"], tags["iterations"]][tags["article"]] = pair
    gaps = [
        abs(both["unicast"].simulated / both["multicast"].simulated
            - both["unicast"].measured / both["multicast"].measured)
        for both in ways.values() if len(both) == 2
    ]  # fmt: skip
    figures = {"points": len(loops), "cycles": max(abs(pair.error) for pair in loops)}
    return figures | ({"ratio": max(gaps)} if gaps else {})


def worst(found: Iterable[Pair], count: int = 10) -> list[Pair]:
    """List the stable points with the largest errors."""
    return sorted((pair for pair in found if pair.stable), key=lambda pair: -abs(pair.error))[:count]


def unstable(found: Iterable[Pair]) -> list[Pair]:
    """List the points whose repeats do not agree."""
    return [pair for pair in found if not pair.stable]


def inside_range(pair: Pair) -> bool:
    """Whether the simulated time lies within the repeats."""
    return bool(pair.repeats) and min(pair.repeats) <= pair.simulated <= max(pair.repeats)
