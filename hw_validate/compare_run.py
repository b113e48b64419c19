"""Simulates measured points in several processes, and keeps what is done, so that a rerun goes on from it.

A kept simulation counts for one work, one machine and one state of the simulator's sources; a change of any
of them simulates anew.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec

import hoppersim
from hoppersim.errors import HopperSimError, InputError
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.cases import Case, build_case
from hoppersim.program.operands import constant_value
from hoppersim.program.work import Work
from hoppersim.result.api import simulate
from hw_validate.compare import Item, Pair
from hw_validate.counters import METRICS

MODEL_PARTS = ("units.py", "machine", "program", "blocks", "engine", "result")
"""What of the package decides a simulated time."""
CACHE_VARIABLE = "HOPPERSIM_CACHE"
OnPoint = Callable[[str], None]


class Request(msgspec.Struct, frozen=True):
    """How to load the machine; travels to the processes instead of it."""

    preset: str = "h200_sxm"
    settings: tuple[str, ...] = ()


class Simulated(msgspec.Struct, frozen=True):
    """What one simulation gave.

    Attributes
    ----------
    cycles, bound
        Time of the slowest CTA, and the bound with reads merged [cycle]; None where there is none.
    limiter, delivered, counters
        What sets the time, bytes delivered [B], totals by name.
    error
        Why there is no time; "" if there is one.
    """

    cycles: float | None = None
    bound: float | None = None
    limiter: str = ""
    delivered: int = 0
    counters: dict[str, int] = {}
    error: str = ""


@lru_cache(maxsize=2)
def machine_for(request: Request) -> Machine:
    """Load the machine of a request once in each process."""
    return load_machine(request.preset, request.settings)


@cache
def model_hash() -> str:
    """Hash the sources that decide a simulated time."""
    root = Path(hoppersim.__file__).parent
    state = hashlib.sha256()
    for part in MODEL_PARTS:
        files = sorted((root / part).rglob("*.py")) if (root / part).is_dir() else [root / part]
        for file in files:
            state.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return state.hexdigest()[:16]


class _Worker:
    """What a process of its own works with: a machine that later edits of files cannot reach."""

    machine: Machine | None = None
    changed = False


def start_worker(machine: Machine, sources: str) -> None:
    """Take the machine, and load all of the simulator before its sources may change."""
    _Worker.machine = machine
    simulate_one(machine, build_case(Case("unicast", grid=1, rows=8, iterations=2)))
    _Worker.changed = model_hash() != sources


def simulate_at(work: Work) -> Simulated:
    """Simulate one work in a process that `start_worker` began.

    Raises
    ------
    InputError
        If the simulator's sources had changed when the process began.
    """
    if _Worker.changed or _Worker.machine is None:
        raise InputError("simulator", model_hash(), "its sources must stay while processes start; run again")
    return simulate_one(_Worker.machine, work)


def state_of(request: Request) -> str:
    """Name what decides a simulated time beside the work: machine and sources."""
    return f"{machine_for(request).hash}-{model_hash()}"


def simulate_one(machine: Machine, work: Work) -> Simulated:
    """Simulate one work. A work that the machine cannot run gives its reason."""
    try:
        result = simulate(machine, work)
    except HopperSimError as error:
        return Simulated(error=str(error))
    if result.hung:
        return Simulated(error="; ".join(result.hang) or "the program hangs")
    counters = {name: result.counters[name] for name in METRICS if name in result.counters}
    bound = None if result.bounds is None else result.bounds.merged_cycles
    return Simulated(result.cycles, bound, result.limiter.name, result.delivered_bytes, counters)


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
        base = os.environ.get(CACHE_VARIABLE) or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        home = folder or Path(base).expanduser() / "hoppersim" / "compare"
        self.path = home / f"{state}.jsonl"
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


def simulate_items(
    items: Sequence[Item], request: Request, jobs: int = 1, on_point: OnPoint | None = None,
    folder: Path | None = None,
) -> list[Pair | str]:  # fmt: skip
    """Simulate points and pair both times, in the order of the points.

    Parameters
    ----------
    items, request
        What was measured, and the machine.
    jobs
        Processes; the figures do not depend on it.
    on_point
        Called with the label of each point as it is done.
    folder
        Where simulations are kept; None takes the user's cache.

    Returns
    -------
    list[Pair | str]
        A pair for each point; where the simulator gives no time, the reason instead.

    Raises
    ------
    InputError
        If `jobs` is less than one.
    """
    if jobs < 1:
        raise InputError("--jobs", jobs, "must be at least one process", 1)
    kept = Kept(state_of(request), folder)
    todo = {item.hash: item for item in items if item.hash not in kept.known}
    report = on_point or (lambda label: None)
    for item in items:
        if item.hash not in todo:
            report(item.label)
    for item, found in _simulated(list(todo.values()), machine_for(request), jobs):
        kept.add(item.hash, found)
        report(item.label)
    return [_pair(item, kept.known[item.hash]) for item in items]


def _simulated(todo: list[Item], machine: Machine, jobs: int) -> Iterator[tuple[Item, Simulated]]:
    """Simulate points as they come; the first here, so that a first use compiles once."""
    alone = len(todo) if jobs == 1 else 1
    for item in todo[:alone]:
        yield item, simulate_one(machine, item.work)
    rest = todo[alone:]
    if not rest:
        return
    # Forking a process that has started threads (numba's) is unsafe.
    context = multiprocessing.get_context("spawn")
    workers = min(jobs, len(rest))
    with ProcessPoolExecutor(workers, context, start_worker, (machine, model_hash())) as pool:
        under_way: dict[Future[Any], Item] = {pool.submit(simulate_at, item.work): item for item in rest}
        try:
            for done in as_completed(under_way):
                yield under_way[done], done.result()
        except BrokenProcessPool as error:
            rule = (
                "processes ended before they were done: too little memory, or its sources are being changed"
            )
            raise InputError("simulator", model_hash(), rule) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _pair(item: Item, found: Simulated) -> Pair | str:
    if found.cycles is None:
        return f"{item.label}: {found.error}"
    bound = None if _is_staggered(item.work) else found.bound
    return Pair(
        item.id, item.label, item.measured, found.cycles, item.spread, item.tags, bound, found.limiter,
        item.repeats, item.set_aside, item.counters, found.counters, found.delivered,
    )  # fmt: skip


def _is_staggered(work: Work) -> bool:
    """Whether CTAs start at different times by design; the bound then says nothing about the slowest one."""
    return any(constant_value(flow.launch.skew) != 0 for flow in work.flows)
