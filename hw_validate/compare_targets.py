"""The error table: what is required of the simulator, what is aimed at, and what was seen beside both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

ASIDE = ("set aside, random", "set aside, families")
CLOSED_FORM, COMPLETE = "closed form", "complete"
"""What stands beside the simulator: the closed form; the whole machine on the points of the ablations."""
EARNED = 0.001
"""What a figure must get worse by without a block, for the block to have earned its place."""
MET = {2: "aim", 1: "yes", 0: "no"}
"""How a row is marked: the aim is met, only what is required, or not even that."""


class Scored(Protocol):
    """Scores by name, as a comparison or an error summary has them."""

    @property
    def groups(self) -> Mapping[str, Mapping[str, float]]:
        """Scores of times by group."""

    @property
    def baseline(self) -> Mapping[str, Mapping[str, float]]:
        """The same for what stands beside the simulator; see `beside`."""

    @property
    def faster(self) -> Mapping[str, Mapping[str, float]]:
        """Pairs, and those in which both sides say that the same way is faster."""

    @property
    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Scores of counters, of the article's loops and of latencies between SMs."""


@dataclass(frozen=True)
class Target:
    """One figure of the table.

    Parameters
    ----------
    name
        What it is, for people.
    kind, suffix
        Where its scores stand: ``groups``, ``faster`` or ``counters``, and what follows the portion's name.
    measures
        Which of the scores count, in the order of `required` and `aim`.
    required, aim
        Limits of each measure: largest, or least where `at_least`.
    unit
        "" for shares, shown in per cent; ``cycle``; ``ratio``, shown as it is.
    """

    name: str
    kind: str
    suffix: str
    measures: tuple[str, ...]
    required: tuple[float, ...]
    aim: tuple[float, ...]
    at_least: bool = False
    units: tuple[str, ...] = ("", "")

    def rank(self, seen: Iterable[float]) -> int:
        """Say how good figures are: 2 if the aim is met, 1 if what is required, else 0."""
        values = tuple(seen)
        if self._holds(values, self.aim):
            return 2
        return int(self._holds(values, self.required))

    def _holds(self, values: tuple[float, ...], limits: tuple[float, ...]) -> bool:
        if self.at_least:
            return all(value >= limit for value, limit in zip(values, limits, strict=True))
        return all(value <= limit for value, limit in zip(values, limits, strict=True))

    def text(self, values: Iterable[float]) -> str:
        """Write figures in the target's units, with a stroke between."""
        return " / ".join(_text(value, unit) for value, unit in zip(values, self.units, strict=False))


TARGETS = (
    Target("time, all stable points: median / p90", "groups", "", ("median", "p90"), (0.05, 0.12),
           (0.025, 0.07)),
    Target("time, hardware-bound points: median / p90", "groups", ", hardware-bound", ("median", "p90"),
           (0.03, 0.08), (0.015, 0.05)),
    Target("time, loops that are all software: median / p90", "groups", ", all software", ("median", "p90"),
           (0.08, 0.15), (0.04, 0.10)),
    Target("which of two ways is faster, right", "faster", "", ("share",), (0.95,), (1.0,), at_least=True),
    Target("sectors and bytes read and delivered: p90", "counters", ": traffic", ("p90",), (0.01,), (0.001,)),
    Target("L2 sectors of unicast that merges, right", "counters", ": merging", ("agree",), (0.80,), (0.95,),
           at_least=True),
    Target("DSMEM latency by pair of SMs: RMS", "counters", ": pairs", ("rms",), (8.0,), (4.0,),
           units=("cycle",)),
    Target("article's loops: ratio / cycles", "counters", ": article", ("ratio", "cycles"), (0.03, 0.08),
           (0.01, 0.04), units=("ratio", "")),
)  # fmt: skip


class Seen(NamedTuple):
    """One figure of one portion of the points.

    Parameters
    ----------
    target, portion, points
        The figure, the portion, and how many points (pairs, counters) it is made of.
    seen, met
        The simulator's figures, and the mark of `MET`.
    beside
        The same figures of the closed form and of ablations, by name; those that have none are left out.
    """

    target: Target
    portion: str
    points: int
    seen: tuple[float, ...]
    met: str
    beside: dict[str, tuple[float, ...]]


def beside(name: str, group: str) -> str:
    """Name a group of `Scored.baseline`: the plain one for the closed form, with its name for an ablation."""
    return group if name == CLOSED_FORM else f"{name} / {group}"


def error_table(scored: Scored, portions: Iterable[str] | None = None) -> list[Seen]:
    """Give every figure of every portion that has points.

    Parameters
    ----------
    scored
        The scores.
    portions
        Portions to show; None takes what is set aside, random points and families apart, else training.
    """
    names = tuple(portions) if portions is not None else _portions(scored)
    found = []
    for target in TARGETS:
        mine = [row for portion in names if (row := _seen(scored, target, portion)) is not None]
        if not mine and names != ("training",) and (row := _seen(scored, target, "set aside")) is not None:
            mine = [row]
        found += mine
    return found


def _portions(scored: Scored) -> tuple[str, ...]:
    return ASIDE if "set aside" in scored.groups else ("training",)


def _seen(scored: Scored, target: Target, portion: str) -> Seen | None:
    """Give one figure; None where the portion has no points for it."""
    group = f"{portion}{target.suffix}"
    row = getattr(scored, target.kind).get(group)
    values = _values(target, row)
    if row is None or values is None:
        return None
    others = {name: _beside(scored, target, name, group) for name in beside_names(scored)}
    known = {name: found for name, found in others.items() if found is not None}
    points = int(row.get("points", row.get("pairs", 0)))
    return Seen(target, portion, points, values, MET[target.rank(values)], known)


def _beside(scored: Scored, target: Target, name: str, group: str) -> tuple[float, ...] | None:
    if target.kind == "faster":
        return _values(target, scored.faster.get(f"{name} / {group}"))
    return _values(target, scored.baseline.get(beside(name, group)))


def beside_names(scored: Scored) -> list[str]:
    """List what stands beside the simulator: the closed form first, then ablations as they were kept."""
    named = [key.split(" / ")[0] for key in scored.baseline if " / " in key]
    return list(dict.fromkeys((CLOSED_FORM, *named)))


def gets_worse(row: Seen, name: str) -> bool:
    """Whether a figure of an ablation is worse by `EARNED` than that of the whole machine on its points."""
    whole, other = row.beside.get(COMPLETE), row.beside.get(name)
    if whole is None or other is None:
        return False
    sign = -1 if row.target.at_least else 1
    return any(sign * (there - here) >= EARNED for here, there in zip(whole, other, strict=True))


def _values(target: Target, row: Mapping[str, float] | None) -> tuple[float, ...] | None:
    if row is None or not row.get("points", row.get("pairs", 0)):
        return None
    if target.measures == ("share",):
        return (row["agree"] / row["pairs"],)
    if any(name not in row for name in target.measures):
        return None
    return tuple(row[name] for name in target.measures)


def _text(value: float, unit: str) -> str:
    if unit == "cycle":
        return f"{value:.1f} cycles"
    return f"{value:.3f}" if unit == "ratio" else f"{value:.1%}"
