"""A comparison in the terminal, and the progress of one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hw_validate import compare_score as scoring
from hw_validate.bench import OnPoint
from hw_validate.compare import Pair, score
from hw_validate.compare_known import known_deviation
from hw_validate.compare_races import race_counts, wrong
from hw_validate.compare_result import Comparison
from hw_validate.compare_score import Scores
from hw_validate.compare_targets import CLOSED_FORM, COMPLETE, Seen, beside

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

FEW = 40
"""Points up to which the terminal shows each of them."""
LINE_EVERY = 20
"""Points between two lines of progress where there is no terminal."""


def show(screen: Console, found: Comparison) -> None:
    """Print the error table, scores by group, what is faster, the worst points, and the unstable ones."""
    if len(found.pairs) <= FEW:
        title = f"measured, and simulated on {found.machine} [SM cycles of the slowest CTA]"
        screen.print(_points_table(title, found.stable))
    if found.table:
        screen.print(_error_table(found.table))
    _show_ablations(screen, found)
    screen.print(_score_table(found.groups, found.baseline))
    _show_races(screen, found)
    _show_counters(screen, found)
    if len(found.pairs) > FEW:
        portion = " of points set aside" if any(pair.set_aside for pair in found.pairs) else ""
        screen.print(_points_table(f"largest errors{portion}", found.worst))
    rest = scoring.unstable(found.pairs)
    if rest:
        inside = sum(scoring.inside_range(pair) for pair in rest)
        title = f"repeats differ by more than 5 %: {inside} of {len(rest)} simulated inside their range"
        screen.print(_unstable_table(title, rest[:FEW]))
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

    names = ("point", "mode, memory", "measured", "spread", "simulated", "error", "bound", "floor", "limiter",
             "in flight", "deviation")  # fmt: skip
    table = _table(escape(title), names)
    for pair in pairs:
        bound = "-" if pair.bound is None else f"{pair.bound:,.0f}"
        figures = (f"{pair.measured:,.0f}", f"{pair.spread:.1%}", f"{pair.simulated:,.0f}")
        limiter = f"{pair.limiter} {pair.share:.0%}" if pair.limiter else ""
        rest = (
            f"{pair.error:+.1%}",
            bound,
            f"{pair.floor:,.0f}",
            limiter,
            f"{pair.in_flight / 1024:.0f} KB",
            known_deviation(pair.tags) or "-",
        )
        table.add_row(escape(pair.label), f"{pair.mode}, {pair.memory}", *figures, *rest)
    return table


def _unstable_table(title: str, pairs: Sequence[Pair]) -> Table:
    from rich.markup import escape

    table = _table(escape(title), ("point", "measured from", "to", "simulated from", "to", "seeds"))
    for pair in pairs:
        times = (pair.simulated, *(one.cycles for one in pair.seeds))
        measured = pair.repeats or (round(pair.measured),)
        ends = (min(measured), max(measured), min(times), max(times))
        table.add_row(escape(pair.label), *(f"{end:,.0f}" for end in ends), str(len(times)))
    return table


def _error_table(rows: Sequence[Seen]) -> Table:
    title = "error table; met: no, yes (what is required), or the aim"
    names = ("figure", "points of", "number", "seen", "met", "required", "aim", "closed form")
    table = _table(title, names)
    for row in rows:
        target = row.target
        other = row.beside.get(CLOSED_FORM)
        form = "at least " if target.at_least else ""
        limits = (f"{form}{target.text(target.required)}", f"{form}{target.text(target.aim)}")
        seen = (str(row.points), target.text(row.seen), row.met)
        table.add_row(target.name, row.portion, *seen, *limits, target.text(other) if other else "-")
    return table


def _show_ablations(screen: Console, found: Comparison) -> None:
    if found.ablations:
        count = len(found.ablations[COMPLETE]) if COMPLETE in found.ablations else 0
        title = f"the same without one block, on {count} of the points"
        table = _table(title, ("figure", "points of", *found.ablations))
        for row in (row for row in found.table if row.beside.keys() & found.ablations.keys()):
            others = [row.beside.get(name) for name in found.ablations]
            cells = [row.target.text(other) if other else "-" for other in others]
            table.add_row(row.target.name, row.portion, *cells)
        screen.print(table)
    for name in found.unearned:
        screen.print(f"earns nothing on these points: the block that '{name}' takes away", markup=False)
    for name in found.impossible:
        screen.print(f"not taken away: {name}: {found.machine} has no parameter for it", markup=False)


def _score_table(simulator: Scores, baseline: Scores) -> Table:
    title = "size of the error, stable points; closed form: the larger of bound and software floor"
    names = ("group", "points", "median", "p90", "worst", "bias", "closed form median", "p90")
    table = _table(title, names)
    for name, figures in simulator.items():
        other = baseline.get(beside(CLOSED_FORM, name))
        others = [f"{other[key]:.1%}" for key in ("median", "p90")] if other else ["-", "-"]
        cells = [f"{figures[key]:.1%}" for key in ("median", "p90", "worst")]
        table.add_row(name, str(figures["points"]), *cells, f"{figures['bias']:+.1%}", *others)
    return table


def _show_races(screen: Console, found: Comparison) -> None:
    for name, row in race_counts(found.races).items():
        share = f" ({row['agree'] / row['pairs']:.0%})" if row["pairs"] else ""
        rest = (
            f"; {row['within_spread']} more differ by less than their repeats" if row["within_spread"] else ""
        )
        screen.print(f"faster way, {name}: {row['agree']} of {row['pairs']} right{share}{rest}", markup=False)
    for race in wrong(found.races):
        screen.print(
            f"  wrong by {race.margin:.1%}: {race.label}: {' / '.join(race.ways)} takes {race.measured:.3f} "
            f"measured (spread {race.spread:.3f}), {race.simulated:.3f} simulated", markup=False,
        )  # fmt: skip


def _show_counters(screen: Console, found: Comparison) -> None:
    for name, row in found.counters.items():
        if "median" in row:
            text = f"{row['points']} points, median error {row['median']:.2%}, p90 {row['p90']:.2%}"
            screen.print(f"{name}: {text}, {row['agree']:.0%} within 1 %", markup=False)


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
