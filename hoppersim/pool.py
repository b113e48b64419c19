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
from typing import TypeVar

import msgspec

from hoppersim.engine.compiled.fabric import is_compiled
from hoppersim.errors import HopperSimError, InputError
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine

Key = TypeVar("Key")
Task = TypeVar("Task")
Found = TypeVar("Found")
OnCount = Callable[[int, int], None]
"""Called with how many are done, and of how many."""


class LostProcessError(HopperSimError):
    """A process ended before its task was done."""


class MachineRequest(msgspec.Struct, frozen=True):
    """How to load a machine; travels to the processes instead of it."""

    preset: str
    overrides: tuple[str, ...] = ()
    floorplan: str | None = None


@lru_cache(maxsize=8)
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


def run_tasks(
    function: Callable[[Task], Found],
    tasks: Mapping[Key, Task],
    jobs: int,
    start: Callable[[], None] | None = None,
) -> Iterator[tuple[Key, Found]]:
    """Run tasks, here or in several processes, and give each result as soon as it is there.

    Where no compiled kernel lies in the cache, the first task compiles it here, once, instead of in every
    process.

    Parameters
    ----------
    function
        What to run; a module's function, since processes share it.
    tasks
        Its arguments by key.
    jobs
        Processes, at least one; with one, all tasks run in this one.
    start
        Called once in each process of its own before its first task.

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
    alone = len(left) if jobs == 1 else 0 if is_compiled() else 1
    for key in list(left)[:alone]:
        yield key, function(left.pop(key))
    if left:
        yield from run_in_processes(function, left, jobs, start)


def run_in_processes(
    function: Callable[[Task], Found],
    tasks: Mapping[Key, Task],
    jobs: int,
    start: Callable[[], None] | None = None,
) -> Iterator[tuple[Key, Found]]:
    """Run tasks in processes of their own; see `run_tasks`.

    Processes end with this one, however it ends, and do not see an interrupt from the keyboard: it reaches
    this process, which ends them.
    """
    # Forking a process that has started threads (numba's, matplotlib's) is unsafe.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(jobs, len(tasks)), context, _begin, (start,)) as pool:
        pending: dict[Future[Found], Key] = {}
        try:
            with _no_interrupt():
                pending |= {pool.submit(function, task): key for key, task in tasks.items()}
            for done in as_completed(list(pending)):
                yield pending.pop(done), done.result()
        except BrokenProcessPool:
            raise LostProcessError(
                "a process ended before its point was done: it was ended from outside, ran out of memory, "
                'or the script that called lacks its guard `if __name__ == "__main__":`'
            ) from None
        finally:
            if pending:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()


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
