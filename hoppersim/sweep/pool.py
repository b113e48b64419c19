"""Runs tasks in processes of their own, and leaves none behind."""

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
from typing import TypeVar

from hoppersim.errors import HopperSimError

Task = TypeVar("Task")
Found = TypeVar("Found")


class LostProcessError(HopperSimError):
    """A process ended before its task was done."""


def run_tasks(
    function: Callable[[Task], Found],
    tasks: Mapping[str, Task],
    jobs: int,
    start: Callable[[], None] | None = None,
) -> Iterator[tuple[str, Found]]:
    """Run tasks in several processes, and give each result as soon as it is there.

    Processes end with this one, however it ends, and do not see an interrupt from the keyboard: it reaches
    this process, which ends them.

    Parameters
    ----------
    function
        What to run; a module's function, since processes share it.
    tasks
        Its arguments by key.
    jobs
        Processes, at least one.
    start
        Called once in each process before its first task.

    Yields
    ------
    tuple
        Key and result, in the order of completion.

    Raises
    ------
    LostProcessError
        If a process ended by itself.
    """
    # Forking a process that has started threads (numba's, matplotlib's) is unsafe.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(jobs, len(tasks)), context, _begin, (start,)) as pool:
        pending: dict[Future[Found], str] = {}
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
