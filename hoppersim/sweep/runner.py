"""Runs the points of a study, in this process or in several, with the same rows either way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from hoppersim.errors import HopperSimError, InputError
from hoppersim.pool import MachineRequest, OnCount, load_simulator, machine_for, require_jobs, run_tasks
from hoppersim.program.work import Work
from hoppersim.result.api import simulate
from hoppersim.sweep.figures import measured_figures
from hoppersim.sweep.journal import Journal, Outcome
from hoppersim.sweep.keys import model_hash
from hoppersim.sweep.plan import Plan, plan_sweep
from hoppersim.sweep.points import Point
from hoppersim.sweep.study import Sweep
from hoppersim.sweep.table import SweepResult, make_rows


class Task(msgspec.Struct, frozen=True):
    """What a process needs to simulate a point."""

    request: MachineRequest
    machine_hash: str
    sources: str
    work: Work
    max_cycles: int | None


def run_sweep(
    sweep: Sweep,
    *,
    jobs: int = 1,
    folder: str | Path | None = None,
    on_count: OnCount | None = None,
) -> SweepResult:
    """Simulate all points of a study.

    Parameters
    ----------
    sweep
        The study, made in Python or read by `load_sweep`.
    jobs
        Processes; the rows do not depend on it. With more than one, a script needs the guard
        ``if __name__ == "__main__":``.
    folder
        Where finished points are kept, in ``journal.jsonl``: a run that was killed goes on from there, and a
        study that was changed simulates its new points only. None keeps nothing.
    on_count
        Called with how many simulations are done, and of how many.

    Returns
    -------
    SweepResult
        A row for each point.

    Raises
    ------
    InputError
        If the study is illegal, `jobs` is less than one, or the folder cannot be written.
    LostProcessError
        If a process ended before its point was done; points that were finished are kept.

    Examples
    --------
    >>> from hoppersim import Case, Sweep, run_sweep
    >>> base = Case("multicast", cluster=2, iterations=4)
    >>> done = run_sweep(Sweep("stages", preset="tiny", case=base, axes={"stages": [1, 4]}))
    >>> [row["stages"] for row in done.rows]
    [1, 4]
    """
    return run_plan(plan_sweep(sweep), jobs=jobs, folder=folder, on_count=on_count)


def run_plan(
    plan: Plan, *, jobs: int = 1, folder: str | Path | None = None, on_count: OnCount | None = None
) -> SweepResult:
    """Simulate the points of a plan; see `run_sweep`."""
    require_jobs(jobs)
    wanted = plan.runnable
    with Journal(Path(folder) if folder is not None else None) as journal:
        todo = {key: point for key, point in wanted.items() if key not in journal.known}
        kept = done = len(wanted) - len(todo)
        outcomes = {key: journal.known[key] for key in wanted if key in journal.known}
        report = on_count or (lambda done, count: None)
        report(done, len(wanted))
        for key, outcome in _simulated(todo, plan.sweep.max_cycles, jobs):
            outcomes[key] = outcome
            journal.add(key, outcome)
            done += 1
            report(done, len(wanted))
    return SweepResult(plan, make_rows(plan, outcomes), simulated=len(todo), kept=kept)


def _simulated(points: dict[str, Point], max_cycles: int | None, jobs: int) -> Iterator[tuple[str, Outcome]]:
    """Simulate points as they come."""
    tasks = {
        key: Task(point.request, point.machine_hash, model_hash(), point.work, max_cycles)
        for key, point in points.items()
        if point.work is not None
    }
    return run_tasks(simulate_task, tasks, jobs, start_process)


def start_process() -> None:
    """Load all of the simulator, and then take the hash of the model."""
    load_simulator()
    model_hash()


def simulate_task(task: Task) -> Outcome:
    """Simulate one point; what goes wrong is its outcome, so that the others go on.

    Raises
    ------
    InputError
        If the simulator, or a file of the machine, has changed since the point was planned.
    """
    machine = machine_for(task.request)
    if (model_hash(), machine.hash) != (task.sources, task.machine_hash):
        rule = "the simulator and the files of the machine must stay as they are during a run; run again"
        raise InputError("preset", task.request.preset, rule)
    try:
        result = simulate(machine, task.work, max_cycles=task.max_cycles)
    except MemoryError:
        raise HopperSimError(
            "out of memory; finished points are kept: run again with fewer processes"
        ) from None
    except HopperSimError as error:
        return Outcome("failed", reason=str(error))
    except Exception as error:
        return Outcome("failed", reason=f"{type(error).__name__}: {error}")
    if result.hung:
        return Outcome("hang", reason="; ".join(result.hang) or "the program hangs")
    return Outcome("ok", measured_figures(result))
