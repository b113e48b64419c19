"""What the shipped dataset says about a run: the same work on silicon, and how wrong works like it are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from hoppersim.dataset import Point, dataset_names, error_summary, load_dataset
from hoppersim.machine.inheritance import preset_names
from hoppersim.machine.loading import load_machine
from hoppersim.machine.provenance import TAKEN_OVER
from hoppersim.program.canonical import work_hash
from hoppersim.program.case_spec import MODES, Case
from hoppersim.program.cases import build_case
from hoppersim.program.work import Work
from hoppersim.result.schema import Measured, Result

LONGER = (64, 128, 256)
"""Trips with which the dataset ran most loops: a shorter run of such a loop is compared in proportion."""
LEAST_ROUNDS = 8
"""Rounds of its ring below which a shorter run is mostly the filling and emptying of it, and not compared."""
LEAST_POINTS = 10
"""Points below which a group of the error summary says too little."""
DATASET = "h200"


class ModelError(NamedTuple):
    """How far simulated times were from measured ones.

    Attributes
    ----------
    kind
        What was compared: ``mode multicast``, ``memory hbm``, or empty for everything.
    points, median, p90
        Points that no fit has read, their median error, and the error that nine of ten stay within [share].
    preset
        The machine that was compared.
    """

    kind: str
    points: int
    median: float
    p90: float
    preset: str


def find_measured(result: Result, case: Case | None = None) -> Measured | None:
    """Look up what silicon took for the work of a Result.

    Parameters
    ----------
    result
        A run on the unchanged preset that the dataset's part was compared with; others have no counterpart.
    case
        The case that the work was built from; a longer run of the same loop counts in proportion then.
    """
    if result.hung or not _is_compared(result):
        return None
    point = _points().get(result.work_hash)
    if point is not None:
        return _measured(result, point, 1.0, 0)
    if case is None or case.iterations < LEAST_ROUNDS * case.stages:
        return None
    for trips in LONGER:
        longer = _points().get(work_hash(build_case(replace(case, iterations=trips))))
        if trips > case.iterations and longer is not None:
            return _measured(result, longer, case.iterations / trips, trips)
    return None


def model_error(*results: Result) -> ModelError | None:
    """Give the error to expect of runs: the greatest among the kinds of work that they belong to.

    Returns
    -------
    ModelError | None
        That of the preset which was compared with silicon; for a machine that takes numbers over from it, the
        least to expect. None for any other machine.
    """
    summary = error_summary(DATASET) if DATASET in dataset_names() else None
    if summary is None or not all(_is_like(result, summary.preset) for result in results):
        return None
    kinds = {"", *(kind for result in results for kind in _kinds(result))}
    found = []
    for kind in sorted(kinds):
        group = summary.groups.get(f"set aside: {kind}" if kind else "set aside")
        if group is not None and group["points"] >= LEAST_POINTS:
            figures = int(group["points"]), group["median"], group["p90"]
            found.append(ModelError(kind, *figures, summary.preset))
    return max(found, key=lambda error: error.p90, default=None)


def _is_like(result: Result, preset: str) -> bool:
    """Tell whether a run's machine is a preset, or takes numbers over from it."""
    taken = result.source is not None and f"{TAKEN_OVER} {preset} " in result.source.machine
    return result.machine == preset or taken


def _kinds(result: Result) -> Iterator[str]:
    """Name the groups of the error summary that a work belongs to."""
    modes = [mode for mode in MODES if result.work.startswith(f"{mode}_c")]
    yield from (f"mode {mode}" for mode in modes)
    if result.source is not None and modes:
        yield f"memory {_memory(result.source.work)}"


def _memory(work: Work) -> str:
    """Tell where the tiles of a case lie, in the words of the error summary."""
    flow = work.flows[0]
    return flow.program.name.rsplit("_", 1)[-1] if flow.launch.warm else "hbm"


def _is_compared(result: Result) -> bool:
    """Tell whether a run's machine is the preset of the comparison, unchanged."""
    if DATASET not in dataset_names():
        return False
    preset = error_summary(DATASET).preset
    return preset in preset_names() and result.machine_hash == _preset_hash(preset)


@cache
def _preset_hash(name: str) -> str:
    return load_machine(name).hash


@cache
def _points() -> dict[str, Point]:
    """Give the measured point of every work, that of the first run where several measured it."""
    found: dict[str, Point] = {}
    for point in load_dataset(DATASET).finished():
        if point.lowering_is_default and point.cycles:
            found.setdefault(point.hash, point)
    return found


def _measured(result: Result, point: Point, share: float, of_trips: int) -> Measured:
    runs = {run.run: run.device for run in load_dataset(DATASET).manifest.runs}
    assert point.cycles is not None
    cycles = point.cycles * share
    return Measured(
        device=runs[point.run],
        cycles=cycles,
        spread=point.spread or 0.0,
        error=(result.cycles - cycles) / min(result.cycles, cycles),
        of_trips=of_trips,
    )
