"""What ``hw_validate probe`` does beside measuring: names of steps, rows of a file, tables."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from hoppersim.errors import InputError
from hoppersim.machine.loading import load_machine
from hw_validate import probe_runner
from hw_validate.probe_runner import FAILED, NAMES, supervise
from hw_validate.rowfile import read_rows

Rows = dict[str, dict[str, Any]]
RUNNER = Path(probe_runner.__file__)
PRESET = "h200_sxm"
"""Says how many slices the L2 has, which no probe counts."""
NOTHING_TO_SHOW = (probe_runner.EXIT_NO_DEVICE, probe_runner.EXIT_INTERRUPTED)
"""Exit codes after which there is nothing new to print."""


def check_steps(only: Sequence[str]) -> None:
    """Refuse names that are no steps.

    Raises
    ------
    InputError
        Names the nearest step.
    """
    for name in only:
        if name not in NAMES:
            nearest = difflib.get_close_matches(name, NAMES, 1, 0.0)[0]
            raise InputError("--only", name, f"must be one of {', '.join(NAMES)}", nearest)


def measure(out: Path, only: Sequence[str], bundle_only: Path | None) -> int:
    """Compile the kernels and run the steps, or only write what a GPU machine needs; give the exit code."""
    from hw_validate.probe_bundle import make_probe_bundle

    folder = bundle_only or out.with_name(f"{out.stem}.bundle")
    make_probe_bundle(folder)
    if bundle_only is not None:
        typer.echo(f"{folder} written; run it with: python {RUNNER} {folder} {out}")
        return 0
    return supervise(folder, out, only)


def read_probe(path: Path) -> Rows:
    """Read the rows of the part that a probe's file names last, by step.

    Raises
    ------
    InputError
        If the file holds no row of a probe.
    """
    try:
        found = [row for row in read_rows(path) if row.get("uuid")]
    except (OSError, ValueError, AttributeError) as error:
        raise InputError("probe", str(path), f"must be JSON lines of a probe ({error})") from error
    steps = [row for row in found if row.get("row") in NAMES]
    if not steps:
        raise InputError("probe", str(path), "must be a file that hw_validate probe wrote")
    uuid = steps[-1]["uuid"]
    return {row["row"]: row for row in steps if row["uuid"] == uuid}


def failures(path: Path, rows: Rows) -> list[str]:
    """List the steps that gave nothing, with the reason, unless they did later."""
    last = {row["step"]: row for row in read_rows(path) if row.get("row") == FAILED}
    return [f"{name}: {row['status']}: {row['why']}" for name, row in last.items() if name not in rows]


def show(path: Path, tables: Path | None = None) -> None:
    """Print the report of a file, and write the part's tables into a folder where they are wanted."""
    from hw_validate.probe_report import report

    rows = read_probe(path)
    typer.echo(report(rows))
    for text in failures(path, rows):
        typer.echo(text)
    if tables is not None:
        from hw_validate.probe_tables import write_tables

        for written in write_tables(tables, rows, load_machine(PRESET).spec.l2.slices):
            typer.echo(f"{written} written")
