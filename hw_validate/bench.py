"""Simulates works in several processes, and keeps what is done, so that a rerun goes on from it.

A kept simulation counts for one work, one seed, one machine and one state of the simulator's sources; a
change of any of them simulates anew.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from hoppersim.errors import HopperSimError, InputError
from hoppersim.machine.machine import Machine
from hoppersim.pool import MachineRequest, Processes, load_simulator, machine_for, require_jobs
from hoppersim.program.work import Work
from hoppersim.result.api import simulate_with_stamps
from hoppersim.result.sources import sources_hash
from hw_validate.compare import Item
from hw_validate.compare_curves import Pace, pace_of
from hw_validate.counters import METRICS

CACHE_VARIABLE = "HOPPERSIM_CACHE"
LAYOUT = 5
"""Raised when `Simulated` or its meaning changes, so that what was kept in another form is not read."""
OnPoint = Callable[[str], None]


class Simulated(msgspec.Struct, frozen=True):
    """What one simulation gave.

    Attributes
    ----------
    cycles, mean, bound
        Time of the slowest CTA, mean over the SMs, and the bound with reads merged [cycle]; None where there
        is none.
    limiter, share
        What sets the time, and how busy it was [0..1].
    pace
        Interval and latency of its boxes, where the work stamps them.
    delivered, counters
        Bytes delivered [B], totals by name.
    ctas
        CTAs that ran.
    error
        Why there is no time; "" if there is one.
    """

    cycles: float | None = None
    mean: float | None = None
    bound: float | None = None
    limiter: str = ""
    share: float = 0.0
    pace: Pace | None = None
    delivered: int = 0
    counters: dict[str, int] = {}
    error: str = ""
    ctas: int = 0


class Task(NamedTuple):
    """One work to simulate: the point that it belongs to, the machine, and the seed of the launch."""

    item: Item
    request: MachineRequest
    seed: int = 0

    @property
    def machine(self) -> MachineRequest:
        """The machine, in the state of the GPU that measured the point."""
        if not self.item.state:
            return self.request
        return MachineRequest(
            self.request.preset, (*self.item.state, *self.request.overrides), self.request.floorplan
        )

    @property
    def key(self) -> str:
        """Name of the simulation among those of its machine."""
        return f"{self.item.hash}@{self.seed}" if self.seed else self.item.hash

    @property
    def work(self) -> Work:
        """The work, started with the seed."""
        if not self.seed:
            return self.item.work
        flows = (replace(flow, launch=replace(flow.launch, seed=self.seed)) for flow in self.item.work.flows)
        return Work(tuple(flows))


class Parcel(NamedTuple):
    """What a process gets to simulate a work; `sources` names the simulator that asks for it."""

    machine: Machine
    work: Work
    sources: str


def simulate_parcel(parcel: Parcel) -> Simulated:
    """Simulate one work.

    Raises
    ------
    InputError
        If this process has loaded another simulator than the one that asks.
    """
    if sources_hash() != parcel.sources:
        rule = "its sources must stay while processes start; run again"
        raise InputError("simulator", sources_hash(), rule)
    return simulate_one(parcel.machine, parcel.work)


def state_of(request: MachineRequest) -> str:
    """Name what decides a simulated time beside the work: machine and sources."""
    return f"{machine_for(request).hash}-{sources_hash()}"


def simulate_one(machine: Machine, work: Work) -> Simulated:
    """Simulate one work. A work that the machine cannot run gives its reason."""
    try:
        result, stamps = simulate_with_stamps(machine, work)
    except HopperSimError as error:
        return Simulated(error=str(error))
    if result.hung:
        return Simulated(error="; ".join(result.hang) or "the program hangs")
    counters = {name: result.counters[name] for name in METRICS if name in result.counters}
    bound = None if result.bounds is None else result.bounds.merged_cycles
    mean = statistics.fmean(figures.cycles for figures in result.per_sm) if result.per_sm else None
    return Simulated(
        result.cycles, mean, bound, result.limiter.name, round(result.limiter.share, 4),
        pace_of(stamps), result.delivered_bytes, counters, ctas=result.ctas,
    )  # fmt: skip


class Kept:
    """Simulations on disk: JSON lines, one file for a machine and a state of the sources.

    Parameters
    ----------
    state
        Machine and sources, as `state_of` names them.
    folder
        Where the files lie; None takes the user's cache, which `HOPPERSIM_CACHE` moves.
    """

    def __init__(self, state: str, folder: Path | None = None) -> None:
        self.path = (folder or cache_folder()) / f"{state}-{LAYOUT}.jsonl"
        self.known: dict[str, Simulated] = {}
        if self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            row = json.loads(line)
            self.known[row["hash"]] = msgspec.convert(row["simulated"], Simulated)
        except (ValueError, KeyError, msgspec.ValidationError):  # the last line of an interrupted run
            return

    def add(self, key: str, found: Simulated) -> None:
        """Keep one simulation."""
        self.known[key] = found
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"hash": key, "simulated": msgspec.to_builtins(found)}) + "\n")


def cache_folder() -> Path:
    """Give the folder in which simulations are kept."""
    base = os.environ.get(CACHE_VARIABLE) or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "hoppersim" / "compare"


class Bench:
    """Simulates tasks of any machines, in processes that stay until the bench is left.

    Parameters
    ----------
    jobs
        Processes; the figures do not depend on it.
    folder
        Where simulations are kept; None takes the user's cache.

    Raises
    ------
    InputError
        If `jobs` is less than one.
    """

    def __init__(self, jobs: int = 1, folder: Path | None = None) -> None:
        require_jobs(jobs)
        self._folder = folder
        self._kept: dict[str, Kept] = {}
        self._processes = Processes(jobs, load_simulator)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def run(self, tasks: Sequence[Task], on_point: OnPoint | None = None) -> list[Simulated]:
        """Simulate what is not kept yet.

        Parameters
        ----------
        tasks
            What to simulate; equal ones are simulated once.
        on_point
            Called with the label of each task's point as it is done.

        Returns
        -------
        list[Simulated]
            One for each task, in their order.

        Raises
        ------
        InputError
            If the simulator's sources had changed when a process began.
        LostProcessError
            If a process ended before its task was done; simulations that were finished are kept.
        """
        report = on_point or (lambda label: None)
        todo: dict[tuple[str, str], Task] = {}
        for task in tasks:
            place = (state_of(task.machine), task.key)
            if task.key not in self._kept_for(place[0]).known and place not in todo:
                todo[place] = task
            else:
                report(task.item.label)
        parcels = {
            place: Parcel(machine_for(task.machine), task.work, sources_hash())
            for place, task in todo.items()
        }
        for place, found in self._processes.run(simulate_parcel, parcels):
            self._kept_for(place[0]).add(place[1], found)
            report(todo[place].item.label)
        return [self._kept_for(state_of(task.machine)).known[task.key] for task in tasks]

    def missing(self, tasks: Sequence[Task]) -> int:
        """Count the simulations that `run` would make of tasks, less those that are kept."""
        places = {(state_of(task.machine), task.key) for task in tasks}
        return sum(key not in self._kept_for(state).known for state, key in places)

    def _kept_for(self, state: str) -> Kept:
        if state not in self._kept:
            self._kept[state] = Kept(state, self._folder)
        return self._kept[state]
