"""Runs the points of a study, in this process or in several, with identical rows either way."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Any

from hoppersim.engine.compiled.fabric import is_compiled
from hoppersim.errors import InputError
from hoppersim.experiments.registry import find_study
from hoppersim.experiments.study import MachineRequest, Row, Study
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine

OnRow = Callable[[Row], None]


@lru_cache(maxsize=4)
def machine_for(request: MachineRequest) -> Machine:
    """Load the machine of a request once in each process."""
    return load_machine(request.preset, request.overrides, request.floorplan)


def measure_point(name: str, request: MachineRequest, point: Any) -> Row:
    """Measure one point of a study by its name; what a worker process runs."""
    return find_study(name).measure(machine_for(request), point)


def run_study(
    study: Study,
    request: MachineRequest,
    points: Sequence[Any],
    jobs: int = 1,
    on_row: OnRow | None = None,
) -> list[Row]:
    """Measure all points, in their order.

    Parameters
    ----------
    study, request, points
        What to measure, on which machine, where.
    jobs
        Processes; the rows do not depend on it.
    on_row
        Called with each row as it becomes known, in order.

    Raises
    ------
    InputError
        If `jobs` is less than one, or a point asks for something illegal.
    """
    if jobs < 1:
        raise InputError("--jobs", jobs, "must be at least one process", 1)
    rows = []
    for row in _measured(study.name, request, points, jobs):
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return rows


def _measured(name: str, request: MachineRequest, points: Sequence[Any], jobs: int) -> Iterator[Row]:
    """Measure the points; a first use compiles the kernel here, once, instead of in every process."""
    alone = len(points) if jobs == 1 else 0 if is_compiled() else 1
    yield from (measure_point(name, request, point) for point in points[:alone])
    rest = points[alone:]
    if not rest:
        return
    # Forking a process that has started threads (numba's, matplotlib's) is unsafe.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=min(jobs, len(rest)), mp_context=context) as pool:
        try:
            yield from pool.map(measure_point, [name] * len(rest), [request] * len(rest), rest)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
