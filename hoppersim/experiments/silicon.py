"""What the shipped dataset measured on silicon for a case, where it has the case."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from hoppersim.dataset import measured_cycles
from hoppersim.program.canonical import work_hash
from hoppersim.program.cases import Case, build_case

MEASURED_ITERATIONS = (64, 128)
"""Iterations with which the dataset's scaling points ran."""


@cache
def _measured() -> dict[str, float]:
    return measured_cycles()


class Silicon(NamedTuple):
    """The measured time of a case [cycle], and the iterations of the run that it comes from."""

    cycles: float
    iterations: int


def silicon_run(case: Case) -> Silicon | None:
    """Find the measured time of a case, in proportion from a longer run of the same loop.

    None where it was not measured.
    """
    for iterations in (case.iterations, *MEASURED_ITERATIONS):
        longer = build_case(replace(case, iterations=iterations))
        found = _measured().get(work_hash(longer))
        if found is not None:
            return Silicon(found * case.iterations / iterations, iterations)
    return None


def silicon_cycles(case: Case) -> float | None:
    """Give the measured time of a case alone [cycle]; see `silicon_run`."""
    found = silicon_run(case)
    return None if found is None else found.cycles
