"""What a kernel engineer can change: the right works run, and their times are those of a whole run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hoppersim.machine.machine import Machine
from hoppersim.program import Barrier, Role, Wait, make_work
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.result import pace
from hoppersim.result.api import simulate
from hoppersim.result.schema import Design, Designs
from hoppersim.sweep.design import try_designs

CASE = Case("multicast", cluster=2, rows=32, stages=3, iterations=12, pattern="sweep")


def _designs(machine: Machine, case: Case, *, jobs: int = 1, as_flow: bool = False) -> Designs:
    work = build_case(case)
    return try_designs(machine, work, simulate(machine, work), None if as_flow else case, jobs=jobs)


def _step(tried: Designs, name: str, value: str) -> Design:
    (found,) = (step for step in tried.steps if (step.name, step.value) == (name, value))
    return found


def test_stages_box_and_cluster_change_one_step_each(tiny: Machine) -> None:
    tried = _designs(tiny, CASE)
    assert [(step.name, step.value) for step in tried.steps] == [
        *(("stages", value) for value in ("2", "4", "6")),
        *(("box", value) for value in ("16x128", "64x128")),
        *(("cluster", value) for value in ("1", "4", "8", "16")),
    ]
    assert tried.smem_bytes == 3 * 4096 + 2 * 3 * 8


@pytest.mark.parametrize(
    ("name", "value", "fields"),
    [
        ("stages", "4", {"stages": 4}),
        ("box", "16x128", {"rows": 16, "iterations": 24}),
        ("box", "64x128", {"rows": 64, "iterations": 6}),
        ("cluster", "4", {"cluster": 4}),
    ],
)
def test_a_short_work_takes_what_its_whole_run_takes(
    tiny: Machine, name: str, value: str, fields: dict[str, int]
) -> None:
    base, other = (simulate(tiny, build_case(case)) for case in (CASE, replace(CASE, **fields)))
    step = _step(_designs(tiny, CASE), name, value)
    assert step.cycles == other.cycles
    assert step.ctas == other.ctas
    assert step.speedup == pytest.approx(other.rates.chip / base.rates.chip)


def test_the_pace_of_the_first_trips_gives_the_time_of_the_whole(
    tiny: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = replace(CASE, iterations=96)
    whole = _step(_designs(tiny, case), "stages", "4")
    monkeypatch.setattr(pace, "MOST_EFFORT", 10_000)
    short = _step(_designs(tiny, case), "stages", "4")
    assert short.cycles != whole.cycles
    assert short.cycles == pytest.approx(whole.cycles, rel=0.05)


def test_what_does_not_fit_shared_memory_or_breaks_a_rule_is_not_run(tiny: Machine) -> None:
    tried = _designs(tiny, replace(CASE, rows=256, stages=6))
    most = tiny.spec.launch.shared_bytes_per_cta
    large = _step(tried, "stages", "12")
    assert large.smem_bytes > most
    assert (large.fits, large.cycles, large.speedup) == (False, None, None)
    assert "shared memory" in large.reason
    assert all(step.fits is (step.smem_bytes <= most) for step in tried.steps)
    assert _step(tried, "box", "512x128").reason == "rows = 512: must lie from 1 to 256"
    assert "cluster can have 1 to 4 CTAs" in _step(tried, "cluster", "8").reason


def test_of_a_flow_file_the_stages_of_its_ring_change(tiny: Machine) -> None:
    tried = _designs(tiny, CASE, as_flow=True)
    assert [(step.name, step.value) for step in tried.steps] == [("stages", n) for n in ("2", "4", "6")]
    assert "only the stages" in tried.note
    assert tried.steps[1].cycles == _step(_designs(tiny, CASE), "stages", "4").cycles


def test_fewer_ctas_that_fit_at_once_count_for_less(tiny: Machine) -> None:
    tried = _designs(tiny, replace(CASE, shared_bytes=0), as_flow=True)
    base, more = tried, tried.steps[-1]
    assert more.ctas < base.ctas
    assert more.speedup == pytest.approx(base.base_cycles / more.cycles * more.ctas / base.ctas)


def test_where_more_ctas_share_an_sm_computing_is_said_not_to_be_shared(tiny: Machine) -> None:
    case = replace(CASE, shared_bytes=0, stages=8, rows=128, compute=100)
    said = "compute as fast as alone"
    assert said in _designs(tiny, case, as_flow=True).note
    assert said not in _designs(tiny, replace(case, compute=0), as_flow=True).note


def test_in_waves_the_time_is_of_the_whole(tiny: Machine) -> None:
    case = replace(CASE, grid=32, iterations=4)
    tried = _designs(tiny, case)
    other = simulate(tiny, build_case(replace(case, stages=4)))
    assert other.waves > 1
    assert _step(tried, "stages", "4").cycles == other.window_cycles


def test_a_work_that_hangs_is_not_rerun(tiny: Machine) -> None:
    work = make_work("stuck", (Role("waiter", (Wait("full"),)),), barriers=(Barrier("full", 1),))
    tried = try_designs(tiny, work, simulate(tiny, work, checks=False))
    assert (tried.steps, tried.note) == ((), "the work hangs")


def test_processes_change_nothing_and_progress_is_told(tiny: Machine) -> None:
    case = replace(CASE, iterations=2)
    work, counts = build_case(case), []
    tried = try_designs(
        tiny, work, simulate(tiny, work), case, jobs=2, on_count=lambda *count: counts.append(count)
    )
    assert tried == _designs(tiny, case)
    assert counts[-1] == (len(counts), len(counts))
