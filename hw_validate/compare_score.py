"""Statistics of a comparison: errors by group, which way is faster, counters, the worst points.

Stable points only count; the others are listed apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hw_validate.compare import Pair, relative, score_of

BOUND_TILE_BYTES, BOUND_STAGES = 16 * 1024, 4
"""Bytes of a stage, and stages, from which on hardware sets the time rather than software."""
SOFTWARE_KINDS = ("slope", "ping_pong", "issue")
L2_SECTORS, DRAM_BYTES = "lts__t_sectors_srcunit_tex_op_read.sum", "dram__bytes_read.sum"
CLOSE, CLOSE_OF_DELIVERED = 0.01, 0.001
"""A counter agrees within 1 %; DRAM bytes also within 0.1 % of what is delivered."""
RACES = (
    ("multicast", "unicast"),
    ("multicast", "unicast_distinct"),
    ("multicast_slices", "unicast"),
    ("multicast_slices", "multicast"),
)


def portion(pair: Pair) -> str:
    """Say which part of the dataset a point belongs to."""
    if not pair.set_aside:
        return "training"
    return "set aside, random" if pair.set_aside == "random" else "set aside, families"


def groups(found: Iterable[Pair]) -> dict[str, list[Pair]]:
    """Sort stable points into groups, in the order in which they are shown.

    A point is in several: its portion and, within training or set aside, its family, mode and memory.
    """
    sorted_in: dict[str, list[Pair]] = defaultdict(list)
    for pair in found:
        if pair.stable:
            for name in _groups_of(pair):
                sorted_in[name].append(pair)
    return dict(sorted(sorted_in.items(), key=lambda item: _place(item[0])))


def _groups_of(pair: Pair) -> list[str]:
    side = "set aside" if pair.set_aside else "training"
    names = [side, f"{side}: mode {pair.mode}", f"{side}: memory {pair.memory}"]
    if pair.set_aside:
        names.append(portion(pair))
    if pair.set_aside.startswith("family"):
        names.append(f"set aside: {pair.set_aside}")
    if is_hardware_bound(pair):
        names.append(f"{side}, hardware-bound")
    if pair.tags.get("kind") in SOFTWARE_KINDS:
        names.append(f"{side}, all software")
    return names


def _place(name: str) -> tuple[bool, bool, str]:
    """Put portions before their parts, and what is set aside before training."""
    return ":" in name, not name.startswith("set aside"), name


def is_hardware_bound(pair: Pair) -> bool:
    """Whether stages are so large and so many that hardware sets the time."""
    case = pair.tags.get("case", pair.tags)
    if "rows" in case:
        tile = case["rows"] * case.get("row_bytes", 128) * case.get("boxes", 1)
    else:
        tile = case.get("tile", 0)
    return bool(tile >= BOUND_TILE_BYTES and case.get("stages", 1) >= BOUND_STAGES)


def scores(grouped: dict[str, list[Pair]]) -> dict[str, dict[str, float]]:
    """Score the simulator in each group."""
    return {name: score_of(pair.error for pair in members) for name, members in grouped.items()}


def baseline_scores(grouped: dict[str, list[Pair]]) -> dict[str, dict[str, float]]:
    """Score the closed-form bound in each group, where points have one."""
    found = {
        name: score_of(pair.bound_error for pair in members if pair.bound_error is not None)
        for name, members in grouped.items()
    }
    return {name: figures for name, figures in found.items() if figures["points"]}


def worst(found: Iterable[Pair], count: int = 10) -> list[Pair]:
    """List the stable points with the largest errors."""
    return sorted((pair for pair in found if pair.stable), key=lambda pair: -abs(pair.error))[:count]


def unstable(found: Iterable[Pair]) -> list[Pair]:
    """List the points whose repeats do not agree."""
    return [pair for pair in found if not pair.stable]


def inside_range(pair: Pair) -> bool:
    """Whether the simulated time lies within the repeats."""
    return bool(pair.repeats) and min(pair.repeats) <= pair.simulated <= max(pair.repeats)


@dataclass(frozen=True)
class Race:
    """Two ways to deliver the same; the ratio is the first's time over the second's."""

    ways: tuple[str, str]
    label: str
    measured: float
    simulated: float
    set_aside: bool

    @property
    def agrees(self) -> bool:
        """Whether both sides say that the same way is faster."""
        return (self.measured < 1) == (self.simulated < 1)


def races(found: Sequence[Pair]) -> list[Race]:
    """Match stable points that differ in the mode only, where the measured difference exceeds the spreads."""
    fields: dict[str, dict[str, Pair]] = defaultdict(dict)
    for pair in found:
        case = pair.tags.get("case")
        if case and pair.stable:
            rest = {name: value for name, value in case.items() if name != "mode"}
            fields[repr(sorted(rest.items()))][case["mode"]] = pair
    matches = []
    for modes in fields.values():
        for one, other in combinations(modes, 2):
            ways = (one, other) if (one, other) in RACES else (other, one)
            if ways in RACES and _differ(modes[one], modes[other]):
                matches.append(_race(ways, modes[ways[0]], modes[ways[1]]))
    return matches


def _differ(one: Pair, other: Pair) -> bool:
    """Whether the medians differ by more than either point's repeats do."""
    widths = [pair.spread * pair.measured for pair in (one, other)]
    return abs(one.measured - other.measured) > max(widths)


def _race(ways: tuple[str, str], first: Pair, second: Pair) -> Race:
    ratios = first.measured / second.measured, first.simulated / second.simulated
    return Race(ways, first.label, *ratios, bool(first.set_aside or second.set_aside))


def race_counts(matches: Iterable[Race]) -> dict[str, dict[str, int]]:
    """Count matches and agreements, by portion and ways."""
    found: dict[str, dict[str, int]] = {}
    for match in matches:
        side = "set aside" if match.set_aside else "training"
        for name in (side, f"{side}: {match.ways[0]} against {match.ways[1]}"):
            row = found.setdefault(name, {"pairs": 0, "agree": 0})
            row["pairs"] += 1
            row["agree"] += match.agrees
    return dict(sorted(found.items(), key=lambda item: _place(item[0])))


def counter_scores(found: Iterable[Pair]) -> dict[str, dict[str, float]]:
    """Score the counters that both sides have: points, median and p90 of errors, share that agrees.

    The error of DRAM bytes is relative to the bytes delivered, since an L2-resident run should read none.
    """
    errors: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for pair in found:
        side = "set aside" if pair.set_aside else "training"
        for name in (L2_SECTORS, DRAM_BYTES):
            if name in pair.counters and name in pair.simulated_counters:
                errors[f"{side}: {name}"].append(_counter_error(pair, name))
    result: dict[str, dict[str, float]] = {}
    for name, values in sorted(errors.items()):
        figures: dict[str, Any] = score_of(error for error, _ in values)
        figures["agree"] = sum(agrees for _, agrees in values) / len(values)
        result[name] = figures
    return result


def _counter_error(pair: Pair, name: str) -> tuple[float, bool]:
    measured, simulated = pair.counters[name], pair.simulated_counters[name]
    if name != DRAM_BYTES:
        error = relative(simulated, measured)
        return error, abs(error) <= CLOSE
    gap = abs(simulated - measured)
    error = (simulated - measured) / max(pair.delivered, 1)
    return error, gap <= max(CLOSE * measured, CLOSE_OF_DELIVERED * pair.delivered)
