"""A comparison in the terminal, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hw_validate import compare_score as scoring
from hw_validate.compare import Pair, score
from hw_validate.compare_run import OnPoint

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

COLUMNS = ("id", "label", "mode", "memory", "set_aside", "measured", "spread", "simulated", "error", "bound",
           "bound_error", "limiter", "stable")  # fmt: skip
FEW = 40
"""Points up to which the terminal shows each of them."""
LINE_EVERY = 20
"""Points between two lines of progress where there is no terminal."""


@dataclass(frozen=True)
class Comparison:
    """Pairs of one machine and one set of measurements, and why other points have no simulated time."""

    machine: str
    pairs: list[Pair]
    failures: list[str]

    @classmethod
    def of(cls, machine: str, found: Sequence[Pair | str]) -> Comparison:
        """Part pairs from reasons."""
        pairs = [item for item in found if isinstance(item, Pair)]
        return cls(machine, pairs, [item for item in found if isinstance(item, str)])

    @property
    def stable(self) -> list[Pair]:
        """The pairs whose repeats agree."""
        return [pair for pair in self.pairs if pair.stable]


def document(found: Comparison) -> dict[str, Any]:
    """Give the whole comparison as plain values."""
    grouped = scoring.groups(found.pairs)
    return {
        "machine": found.machine,
        "score": score(found.stable),
        "groups": scoring.scores(grouped),
        "baseline": scoring.baseline_scores(grouped),
        "faster": scoring.race_counts(scoring.races(found.pairs)),
        "counters": scoring.counter_scores(found.pairs),
        "points": [_row(pair) for pair in found.pairs],
        "failures": found.failures,
    }


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


def show(screen: Console, found: Comparison) -> None:
    """Print scores, what is faster, counters, the worst points, and apart from them the unstable ones."""
    if len(found.pairs) <= FEW:
        title = f"measured, and simulated on {found.machine} [SM cycles of the slowest CTA]"
        screen.print(_points_table(title, found.stable))
    grouped = scoring.groups(found.pairs)
    screen.print(_score_table(scoring.scores(grouped), scoring.baseline_scores(grouped)))
    _show_races(screen, found)
    _show_counters(screen, found)
    if len(found.pairs) > FEW:
        screen.print(_points_table("largest errors", scoring.worst(found.pairs)))
    rest = scoring.unstable(found.pairs)
    if rest:
        inside = sum(scoring.inside_range(pair) for pair in rest)
        title = f"repeats differ by more than 5 %: {inside} of {len(rest)} simulated inside their range"
        screen.print(_points_table(title, rest[:FEW]))
    for text in found.failures:
        screen.print(f"no simulated time: {text}", markup=False)
    if found.stable:
        screen.print(_summary(score(found.stable)), markup=False)


def _summary(figures: dict[str, float]) -> str:
    return (
        f"{figures['points']} points: median error {figures['median']:.1%}, "
        f"90 % within {figures['p90']:.1%}, worst {figures['worst']:.1%}, bias {figures['bias']:+.1%}"
    )


def _table(title: str, columns: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column(columns[0], overflow="fold")
    for name in columns[1:]:
        table.add_column(name, justify="right")
    return table


def _points_table(title: str, pairs: Sequence[Pair]) -> Table:
    from rich.markup import escape

    table = _table(escape(title), ("point", "measured", "spread", "simulated", "error", "bound", "limiter"))
    for pair in pairs:
        bound = "-" if pair.bound is None else f"{pair.bound:,.0f}"
        figures = (f"{pair.measured:,.0f}", f"{pair.spread:.1%}", f"{pair.simulated:,.0f}")
        table.add_row(escape(pair.label), *figures, f"{pair.error:+.1%}", bound, pair.limiter)
    return table


def _score_table(simulator: dict[str, dict[str, float]], bound: dict[str, dict[str, float]]) -> Table:
    title = "size of the error, stable points; bound: the closed-form bound"
    names = ("group", "points", "median", "p90", "worst", "bias", "bound median", "bound p90")
    table = _table(title, names)
    for name, figures in simulator.items():
        other = bound.get(name)
        beside = [f"{other[key]:.1%}" for key in ("median", "p90")] if other else ["-", "-"]
        cells = [f"{figures[key]:.1%}" for key in ("median", "p90", "worst")]
        table.add_row(name, str(figures["points"]), *cells, f"{figures['bias']:+.1%}", *beside)
    return table


def _show_races(screen: Console, found: Comparison) -> None:
    matches = scoring.races(found.pairs)
    for name, row in scoring.race_counts(matches).items():
        share = row["agree"] / row["pairs"]
        screen.print(
            f"faster way, {name}: {row['agree']} of {row['pairs']} right ({share:.0%})", markup=False
        )
    for match in (match for match in matches if not match.agrees):
        text = f"{match.measured:.3f} measured, {match.simulated:.3f} simulated"
        screen.print(f"  wrong: {match.label}: {' / '.join(match.ways)} takes {text}", markup=False)


def _show_counters(screen: Console, found: Comparison) -> None:
    for name, row in scoring.counter_scores(found.pairs).items():
        of = " of the bytes delivered" if scoring.DRAM_BYTES in name else ""
        text = f"{row['points']} points, median error {row['median']:.2%}{of}, p90 {row['p90']:.2%}"
        screen.print(f"{name}: {text}, {row['agree']:.0%} agree", markup=False)


@contextmanager
def progress(total: int) -> Iterator[OnPoint]:
    """Show on the standard error stream how far a comparison is: a bar, or lines where that is a file."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield _Lines(total).step
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn())
    bar = Progress(*columns, TextColumn("{task.description}"), console=screen)
    task = bar.add_task("", total=total)
    with bar:
        yield lambda label: bar.update(task, advance=1, description=label)


class _Lines:
    """Progress as lines, one every so many points."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.begin = total, 0, time.monotonic()

    def step(self, label: str) -> None:
        """Count a point."""
        self.done += 1
        if self.done % LINE_EVERY == 0 and self.done < self.total:
            left = (time.monotonic() - self.begin) / self.done * (self.total - self.done)
            print(f"[{self.done}/{self.total}] {label}; {left:.0f} s left", file=sys.stderr, flush=True)
