"""Relaxed reruns: what was shortened does the same work, and the right thing helps."""

from __future__ import annotations

import pytest

from hoppersim.machine.inheritance import preset_names
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program import Arrive, Barrier, For, Launch, Role, Wait, builders, make_work
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.rules import check
from hoppersim.program.work import Work
from hoppersim.result import pace
from hoppersim.result.api import simulate
from hoppersim.result.pace import shortened_work
from hoppersim.result.relaxed import BANDWIDTHS, HBM_LATENCY, L2_LATENCY, PEER_LATENCY, relax
from hoppersim.result.schema import WhatIf


def _trips(work: Work) -> set[int]:
    return {item.n for role in work.flows[0].program.roles for item in role.body if isinstance(item, For)}


def _relaxed(machine: Machine, work: Work) -> WhatIf:
    return relax(machine, work, simulate(machine, work))


@pytest.mark.parametrize("preset", preset_names())
def test_every_parameter_that_is_relaxed_exists(preset: str) -> None:
    known = load_machine(preset).provenance
    for knob in (*BANDWIDTHS, L2_LATENCY, HBM_LATENCY, PEER_LATENCY):
        assert set(knob.factors) <= set(known)


@pytest.mark.parametrize(
    ("work", "trips", "stages"),
    [
        (build_case(Case("multicast", cluster=2, stages=4, iterations=102)), 102, 4),
        (build_case(Case("multicast_slices", cluster=4, rows=64, stages=3, iterations=100)), 100, 3),
        (builders.article_multicast("hot", 400), 400, 1),
        (builders.dsmem_push(4, 4096, 2, 301), 301, 2),
    ],
)
def test_a_shortened_loop_keeps_whole_rounds_and_what_is_left_over(
    work: Work, trips: int, stages: int
) -> None:
    short = shortened_work(work, [5])
    assert short is not None
    assert _trips(short) == {5 * stages + trips % stages}


def test_a_shortened_work_is_legal_and_takes_its_share_of_the_time(tiny: Machine) -> None:
    work = build_case(Case("multicast", cluster=2, rows=64, iterations=80))
    short = shortened_work(work, [5])
    assert short is not None
    assert check(short, tiny) == []
    assert simulate(tiny, short).cycles == pytest.approx(simulate(tiny, work).cycles / 4, rel=0.2)


def test_loops_that_differ_are_not_shortened_and_it_is_said(
    tiny: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = (
        Role("sender", (For(40, (Arrive("full"),)),)),
        Role("waiter", (For(20, (Wait("full", 0),)),)),
    )
    work = make_work("unequal", roles, barriers=(Barrier("full", 40),), launch=Launch(grid=4))
    assert shortened_work(work, [5]) is None
    assert _relaxed(tiny, work).relaxations  # short enough to be rerun whole
    monkeypatch.setattr(pace, "MOST_EFFORT", 100)
    tried = _relaxed(tiny, work)
    assert tried.relaxations == ()
    assert "cannot be shortened" in tried.note


def test_a_work_that_hangs_is_not_rerun(tiny: Machine) -> None:
    work = make_work("stuck", (Role("waiter", (Wait("full"),)),), barriers=(Barrier("full", 1),))
    tried = relax(tiny, work, simulate(tiny, work, checks=False))
    assert (tried.relaxations, tried.note) == ((), "the work hangs")


def test_the_bandwidth_that_limits_helps_most() -> None:
    machine = load_machine("tiny", ["xbar.gpc_bytes_per_cycle=20"])
    tried = _relaxed(machine, build_case(Case("unicast_distinct", rows=64, iterations=20)))
    best = tried.relaxations[0]
    assert (best.name, best.change) == ("GPC port", "twice the bandwidth")
    assert 1.7 < best.speedup <= 2.05
    assert best.settings == {"xbar.gpc_bytes_per_cycle": 40.0}
    assert best.speedup == tried.base_cycles / best.cycles
    assert [item.speedup for item in tried.relaxations] == sorted(
        (item.speedup for item in tried.relaxations), reverse=True
    )


def test_one_box_in_flight_is_sped_up_by_latency_and_by_no_bandwidth(tiny: Machine) -> None:
    tried = _relaxed(tiny, build_case(Case("unicast", rows=8, stages=1, iterations=20)))
    gains = {(item.name, item.change): item.speedup for item in tried.relaxations}
    assert gains["way to the L2 and back", "half the latency"] > 1.1
    assert all(gain < 1.1 for (_, change), gain in gains.items() if change == "twice the bandwidth")


def test_the_pace_of_the_first_trips_gives_the_gains_of_the_whole(
    tiny: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = build_case(Case("multicast", cluster=2, rows=64, iterations=64))
    result = simulate(tiny, work)
    whole = relax(tiny, work, result)
    assert (whole.trips, whole.of_trips) == (64, 64)
    assert whole.base_cycles == result.cycles
    monkeypatch.setattr(pace, "MOST_EFFORT", 50_000)
    short = relax(tiny, work, result)
    assert short.trips < 40
    assert short.base_cycles == pytest.approx(result.cycles, rel=0.05)
    expected = {(item.name, item.change): item.speedup for item in whole.relaxations}
    for item in short.relaxations:
        assert item.speedup == pytest.approx(expected[item.name, item.change], abs=0.1)


def test_only_what_is_on_the_way_is_relaxed(tiny: Machine) -> None:
    names = {
        item.name
        for item in _relaxed(tiny, build_case(Case("unicast", iterations=8, pattern="one"))).relaxations
    }
    assert "SM-to-SM network" not in names
    assert "HBM" not in names
    work = build_case(Case("multicast", cluster=2, iterations=8, memory="hbm", pattern="sweep"))
    names = {item.name for item in _relaxed(tiny, work).relaxations}
    assert {"SM-to-SM network", "HBM"} <= names
    small = build_case(Case("multicast", cluster=2, rows=8, iterations=8))
    assert "TMA issue" in {item.name for item in _relaxed(tiny, small).relaxations}
