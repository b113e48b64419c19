"""A wait costs one event of SimPy, however far its thread is ahead of the clock."""

from __future__ import annotations

import pytest
import simpy

from hoppersim.engine.roles import RoleRun
from hoppersim.engine.simulate import simulate_raw
from hoppersim.machine import load_machine
from hoppersim.program.cases import Case, build_case


def _stops(monkeypatch: pytest.MonkeyPatch, iterations: int, compute: int) -> int:
    """Count the stops of the consumer that only let the clock catch up."""
    stops = []
    settle = RoleRun.settle

    def counted(run: RoleRun) -> simpy.Timeout:
        stops.append(run.who)
        return settle(run)

    monkeypatch.setattr(RoleRun, "settle", counted)
    case = Case("unicast_distinct", rows=128, iterations=iterations, compute=compute, grid=1)
    simulate_raw(load_machine("tiny"), build_case(case), watch=False)
    monkeypatch.setattr(RoleRun, "settle", settle)
    return stops.count("rank 0 consumer")


def test_a_thread_that_has_to_wait_does_not_stop_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _stops(monkeypatch, 12, compute=0) == _stops(monkeypatch, 24, compute=0) == 1  # at its end


def test_a_thread_that_finds_the_phase_completed_looks_when_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _stops(monkeypatch, 24, compute=20_000) == _stops(monkeypatch, 12, compute=20_000) + 12
