"""Races: points that differ in the mode only, and whether both sides say that the same way is faster.

A race counts where hardware's difference exceeds its spread: the medians differ by more than the repeats of
either point do. The others are matched too, and counted apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hw_validate.compare import Pair
from hw_validate.compare_score import place_of, portions

MULTICASTS = ("multicast", "multicast_slices")
WAYS = (*MULTICASTS, "unicast", "unicast_distinct")
"""Modes that race, one of each two being a multicast."""
MODE_TAGS = ("mode", "article")
"""Tags that name the mode of a point that is no case."""
NO_FIELDS = ("set_aside", "counted", "race", "close")
"""Tags that say nothing about what ran."""


@dataclass(frozen=True)
class Race:
    """Two points that differ in the mode only; ratios are the first's time over the second's.

    Parameters
    ----------
    ways
        Modes of both.
    label
        Name of the first.
    measured, simulated
        Ratios of both sides.
    spread
        What the repeats of either point differ by, as a share of the second's measured time.
    set_aside
        Why no fit may read one of them; "" for training.
    """

    ways: tuple[str, str]
    label: str
    measured: float
    simulated: float
    spread: float
    set_aside: str

    @property
    def decided(self) -> bool:
        """Whether the measured difference exceeds the spread."""
        return abs(self.measured - 1) > self.spread

    @property
    def agrees(self) -> bool:
        """Whether both sides say that the same way is faster."""
        return (self.measured < 1) == (self.simulated < 1)

    @property
    def margin(self) -> float:
        """How far the simulated ratio is from the side that hardware says; 0 where it is on it."""
        return 0.0 if self.agrees else abs(self.simulated - 1)


def races(found: Sequence[Pair]) -> list[Race]:
    """Match stable points that differ in the mode only, whatever plan they are of."""
    fields: dict[str, dict[str, Pair]] = defaultdict(dict)
    for pair in found:
        known = _mode_and_rest(pair.tags)
        if known is not None and pair.stable:
            fields[known[1]].setdefault(known[0], pair)
    return [
        _race((one, other), modes[one], modes[other])
        for modes in fields.values()
        for one, other in combinations([way for way in WAYS if way in modes], 2)
        if one in MULTICASTS
    ]


def _mode_and_rest(tags: Mapping[str, Any]) -> tuple[str, str] | None:
    """Part the mode of a point from all else that says what ran; None for a point without a mode."""
    case = tags.get("case")
    if case:
        rest = {**case, "idle": tags.get("idle", "")}
        return str(rest.pop("mode")), _text(rest)
    name = next((name for name in MODE_TAGS if name in tags), None)
    if name is None or tags[name] not in WAYS:
        return None
    return tags[name], _text({key: value for key, value in tags.items() if key != name})


def _text(fields: Mapping[str, Any]) -> str:
    return repr(sorted((name, repr(value)) for name, value in fields.items() if name not in NO_FIELDS))


def _race(ways: tuple[str, str], first: Pair, second: Pair) -> Race:
    spread = max(pair.spread * pair.measured for pair in (first, second)) / second.measured
    ratios = first.measured / second.measured, first.simulated / second.simulated
    return Race(ways, first.label, *ratios, spread, first.set_aside or second.set_aside)


def race_counts(matches: Iterable[Race]) -> dict[str, dict[str, int]]:
    """Count races, agreements, and those within the spread, which count as neither, by portion and ways."""
    found: dict[str, dict[str, int]] = {}
    for match in matches:
        mine = portions(match.set_aside)
        for name in (*mine, f"{mine[0]}: {match.ways[0]} against {match.ways[1]}"):
            row = found.setdefault(name, {"pairs": 0, "agree": 0, "within_spread": 0})
            row["pairs"] += match.decided
            row["agree"] += match.decided and match.agrees
            row["within_spread"] += not match.decided
    return dict(sorted(found.items(), key=lambda item: place_of(item[0])))


def wrong(matches: Iterable[Race]) -> list[Race]:
    """List the decided races that the simulator gets wrong, those first that it is most sure of."""
    missed = (match for match in matches if match.decided and not match.agrees)
    return sorted(missed, key=lambda match: -match.margin)
