"""Limiter, link use and verdict."""

from __future__ import annotations

import numpy as np
import pytest

from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.result.api import simulate
from hoppersim.result.limiter import BusyThread, compute_cycles, find_limiter, issue_cycles, link_use
from hoppersim.result.schema import LinkUse


def _link(resource: str, peak: float) -> LinkUse:
    return LinkUse(resource=resource, units=1, mean=peak, peak=peak, busiest=0)


def test_the_busiest_resource_above_80_percent_limits() -> None:
    limiter = find_limiter((_link("HBM", 0.85), _link("GPC port", 0.95)), BusyThread("producer", 0.9))
    assert (limiter.name, limiter.share) == ("GPC port", 0.95)


def test_a_busy_issuing_thread_limits_when_no_resource_does() -> None:
    limiter = find_limiter((_link("HBM", 0.79),), BusyThread("producer", 0.9))
    assert (limiter.name, limiter.role, str(limiter)) == ("issue", "producer", "issue of producer, 90% busy")


def test_a_thread_that_mostly_computes_is_not_said_to_issue() -> None:
    assert find_limiter((), BusyThread("consumer", 0.9, computing=0.5)).name == "compute"
    assert find_limiter((), BusyThread("consumer", 0.9, computing=0.1)).name == "issue"


def test_a_thread_that_waits_for_data_in_between_does_not_limit() -> None:
    limiter = find_limiter((_link("HBM", 0.4),), BusyThread("producer", 0.7))
    assert (limiter.name, limiter.share, limiter.role) == ("latency", 0.7, "")


def test_latency_limits_when_nothing_is_busy() -> None:
    assert find_limiter((_link("HBM", 0.4),), BusyThread("producer", 0.2)).name == "latency"
    assert find_limiter((), BusyThread()).name == "latency"


def test_link_use_is_busy_time_over_the_window() -> None:
    counters = {"busy.gpc": np.array([0, 50, 100]), "busy.hbm": np.array([0, 0])}
    (link,) = link_use(counters, window_ticks=200)
    assert (link.resource, link.units, link.mean, link.peak, link.busiest) == ("GPC port", 2, 0.375, 0.5, 2)


def test_issue_time_grows_with_trips_and_operations(tiny: Machine) -> None:
    def cost(**fields: int) -> float:
        return issue_cycles(build_case(Case("unicast", **fields)), tiny.spec.costs)

    assert cost(iterations=20) == pytest.approx(2 * cost(iterations=10))
    assert cost(iterations=10, boxes=4) > cost(iterations=10)


def test_a_thread_is_busy_with_its_own_operations_only_and_never_above_all_of_the_time() -> None:
    machine = load_machine("tiny", ["costs.wait.lane.try.hit=900", "costs.wait.warps.try.hit=900"])
    work = build_case(Case("unicast", rows=1, stages=1, iterations=20))
    blocked = simulate(machine, work)
    assert issue_cycles(work, machine.spec.costs) > blocked.cycles  # if every wait passed at once
    assert 0 < blocked.limiter.share <= 1
    computing = simulate(machine, build_case(Case("unicast", rows=1, iterations=20, compute=9000)))
    assert (computing.limiter.name, computing.limiter.role) == ("compute", "consumer")
    assert blocked.limiter.share < computing.limiter.share <= 1


def test_what_a_role_computes_adds_up_over_its_trips() -> None:
    work = build_case(Case("unicast", iterations=10, compute=5000))
    assert compute_cycles(work, "consumer") == 50_000
    assert compute_cycles(work, "producer") == 0


def test_compute_counts_as_issue(tiny: Machine) -> None:
    idle = issue_cycles(build_case(Case("unicast", iterations=10)), tiny.spec.costs)
    busy = issue_cycles(build_case(Case("unicast", iterations=10, compute=5000)), tiny.spec.costs)
    assert busy > idle
    assert busy >= 50_000
