"""``hoppersim experiment``: run a study, show its table, write its data and figures, say what it finds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hoppersim.cli.options import DEFAULT_PRESET, Json, Plan, Preset, Settings
from hoppersim.cli.progress import ProgressBar
from hoppersim.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from hoppersim.experiments.study import Row, Study

LIST = "list"


def experiment(
    name: Annotated[str, typer.Argument(help="Study to run, or list.")] = LIST,
    quick: Annotated[
        bool, typer.Option("--quick", "-q", help="Shorter runs: seconds instead of minutes.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for files.", show_default="./out/NAME"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", help="Processes.", show_default="one a core")
    ] = None,
    preset: Preset = DEFAULT_PRESET,
    settings: Settings = None,
    floorplan: Plan = None,
    json: Json = False,
) -> None:
    """Run a study: its table, figures, data files and finding.

    Results do not depend on the number of processes.

    Examples:

      hoppersim experiment list

      hoppersim experiment cluster_scaling --quick

      hoppersim experiment cluster_scaling -j 2 --out results --set lrc.enabled=0
    """
    if name == LIST:
        _list()
        return
    from hoppersim.cli.options import announce_compilation, open_machine
    from hoppersim.cli.render import console, show_files
    from hoppersim.experiments.registry import find_study
    from hoppersim.experiments.runner import run_study
    from hoppersim.pool import MachineRequest, usable_cores

    study = find_study(name)
    folder = out if out is not None else Path("out") / name
    if folder.exists() and not folder.is_dir():
        raise InputError("--out", str(folder), "must be a folder: a file has this name")
    request = MachineRequest(preset, tuple(settings or ()), floorplan)
    points = study.points(open_machine(preset, settings, floorplan), quick)
    announce_compilation()
    started = time.monotonic()
    with ProgressBar(study.name, len(points)) as bar:
        rows = run_study(study, request, points, usable_cores() if jobs is None else jobs, bar.at)
    files = write_files(study, rows, folder)
    if json:
        typer.echo(_document(study, rows), nl=False)
        return
    screen = console()
    _show(screen, study, rows)
    show_files(screen, files)
    screen.print(f"{len(points)} points in {time.monotonic() - started:.1f} s.", markup=False)


def write_files(study: Study, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write data and figures, each file whole or not at all."""
    from hoppersim.plots.registry import draw_study
    from hoppersim.result.files import write_text
    from hoppersim.result.table_files import write_tables

    file = folder / f"{study.name}.json"
    write_text(file, _document(study, rows))
    return [file, *write_tables(folder / study.name, rows), *draw_study(study, rows, folder)]


def _document(study: Study, rows: Sequence[Row]) -> str:
    from hoppersim.result.export import to_json

    document: dict[str, Any] = {
        "schema": "hoppersim.study/1",
        "study": study.name,
        "title": study.title,
        "finding": study.finding(list(rows)),
        "rows": rows,
    }
    return to_json(document)


def _list() -> None:
    from rich.table import Table

    from hoppersim.cli.render import console
    from hoppersim.experiments.registry import find_study, study_names

    table = Table("study", "answers")
    for name in study_names():
        table.add_row(name, find_study(name).question)
    console().print(table)


def _show(screen: Console, study: Study, rows: Sequence[Row]) -> None:
    from rich.table import Table

    from hoppersim.cli.render import provisional_note

    for value, group in groupby(rows, key=lambda row: row[study.group.key]):
        table = Table(title=f"{study.title} ({study.group.heading}: {value})", title_justify="left")
        for number, column in enumerate(study.columns):
            table.add_column(column.heading, justify="right" if column.form else "left", no_wrap=number == 0)
        for row in group:
            table.add_row(*(column.text(row) for column in study.columns))
        screen.print(table)
    for row in rows:
        if row["status"] != "ok":
            screen.print(f"left out: {study.row_name(row)}: {row['status']}", markup=False)
    for sentence in study.finding(list(rows)):
        screen.print(f"* {sentence}", markup=False)
    note = provisional_note(max((row.get("provisional") or 0 for row in rows), default=0))
    if note:
        screen.print(note, markup=False)
