"""``hoppersim sweep``: explore a design space, show its table and its Pareto set, say what it finds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hoppersim.cli.options import Json, Settings
from hoppersim.cli.progress import ProgressBar
from hoppersim.errors import EXIT_INTERNAL, EXIT_INTERRUPTED, InputError

if TYPE_CHECKING:
    from rich.table import Table

    from hoppersim.sweep.plan import Plan
    from hoppersim.sweep.study import Sweep
    from hoppersim.sweep.table import Row, SweepResult

MOST_SHOWN = 60
"""Rows that the terminal shows at most; the files have all."""


def sweep(
    study: Annotated[Path, typer.Argument(help="Study file, .toml.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for files.", show_default="./out/NAME"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", help="Processes.", show_default="one a core")
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", "-p", metavar="NAME", help="Machine instead of the study's.")
    ] = None,
    settings: Settings = None,
    floorplan: Annotated[
        str | None, typer.Option("--floorplan", metavar="FILE", help="Floorplan instead of the study's.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the study and count its points; simulate nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Explore a design space: vary numbers of the machine and of the work.

    A study file says what varies and what counts. Finished points are kept
    in the folder: a run that was stopped goes on where it was, and a study
    that was changed simulates its new points only. Rows do not depend on
    the number of processes. Exit code 1 if a point failed.

    Examples:

      hoppersim sweep experiments/gpc_port_width.toml

      hoppersim sweep study.toml --dry-run

      hoppersim sweep study.toml -j 2 --out results --set lrc.enabled=0 --json
    """
    from hoppersim.cli.options import announce_compilation
    from hoppersim.pool import require_jobs, usable_cores
    from hoppersim.sweep.files import load_sweep
    from hoppersim.sweep.runner import run_plan

    jobs = usable_cores() if jobs is None else jobs
    require_jobs(jobs)
    asked = _changed(load_sweep(study), preset, settings, floorplan)
    plan = _planned(asked)
    folder = out if out is not None else Path("out") / asked.name
    if dry_run:
        typer.echo(_count(plan))
        return
    announce_compilation()
    started = time.monotonic()
    bar = ProgressBar(asked.name, len(plan.runnable))
    try:
        with bar:
            result = run_plan(plan, jobs=jobs, folder=folder, on_count=bar.at)
    except KeyboardInterrupt:
        typer.echo(f"Stopped. Finished points are kept in {folder}: run the same command to go on.", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    files = _write(result, folder)
    if json:
        from hoppersim.result.export import to_json

        typer.echo(to_json(result.document()), nl=False)
    else:
        _show(result, files, time.monotonic() - started)
    if any(row["status"] == "failed" for row in result.rows):
        raise typer.Exit(EXIT_INTERNAL)


def _changed(
    asked: Sweep, preset: str | None, settings: Sequence[str] | None, floorplan: str | None
) -> Sweep:
    """Put the options of the command in the place of the study's own."""
    from msgspec.structs import replace

    numbers = dict(asked.settings)
    for text in settings or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise InputError("--set", text, "must read path=value", f"{name or 'lrc.enabled'}=<value>")
        if name in asked.varied:
            raise InputError("--set", text, f"changes {name}, which the study varies")
        numbers[name] = value
    return replace(
        asked, preset=preset or asked.preset, floorplan=floorplan or asked.floorplan, settings=numbers
    )


def _planned(asked: Sweep) -> Plan:
    from hoppersim.sweep.plan import plan_sweep

    with ProgressBar("checking", 1) as bar:
        return plan_sweep(asked, bar.at)


def _count(plan: Plan) -> str:
    points = len(plan.points)
    left = sum(not point.key for point in plan.points)
    return f"{points:,} points: {len(plan.runnable):,} simulations, {left:,} points cannot run or lie outside"


def _write(result: SweepResult, folder: Path) -> list[Path]:
    from hoppersim.plots.sweep import draw_sweep

    return result.write(folder) + draw_sweep(result, folder)


def _show(result: SweepResult, files: Sequence[Path], seconds: float) -> None:
    from hoppersim.cli.render import console, provisional_note, show_files

    screen = console()
    screen.print(_table(result, screen.width))
    shown = _chosen(result)
    if len(shown) < len(result.rows):
        screen.print(f"{len(shown)} of {len(result.rows):,} rows; the files have all.", markup=False)
    for reason in dict.fromkeys(
        row["reason"] for row in shown if row["status"] in ("refused", "failed", "hang")
    ):
        screen.print(f"left out: {reason}", markup=False)
    for sentence in result.finding:
        screen.print(f"* {sentence}", markup=False)
    note = provisional_note(result.provisional)
    if note:
        screen.print(note, markup=False)
    show_files(screen, files)
    counted = f"{result.simulated:,} points simulated, {result.kept:,} kept from before"
    screen.print(f"{counted}, in {seconds:.1f} s.", markup=False)


def _table(result: SweepResult, room: int) -> Table:
    """Lay the rows out; cells are broken only where the table has no room otherwise."""
    from rich.markup import escape
    from rich.table import Table

    from hoppersim.sweep.figures import heading, show

    columns, asked = result.plan.columns, result.plan.sweep
    table = Table(title=escape(asked.question or asked.name), title_justify="left")
    hidden = {"point", "reason"} | (
        set() if any(row["status"] != "ok" for row in result.rows) else {"status"}
    )
    names = [name for name in result.rows[0] if name not in hidden]
    cells = [[escape(show(name, row[name])) for name in names] for row in _chosen(result)]
    headings = [escape(heading(name, columns.units.get(name, ""))) for name in names]
    parts = (
        [*words.split(), *column] for words, column in zip(headings, zip(*cells, strict=True), strict=True)
    )
    widths = [max(map(len, part)) for part in parts]
    fits = sum(widths) + 3 * len(widths) + 1 <= room
    for name, words, width in zip(names, headings, widths, strict=True):
        is_number = name in columns.units and any(isinstance(row[name], int | float) for row in result.rows)
        side: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(words, justify=side, width=width if fits else None, overflow="fold")
    for line in cells:
        table.add_row(*line)
    return table


def _chosen(result: SweepResult) -> list[Row]:
    """Give all rows, or where they are many the Pareto set, or else the first ones."""
    if len(result.rows) <= MOST_SHOWN:
        return result.rows
    return (result.pareto or result.rows)[:MOST_SHOWN]
