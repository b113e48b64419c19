"""What the command ``compare`` does, once its options are read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from hoppersim.dataset import (
    Dataset,
    dataset_folder,
    error_summary,
    floorplans,
    load_dataset,
    per_sm,
)
from hoppersim.errors import EXIT_TOLERANCE, InputError
from hoppersim.pool import MachineRequest, machine_for, usable_cores
from hoppersim.result.files import write_text
from hoppersim.result.sources import sources_hash
from hw_validate import compare_store as store
from hw_validate.bench import Bench, Task
from hw_validate.compare import Item, Pair, read_rows, read_works, row_items, score
from hw_validate.compare_ablation import Ablated, ablate, possible, sample
from hw_validate.compare_blocks import rewrite_blocks
from hw_validate.compare_csv import read_csv
from hw_validate.compare_items import curve_items, dataset_items
from hw_validate.compare_report import progress, show
from hw_validate.compare_result import Comparison, to_csv, to_json
from hw_validate.compare_run import add_seeds, pair_items, unsure_places
from hw_validate.compare_score import Scores
from hw_validate.pair_latency import HALVES, network_trips, pair_score, part_of

SECONDS_A_WORK = 1.5
"""What simulating a work of the dataset takes one process, on average [s]."""


@dataclass(frozen=True)
class Wanted:
    """What a comparison is made with, and what becomes of it.

    Parameters
    ----------
    request, jobs
        Machine; processes, None takes one a core.
    seeds
        Seeds under which points are simulated whose repeats or merged reads differ.
    ablations
        Points that are simulated without one block after the other, too; 0 for none.
    csv, figures, json
        File of a line for each point; folder of figures; whether JSON is printed in place of tables.
    tolerance
        Largest median error that passes.
    sample
        Points of the selection that are compared, evenly from all kinds of them; 0 for all.
    """

    request: MachineRequest
    jobs: int | None = None
    seeds: int = 1
    ablations: int = 0
    csv: Path | None = None
    figures: Path | None = None
    json: bool = False
    tolerance: float | None = None
    sample: int = 0


def compare_file(wanted: Wanted, measured: Path, plan: Path, only: str) -> None:
    """Compare the runner's rows, or a user's CSV.

    Raises
    ------
    InputError
        If files cannot be read or hold no finished point.
    """
    if measured.suffix == ".csv":
        items = _matching(read_csv(measured), only)
    else:
        items = _matching(list(row_items(read_rows(measured), read_works(plan))), only)
    if not items:
        raise InputError("measurements", str(measured), "must hold at least one finished point of the plan")
    _print(wanted, _compared(wanted, items, {}))


def compare_dataset(wanted: Wanted, selection: str, only: str, run: str, *, write: bool) -> None:
    """Compare the shipped dataset; with `write`, keep the scores there.

    Raises
    ------
    InputError
        If a part of the points, or a changed machine, is to be kept.
    """
    if write and (only or run or wanted.sample or wanted.request.overrides):
        options = "with --only, --run, --sample or --set"
        raise InputError("--write", options, "only whole selections of the preset are kept")
    dataset = load_dataset()
    items = _matching(dataset_items(dataset, selection, run), only)
    if not items:
        raise InputError("--only", only, "must match the label of at least one point")
    if wanted.sample:
        items = sample(items, wanted.sample)
    latencies = {} if only or run or wanted.sample else _latencies(dataset, wanted.request, items)
    found = _compared(wanted, items, latencies)
    folder, request = dataset_folder(), wanted.request
    key = (request.preset, machine_for(request).hash, sources_hash())
    summary = error_summary()
    looked = store.log_look(summary, found.pairs, key)
    if write:
        hashes = {item.id: item.hash for item in items}
        looked = store.summarise(dataset, found, hashes, key, looked)
    if looked != summary and (write or is_checkout(folder)):
        store.store(looked, folder)
    curves = curve_items(dataset, selection, per_sm()) if wanted.figures is not None else []
    _print(wanted, found, _matching(curves, only))


def rewrite_files(paths: Sequence[Path]) -> None:
    """Rewrite the generated blocks of a README and of docs from the dataset and its kept scores."""
    dataset, summary = load_dataset(), error_summary()
    for path in paths:
        names = rewrite_blocks(path, dataset, summary)
        typer.echo(f"{path}: rewritten: {', '.join(names)}")


def is_checkout(folder: Path) -> bool:
    """Whether a dataset lies in a source checkout, where models are fitted and looks must be logged."""
    root = folder.parents[3]
    return (root / "pyproject.toml").is_file() and os.access(folder, os.W_OK)


def _matching(items: list[Item], only: str) -> list[Item]:
    try:
        return [item for item in items if re.search(only, item.label)]
    except re.error as error:
        raise InputError("--only", only, f"must be a regular expression ({error})") from error


def _latencies(dataset: Dataset, request: MachineRequest, items: Sequence[Item]) -> Scores:
    """Score latencies between SMs, if the machine's own part was probed: the half of each kind of point."""
    machine = machine_for(request)
    run = part_of(machine, dataset)
    if run is None:
        return {}
    sides = {"set aside" if item.set_aside else "training" for item in items}
    plan = floorplans()[run]
    return {half: pair_score(machine, network_trips(plan, half)) for half in HALVES if half in sides}


