"""Runs tasks in processes of their own, and leaves none behind; how such a task names its machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing.process import BaseProcess
from typing import TypeVar

import msgspec

from hoppersim.engine.compiled.fabric import is_compiled
from hoppersim.errors import HopperSimError, InputError
from hoppersim.machine.loading import REFERENCE, load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.cases import Case, build_case
from hoppersim.result.api import simulate
from hoppersim.result.sources import sources_hash

Key = TypeVar("Key")
Task = TypeVar("Task")
Found = TypeVar("Found")
OnCount = Callable[[int, int], None]
"""Called with how many are done, and of how many."""


class LostProcessError(HopperSimError):
    """A process ended before its task was done."""


class MachineRequest(msgspec.Struct, frozen=True):
    """How to load a machine; travels to the processes instead of it."""

    preset: str = REFERENCE
    overrides: tuple[str, ...] = ()
    floorplan: str | None = None


@lru_cache(maxsize=32)
def machine_for(request: MachineRequest) -> Machine:
    """Load the machine of a request; tasks that follow each other often share it.

    Raises
    ------
    InputError
        If there is no such machine, or it is illegal.
    """
    return load_machine(request.preset, request.overrides, request.floorplan)


def usable_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def require_jobs(jobs: int) -> None:
    """Refuse a number of processes less than one.

    Raises
    ------
    InputError
        If it is.
    """
    if jobs < 1:
        raise InputError("--jobs", jobs, "must be at least one process", 1)


def load_simulator() -> None:
    """Load all of the simulator, and only then take the hash of its sources: what a process does first."""
    simulate(machine_for(MachineRequest("tiny")), build_case(Case("unicast", grid=1, rows=8, iterations=1)))
    sources_hash()


def run_tasks(
    function: Callable[[Task], Found],
    tasks: Mapping[Key, Task],
    jobs: int,
    start: Callable[[], None] | None = None,
) -> Iterator[tuple[Key, Found]]:
    """Run tasks, here or in processes that end with the last of them; see `Processes`."""
    with Processes(jobs, start) as processes:
        yield from processes.run(function, tasks)


class Processes:
    """Processes that tasks run in: they start when a task needs them, and stay until `close`.

    They end with this process, however it ends, and do not see an interrupt from the keyboard: it reaches
    this process, which ends them.

    Parameters
    ----------
    jobs
        Processes, at least one; with one, all tasks run in this one.
    start
        Called once in each process of its own before its first task.
    """

    def __init__(self, jobs: int, start: Callable[[], None] | None = None) -> None:
        self._jobs, self._start = jobs, start
        self._pool: ProcessPoolExecutor | None = None
        self._started: set[BaseProcess] = set()
        self._busy = False

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self, function: Callable[[Task], Found], tasks: Mapping[Key, Task]
    ) -> Iterator[tuple[Key, Found]]:
        """Run tasks, and give each result as soon as it is there.

        Where no compiled kernel lies in the cache, the first task compiles it here, once, instead of in every
        process.

        Parameters
        ----------
        function
            What to run; a module's function, since processes share it.
        tasks
            Its arguments by key.

        Yields
        ------
        tuple
            Key and result, in the order of completion.

        Raises
        ------
        LostProcessError
            If a process ended by itself.
        """
        left = dict(tasks)
        alone = len(left) if self._jobs == 1 else 0 if is_compiled() else 1
        for key in list(left)[:alone]:
            yield key, function(left.pop(key))
        if left:
            yield from self.run_apart(function, left)

    def run_apart(
        self, function: Callable[[Task], Found], tasks: Mapping[Key, Task]
    ) -> Iterator[tuple[Key, Found]]:
        """Do what `run` does, with no task in this process."""
        self._busy = True
        try:
            pending = self._submit(function, tasks)
            for done in as_completed(list(pending)):
                yield pending.pop(done), done.result()
            self._busy = False
        except BrokenProcessPool:
            raise LostProcessError(
                "a process ended before its point was done: it was ended from outside, ran out of memory, "
                "its sources are being changed, or the script that called lacks its guard "
                '`if __name__ == "__main__":`'
            ) from None
        finally:
            if self._busy:
                self.close()

    def _submit(
        self, function: Callable[[Task], Found], tasks: Mapping[Key, Task]
    ) -> dict[Future[Found], Key]:
        """Hand tasks to the processes, and note which processes that starts."""
        if self._pool is None:
            # Forking a process that has started threads (numba's, matplotlib's) is unsafe.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._jobs, context, _begin, (self._start,))
        others = set(multiprocessing.active_children())
        with _no_interrupt():
            pending = {self._pool.submit(function, task): key for key, task in tasks.items()}
            self._started |= set(multiprocessing.active_children()) - others
        return pending

    def close(self) -> None:
        """End the processes; those with tasks under way do not finish them."""
        if self._pool is None:
            return
        self._pool.shutdown(wait=not self._busy, cancel_futures=True)
        if self._busy:
            for process in self._started:
                process.terminate()
            for process in self._started:
                process.join()
        self._pool, self._started, self._busy = None, set(), False


def _begin(start: Callable[[], None] | None) -> None:
    """Begin a process: it ends when the one that started it does."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    if start is not None:
        start()


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Hold interrupts back until the end; processes that are started meanwhile never see one."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    late: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: late.append(number))
    # Processes inherit the mask; the handler is for signals that another thread of this process takes.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if late:
            signal.raise_signal(signal.SIGINT)
