"""Runs the points of a study, in this process or in several, with identical rows either way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hoppersim.experiments.registry import find_study
from hoppersim.experiments.study import Row, Study
from hoppersim.pool import MachineRequest, OnCount, machine_for, require_jobs, run_tasks


class Task(NamedTuple):
    """What a process needs to measure a point."""

    study: str
    request: MachineRequest
    point: Any


def measure_point(task: Task) -> Row:
    """Measure one point; what a process runs."""
    return find_study(task.study).measure(machine_for(task.request), task.point)


def run_study(
    study: Study,
    request: MachineRequest,
    points: Sequence[Any],
    jobs: int = 1,
    on_count: OnCount | None = None,
) -> list[Row]:
    """Measure all points, in their order.

    Parameters
    ----------
    study, request, points
        What to measure, on which machine, where.
    jobs
        Processes; the rows do not depend on it.
    on_count
        Called with how many points are done, and of how many.

    Raises
    ------
    InputError
        If `jobs` is less than one, or a point asks for something illegal.
    LostProcessError
        If a process ended before its point was done.
    """
    require_jobs(jobs)
    report = on_count or (lambda done, count: None)
    tasks = {place: Task(study.name, request, point) for place, point in enumerate(points)}
    rows: dict[int, Row] = {}
    report(0, len(tasks))
    for place, row in run_tasks(measure_point, tasks, jobs):
        rows[place] = row
        report(len(rows), len(tasks))
    return [rows[place] for place in tasks]
