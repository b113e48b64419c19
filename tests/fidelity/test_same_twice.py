"""A simulation gives the same figures every time, bit for bit, in one process or in several."""

from __future__ import annotations

import pytest
from msgspec import to_builtins

from hoppersim.experiments.cluster_scaling import STUDY
from hoppersim.experiments.runner import run_study
from hoppersim.machine.loading import load_machine
from hoppersim.pool import MachineRequest
from hoppersim.program.cases import Case, Mode, build_case
from hoppersim.result.api import simulate


@pytest.mark.parametrize("mode", ["unicast", "multicast"])
def test_two_runs_are_equal_to_the_bit(mode: Mode) -> None:
    machine = load_machine("h200_sxm")
    work = build_case(Case(mode, cluster=2, rows=128, iterations=6, pattern="sweep"))
    first, second = (to_builtins(simulate(machine, work)) for _ in range(2))
    assert {**first, "speed": None} == {**second, "speed": None}


def test_rows_do_not_depend_on_the_number_of_processes() -> None:
    request = MachineRequest("tiny")
    points = STUDY.points(load_machine("tiny"), True)[:6]
    assert run_study(STUDY, request, points, jobs=1) == run_study(STUDY, request, points, jobs=2)
