"""Simulates works in several processes, and keeps what is done, so that a rerun goes on from it.

A kept simulation counts for one work, one seed, one machine and one state of the simulator's sources; a
change of any of them simulates anew.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from hoppersim.errors import HopperSimError, InputError
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.cases import Case, build_case
from hoppersim.program.work import Work
from hoppersim.result.api import simulate_with_stamps
from hoppersim.result.sources import sources_hash
from hw_validate.compare import Item
from hw_validate.compare_curves import Pace, pace_of
from hw_validate.counters import METRICS

CACHE_VARIABLE = "HOPPERSIM_CACHE"
LAYOUT = 3
"""Raised when `Simulated` changes, so that what was kept in another form is not read."""
OnPoint = Callable[[str], None]


class Request(msgspec.Struct, frozen=True):
    """How to load the machine; travels to the processes instead of it."""

    preset: str = "h200_sxm"
    settings: tuple[str, ...] = ()


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


class Task(NamedTuple):
    """One work to simulate: the point that it belongs to, the machine, and the seed of the launch."""

    item: Item
    request: Request
    seed: int = 0

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


@lru_cache(maxsize=32)
def machine_for(request: Request) -> Machine:
    """Load the machine of a request once in each process."""
    return load_machine(request.preset, request.settings)


class _Worker:
    """What a process of its own knows."""

    changed = True


def start_worker(machine: Machine, sources: str) -> None:
    """Load all of the simulator before its sources may change."""
    simulate_one(machine, build_case(Case("unicast", grid=1, rows=8, iterations=2)))
    _Worker.changed = sources_hash() != sources


def _begin(machine: Machine, sources: str) -> None:
    """Start a worker that leaves Ctrl-C to the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start_worker(machine, sources)


def simulate_at(machine: Machine, work: Work) -> Simulated:
    """Simulate one work in a process that `start_worker` began.

    Raises
    ------
    InputError
        If the simulator's sources had changed when the process began.
    """
    if _Worker.changed:
        raise InputError(
            "simulator", sources_hash(), "its sources must stay while processes start; run again"
        )
    return simulate_one(machine, work)


def state_of(request: Request) -> str:
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
        pace_of(stamps), result.delivered_bytes, counters,
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
        if jobs < 1:
            raise InputError("--jobs", jobs, "must be at least one process", 1)
        self._jobs, self._folder = jobs, folder
        self._kept: dict[str, Kept] = {}
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

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
        """
        report = on_point or (lambda label: None)
        todo: dict[tuple[str, str], Task] = {}
        for task in tasks:
            place = (state_of(task.request), task.key)
            if task.key not in self._kept_for(place[0]).known and place not in todo:
                todo[place] = task
            else:
                report(task.item.label)
        for place, found in self._simulated(todo):
            self._kept_for(place[0]).add(place[1], found)
            report(todo[place].item.label)
        return [self._kept_for(state_of(task.request)).known[task.key] for task in tasks]

    def _kept_for(self, state: str) -> Kept:
        if state not in self._kept:
            self._kept[state] = Kept(state, self._folder)
        return self._kept[state]

    def _simulated(self, todo: dict[tuple[str, str], Task]) -> Iterator[tuple[tuple[str, str], Simulated]]:
        """Simulate tasks as they come; the first of a bench here, so that a first use compiles once."""
        places = list(todo)
        alone = len(places) if self._jobs == 1 else int(self._pool is None)
        for place in places[:alone]:
            task = todo[place]
            yield place, simulate_one(machine_for(task.request), task.work)
        if places[alone:]:
            yield from self._in_processes({place: todo[place] for place in places[alone:]})

    def _in_processes(self, todo: dict[tuple[str, str], Task]) -> Iterator[tuple[tuple[str, str], Simulated]]:
        tasks = list(todo.values())
        if self._pool is None:
            # Forking a process that has started threads (numba's) is unsafe.
            context = multiprocessing.get_context("spawn")
            begin = (machine_for(tasks[0].request), sources_hash())
            self._pool = ProcessPoolExecutor(min(self._jobs, len(tasks)), context, _begin, begin)
        under_way: dict[Future[Simulated], tuple[str, str]] = {
            self._pool.submit(simulate_at, machine_for(task.request), task.work): place
            for place, task in todo.items()
        }
        try:
            for done in as_completed(under_way):
                yield under_way[done], done.result()
        except BrokenProcessPool as error:
            rule = (
                "processes ended before they were done: too little memory, or its sources are being changed"
            )
            raise InputError("simulator", sources_hash(), rule) from error
        except BaseException:
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise
