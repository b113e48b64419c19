"""Processes of their own: they stay between calls, end when left, and give the results of this process."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from hoppersim.errors import InputError
from hoppersim.pool import LostProcessError, Processes, require_jobs, run_tasks


def number_of(_: int) -> int:
    """Give the number of the process that runs this."""
    return os.getpid()


def children() -> set[int | None]:
    """Give the numbers of the processes that this one has started and that live."""
    return {process.pid for process in multiprocessing.active_children()}


def test_one_process_is_this_one() -> None:
    assert dict(run_tasks(number_of, {"a": 1, "b": 2}, jobs=1)) == {"a": os.getpid(), "b": os.getpid()}


def test_processes_stay_between_calls_and_end_when_left() -> None:
    before = children()
    with Processes(1) as processes:
        found = [dict(processes.run_apart(number_of, {"a": turn}))["a"] for turn in range(2)]
        assert found[0] == found[1] != os.getpid()
        assert children() - before == {found[0]}
    assert children() == before


def test_what_is_under_way_ends_when_its_results_are_given_up() -> None:
    before, begin = children(), time.monotonic()
    with Processes(2) as processes:
        results = processes.run_apart(time.sleep, {"short": 0.0, "long": 300.0})
        assert next(results) == ("short", None)
    assert children() == before
    assert time.monotonic() - begin < 60


def test_a_lost_process_is_an_error_and_the_next_call_starts_others() -> None:
    with Processes(1) as processes:
        with pytest.raises(LostProcessError, match="ended before its point was done"):
            list(processes.run_apart(os._exit, {"a": 3}))
        assert dict(processes.run_apart(abs, {"a": -3})) == {"a": 3}


def test_less_than_one_process_is_refused() -> None:
    with pytest.raises(InputError, match="at least one process"):
        require_jobs(0)
