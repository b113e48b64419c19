"""What the command ``compare`` does, once its options are read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from hoppersim.dataset import dataset_folder, error_summary, load_dataset
from hoppersim.errors import EXIT_TOLERANCE, InputError
from hw_validate import compare_store as store
from hw_validate.compare import Item, dataset_items, read_rows, read_works, row_items, score
from hw_validate.compare_readme import measured_block, replace_block
from hw_validate.compare_report import Comparison, progress, show, to_csv, to_json
from hw_validate.compare_run import Request, machine_for, model_hash, simulate_items


@dataclass(frozen=True)
class Wanted:
    """Machine, processes, where a CSV goes, whether JSON is printed, largest median error that passes."""

    request: Request
    jobs: int | None = None
    csv: Path | None = None
    json: bool = False
    tolerance: float | None = None


def compare_rows(wanted: Wanted, rows: Path, plan: Path, only: str) -> None:
    """Compare the runner's rows.

    Raises
    ------
    InputError
        If files cannot be read or hold no finished point.
    """
    items = _matching(list(row_items(read_rows(rows), read_works(plan))), only)
    if not items:
        raise InputError("measurements", str(rows), "must hold at least one finished point of the plan")
    _print(wanted, _compared(wanted, items))


def compare_dataset(wanted: Wanted, selection: str, only: str, run: str, *, write: bool) -> None:
    """Compare the shipped dataset; with `write`, keep the scores there.

    Raises
    ------
    InputError
        If a part of the points, or a changed machine, is to be kept.
    """
    if write and (only or run or wanted.request.settings):
        raise InputError(
            "--write", "with --only, --run or --set", "only whole selections of the preset are kept"
        )
    dataset = load_dataset()
    items = _matching(dataset_items(dataset, selection, run), only)
    if not items:
        raise InputError("--only", only, "must match the label of at least one point")
    found = _compared(wanted, items)
    folder, request = dataset_folder(), wanted.request
    key = (request.preset, machine_for(request).hash, model_hash())
    summary = error_summary()
    looked = store.log_look(summary, found.pairs, key)
    if write:
        hashes = {item.id: item.hash for item in items}
        looked = store.summarise(dataset, found.pairs, hashes, key, looked)
    if looked != summary and (write or is_checkout(folder)):
        store.store(looked, folder)
    _print(wanted, found)


def rewrite_readme(path: Path) -> None:
    """Rewrite the measured table of a README from the dataset and its kept scores."""
    replace_block(path, measured_block(load_dataset(), error_summary()))
    typer.echo(f"{path}: measured table rewritten")


def is_checkout(folder: Path) -> bool:
    """Whether a dataset lies in a source checkout, where models are fitted and looks must be logged."""
    root = folder.parents[3]
    return (root / "pyproject.toml").is_file() and os.access(folder, os.W_OK)


def _matching(items: list[Item], only: str) -> list[Item]:
    try:
        return [item for item in items if re.search(only, item.label)]
    except re.error as error:
        raise InputError("--only", only, f"must be a regular expression ({error})") from error


def _compared(wanted: Wanted, items: Sequence[Item]) -> Comparison:
    jobs = wanted.jobs if wanted.jobs is not None else _cores()
    with progress(len(items)) as advance:
        found = simulate_items(items, wanted.request, jobs, advance)
    return Comparison.of(wanted.request.preset, found)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _print(wanted: Wanted, found: Comparison) -> None:
    """Show the comparison in the form that is asked for, then judge it."""
    if wanted.csv is not None:
        wanted.csv.write_text(to_csv(found), encoding="utf-8")
    if wanted.json:
        typer.echo(to_json(found))
    else:
        from rich.console import Console

        screen = Console(highlight=False)
        show(screen if screen.is_terminal else Console(highlight=False, width=150), found)
    stable = score(found.stable)
    if wanted.tolerance is not None and (not stable["points"] or stable["median"] > wanted.tolerance):
        raise typer.Exit(EXIT_TOLERANCE)
