"""A whole comparison: its pairs, all scores of them, and both as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from hw_validate import compare_score as scoring
from hw_validate.compare import Pair, score
from hw_validate.compare_counters import counter_scores
from hw_validate.compare_known import known_deviation
from hw_validate.compare_races import Race, race_counts, races
from hw_validate.compare_score import Scores
from hw_validate.compare_targets import CLOSED_FORM, COMPLETE, Seen, beside, error_table, gets_worse

COLUMNS = ("id", "label", "mode", "memory", "set_aside", "measured", "spread", "simulated", "error", "bound",
           "floor", "closed_form_error", "limiter", "share", "in_flight", "stable")  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """Pairs of one machine and one set of measurements, and what stands beside them.

    Parameters
    ----------
    machine, pairs, failures
        Preset; points on both sides; why other points have no simulated time.
    ablations
        The same points on machines without one block, by the ablation's name.
    impossible
        Ablations that the machine has no parameter for.
    pair_scores
        Scores of latencies between SMs, by portion.
    """

    machine: str
    pairs: list[Pair]
    failures: list[str]
    ablations: dict[str, list[Pair]] = field(default_factory=dict)
    impossible: tuple[str, ...] = ()
    pair_scores: Scores = field(default_factory=dict)

    @classmethod
    def of(cls, machine: str, found: Sequence[Pair | str], **others: Any) -> Comparison:
        """Part pairs from reasons."""
        pairs = [item for item in found if isinstance(item, Pair)]
        return cls(machine, pairs, [item for item in found if isinstance(item, str)], **others)

    @property
    def stable(self) -> list[Pair]:
        """The pairs whose repeats agree."""
        return [pair for pair in self.pairs if pair.stable]

    @cached_property
    def groups(self) -> Scores:
        """Scores of the simulator by group."""
        return scoring.scores(scoring.groups(self.pairs))

    @cached_property
    def baseline(self) -> Scores:
        """Scores of the closed form by group, and of ablations by their name and the group."""
        return {
            beside(name, group): row
            for name, pairs in self._others
            for group, row in _beside_scores(pairs).items()
        }

    @cached_property
    def races(self) -> list[Race]:
        """Points that differ in the mode only."""
        return races(self.pairs)

    @cached_property
    def faster(self) -> dict[str, dict[str, int]]:
        """Which of two ways is faster, by portion; of what stands beside by its name and the portion."""
        found = race_counts(self.races)
        for name, pairs in self._others:
            rows = race_counts(races(pairs))
            found |= {f"{name} / {group}": row for group, row in rows.items() if ":" not in group}
        return found

    @cached_property
    def counters(self) -> Scores:
        """Scores by portion and name: counters, the article's loops, latencies between SMs."""
        latencies = {f"{portion}: pairs": row for portion, row in self.pair_scores.items()}
        return {**counter_scores(self.pairs), **scoring.article_scores(self.pairs), **latencies}

    @property
    def table(self) -> list[Seen]:
        """The error table."""
        return error_table(self)

    @property
    def unearned(self) -> list[str]:
        """The ablations without which no figure of the table gets worse by `EARNED` or more."""
        names = [name for name in self.ablations if name != COMPLETE]
        return [name for name in names if not any(gets_worse(row, name) for row in self.table)]

    @property
    def worst(self) -> list[Pair]:
        """The ten stable points with the largest errors: of those set aside, if any are."""
        aside = [pair for pair in self.pairs if pair.set_aside]
        return scoring.worst(aside or self.pairs)

    @property
    def _others(self) -> Iterable[tuple[str, list[Pair]]]:
        yield CLOSED_FORM, scoring.as_closed_form(self.pairs)
        yield from self.ablations.items()


def _beside_scores(found: list[Pair]) -> Scores:
    return {**scoring.scores(scoring.groups(found)), **scoring.article_scores(found)}


def document(found: Comparison) -> dict[str, Any]:
    """Give the whole comparison as plain values."""
    return {
        "machine": found.machine,
        "score": score(found.stable),
        "table": [_seen(row) for row in found.table],
        "groups": found.groups,
        "baseline": found.baseline,
        "faster": found.faster,
        "races": [asdict(race) | {"decided": race.decided, "agrees": race.agrees} for race in found.races],
        "counters": found.counters,
        "impossible ablations": list(found.impossible),
        "unearned ablations": found.unearned,
        "worst": [worst_row(pair) for pair in found.worst],
        "points": [_row(pair) for pair in found.pairs],
        "unstable": [_range(pair) for pair in scoring.unstable(found.pairs)],
        "failures": found.failures,
    }


def _seen(row: Seen) -> dict[str, Any]:
    target = row.target
    return {
        "figure": target.name, "portion": row.portion, "points": row.points, "seen": row.seen,
        "required": target.required, "aim": target.aim, "met": row.met, "beside": row.beside,
    }  # fmt: skip


def worst_row(pair: Pair) -> dict[str, Any]:
    """Give what is told of a point whose error is among the largest."""
    return {
        "label": pair.label, "measured": pair.measured, "simulated": pair.simulated,
        "error": round(pair.error, 5), "limiter": pair.limiter, "deviation": known_deviation(pair.tags),
    }  # fmt: skip


def _range(pair: Pair) -> dict[str, Any]:
    times = [pair.simulated, *(one.cycles for one in pair.seeds)]
    return {
        "label": pair.label, "measured": [min(pair.repeats, default=None), max(pair.repeats, default=None)],
        "simulated": [min(times), max(times)], "seeds": len(times),
    }  # fmt: skip


def to_json(found: Comparison) -> str:
    """Write the whole comparison as JSON."""
    return json.dumps(document(found), indent=1)


def to_csv(found: Comparison) -> str:
    """Write a line for each point."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_row(pair) for pair in found.pairs)
    return text.getvalue()


def _row(pair: Pair) -> dict[str, Any]:
    return {name: getattr(pair, name) for name in COLUMNS}
