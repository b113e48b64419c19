"""Runs the points of a study, in this process or in several, with identical rows either way."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

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
    with _mapper(jobs) as apply:
        for row in apply(study.name, request, points):
            rows.append(row)
            if on_row is not None:
                on_row(row)
    return rows


Mapper = Callable[[str, MachineRequest, Sequence[Any]], Iterator[Row]]


@contextmanager
def _mapper(jobs: int) -> Iterator[Mapper]:
    if jobs == 1:
        yield lambda name, request, points: (measure_point(name, request, point) for point in points)
        return
    # Forking a process that has started threads (numba's, matplotlib's) is unsafe.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=jobs, mp_context=context) as pool:
        try:
            yield lambda name, request, points: pool.map(
                measure_point, [name] * len(points), [request] * len(points), points
            )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
