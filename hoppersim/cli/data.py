"""``hoppersim data``: the measurements that the package ships, and a check of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hoppersim.cli.options import DEFAULT_PRESET, Json
from hoppersim.errors import EXIT_VIOLATIONS

if TYPE_CHECKING:
    from hoppersim.dataset import Dataset, ErrorSummary

app = typer.Typer(
    help="Show and verify measurements of real GPUs.", no_args_is_help=True, rich_markup_mode="rich"
)

Name = Annotated[str, typer.Argument(metavar="DATASET", help="Dataset, by name or folder.")]


@app.command()
def show(name: Name = "h200", json: Json = False) -> None:
    """Summarise a dataset: parts, points, what is set aside, and how far the simulator is off.

    Examples:

      hoppersim data show

      hoppersim data show h200 --json
    """
    from hoppersim.dataset import error_summary, load_dataset

    dataset, summary = load_dataset(name), error_summary(name)
    if json:
        from hoppersim.result.export import to_json

        typer.echo(to_json({"manifest": dataset.manifest, "errors": summary}), nl=False)
        return
    _show(dataset, summary)


@app.command()
def verify(name: Name = "h200") -> None:
    """Check files, counts, hashes and figures of a dataset; exit code 3 if something is wrong.

    Examples:

      hoppersim data verify

      hoppersim data verify my_dataset
    """
    from hoppersim.dataset import verify_dataset

    found = verify_dataset(name)
    for problem in found.problems:
        typer.echo(f"wrong: {problem}")
    typer.echo(
        f"{name}: {found.points:,} points, {found.rebuilt:,} works built again with the same hash, "
        f"{found.size / 1e6:.2f} MB, {len(found.problems)} problems"
    )
    if found.problems:
        raise typer.Exit(EXIT_VIOLATIONS)


@app.callback()
def root() -> None:
    """Show and verify measurements of real GPUs."""


def _show(dataset: Dataset, summary: ErrorSummary) -> None:
    from hoppersim.cli.render import console

    screen = console(wide=True)
    screen.print(_runs_table(dataset))
    screen.print(_plans_table(dataset))
    aside = sum(count for why, count in dataset.manifest.set_aside.items() if why)
    reasons = ", ".join(f"{why} {count}" for why, count in dataset.manifest.set_aside.items() if why)
    unstable = sum(not point.stable for point in dataset.finished())
    checked = sum(point.verified is True for point in dataset.points)
    agree = sum(row.agrees for row in dataset.litmus)
    lines = [
        f"{len(dataset.points):,} points; {aside} set aside for scoring ({reasons or 'none'})",
        f"{checked} with received data checked right, {unstable} whose repeats differ by more than 5 %",
        f"{len(dataset.counters)} with counters; {agree} of {len(dataset.litmus)} litmus flows as required",
        *_error_lines(summary),
    ]
    for line in lines:
        screen.print(line, markup=False)


def _runs_table(dataset: Dataset) -> Any:
    from rich.table import Table

    table = Table(title=f"dataset {dataset.manifest.name}", title_justify="left")
    for heading in ("", "run", "part", "driver", "clocks", "points", "compiler"):
        table.add_column(heading, overflow="fold")
    for number, run in enumerate(dataset.manifest.runs, 1):
        points = ", ".join(f"{count} {status}" for status, count in run.statuses.items())
        clocks = f"SM {run.clock_khz / 1e3:,.0f} MHz, memory {run.memory_clock_khz / 1e3:,.0f} MHz"
        part = f"{run.device} {run.uuid[:12]}"
        table.add_row(
            str(number), run.run, part, f"CUDA {run.driver / 1000:.1f}", clocks, points, run.compiler
        )
    return table


def _plans_table(dataset: Dataset) -> Any:
    from rich.table import Table

    runs = dataset.manifest.runs
    table = Table("plan", title="points by plan and number of the run", title_justify="left")
    for heading in ("all", *map(str, range(1, len(runs) + 1))):
        table.add_column(heading, justify="right")
    for plan in sorted({plan for run in runs for plan in run.plans}):
        counts = [run.plans.get(plan, 0) for run in runs]
        table.add_row(plan, str(sum(counts)), *(str(count) if count else "-" for count in counts))
    return table


def _error_lines(summary: ErrorSummary) -> list[str]:
    """Say what the last comparison found, and whether it is of the present preset."""
    if not summary.date:
        return ["Not compared with the simulator yet: python -m hw_validate compare --write"]
    from hoppersim.machine.loading import load_machine

    lines = [
        f"{name}: {row['points']:.0f} stable points, median error {row['median']:.1%}, p90 {row['p90']:.1%}"
        for name, row in summary.groups.items()
        if ":" not in name
    ]
    lines.append(f"Compared on {summary.date}; looks at the set-aside score: {len(summary.looks)}")
    if summary.preset == DEFAULT_PRESET and load_machine(DEFAULT_PRESET).hash != summary.preset_hash:
        lines.append("The preset has changed since: python -m hw_validate compare --write")
    return lines