def _compared(wanted: Wanted, items: Sequence[Item], latencies: Scores) -> Comparison:
    if wanted.seeds < 1:
        raise InputError("--seeds", wanted.seeds, "must be at least the one seed of the work", 1)
    if wanted.sample < 0:
        raise InputError("--sample", wanted.sample, "must be a number of points", 0)
    if wanted.ablations < 0:
        raise InputError("--ablations", wanted.ablations, "must be a number of points", 0)
    request, some = wanted.request, sample(items, wanted.ablations)
    rounds = 1 + len(possible(machine_for(request)))
    with Bench(_jobs(wanted)) as bench:
        _announce(bench.missing([Task(item, request) for item in items]), _jobs(wanted))
        with progress(len(items) + rounds * len(some)) as advance:
            found = pair_items(bench, items, request, advance)
            beside = ablate(bench, some, request, advance) if some else Ablated({}, ())
        if wanted.seeds > 1:
            with progress(len(unsure_places(found)) * (wanted.seeds - 1)) as advance:
                found = add_seeds(bench, items, found, request, wanted.seeds, advance)
    return Comparison.of(
        request.preset, found, ablations=beside.pairs, impossible=beside.impossible, pair_scores=latencies
    )


def _announce(works: int, jobs: int) -> None:
    """Say how much there is to simulate, if it takes long, and how to do less."""
    minutes = works * SECONDS_A_WORK / jobs / 60
    if minutes >= 1:
        text = f"{works:,} works to simulate, about {minutes:.0f} min with {jobs} processes"
        typer.echo(f"{text}; less: --sample 100, --points scaling, or --only REGEX", err=True)


def _print(wanted: Wanted, found: Comparison, curves: Sequence[Item] = ()) -> None:
    """Show the comparison in the form that is asked for, then judge it."""
    if wanted.csv is not None:
        write_text(wanted.csv, to_csv(found))
    if wanted.figures is not None:
        _draw(wanted, found, curves, wanted.figures)
    if wanted.json:
        typer.echo(to_json(found))
    else:
        from rich.console import Console

        screen = Console(highlight=False)
        show(screen if screen.is_terminal else Console(highlight=False, width=170), found)
    stable = score(found.stable)
    if wanted.tolerance is not None and (not stable["points"] or stable["median"] > wanted.tolerance):
        raise typer.Exit(EXIT_TOLERANCE)


def _draw(wanted: Wanted, found: Comparison, curves: Sequence[Item], folder: Path) -> None:
    from hw_validate.figures import draw_comparison

    with Bench(_jobs(wanted)) as bench:
        pairs = pair_items(bench, curves, wanted.request)
    for path in draw_comparison(found, [pair for pair in pairs if isinstance(pair, Pair)], folder):
        typer.echo(f"{path} written", err=True)


def _jobs(wanted: Wanted) -> int:
    return wanted.jobs if wanted.jobs is not None else usable_cores()
