"""What is said about a Result follows from its figures, and from what silicon showed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.result import silicon
from hoppersim.result.api import simulate
from hoppersim.result.documents import Comparison
from hoppersim.result.explain import (
    explain_bound,
    explain_comparison,
    explain_error,
    explain_gains,
    explain_result,
)
from hoppersim.result.limiter_text import explain_limiter, gains_most
from hoppersim.result.relaxed import COMPUTING, HALF_COST, THREADS, TOGETHER, relax
from hoppersim.result.schema import Bounds, Limiter, Relaxation, Result, WhatIf
from hoppersim.result.silicon import find_measured, model_error
from hoppersim.result.source import make_source
from hoppersim.result.verdict import compare

GPC = Relaxation(name="GPC port", change="twice the bandwidth", settings={}, cycles=100.0, speedup=1.6)
L2 = Relaxation(
    name="way to the L2 and back", change="half the latency", settings={}, cycles=1.0, speedup=1.3
)
HBM = Relaxation(name="HBM", change="twice the bandwidth", settings={}, cycles=1.0, speedup=1.0)


@pytest.fixture(scope="module")
def result(tiny: Machine) -> Result:
    """Simulate a small multicast."""
    return simulate(tiny, build_case(Case("multicast", cluster=2, iterations=4, pattern="sweep")))


def _tried(result: Result, *found: Relaxation, note: str = "", limiter: str = "GPC port") -> Result:
    tried = WhatIf(trips=12, of_trips=64, base_cycles=result.cycles, relaxations=found, note=note)
    return replace(result, what_if=tried, limiter=Limiter(name=limiter, share=0.9))


def test_gains_are_named_largest_first_and_the_rest_in_one_line(result: Result) -> None:
    lines = explain_gains(_tried(result, GPC, L2, HBM))
    assert lines[0] == (
        "Twice the bandwidth of the GPC port would make it 1.60x as fast, half the latency of the way to the "
        "L2 and back 1.30x, by the first 12 of 64 trips."
    )
    assert lines[1] == "Under 2% each: twice the bandwidth of HBM."
    assert len(lines) == 2  # a machine that was never compared has no error to speak of


def test_whether_a_busy_resource_sets_the_time_is_for_its_gain_to_say(result: Result) -> None:
    useless, together = replace(GPC, speedup=1.01), replace(GPC, name=TOGETHER, speedup=1.9)
    assert explain_limiter(_tried(result, GPC, L2)) == "The GPC port is 90% busy and sets the time."
    assert explain_limiter(_tried(result, together, useless)) == (
        "The GPC port is 90% busy and sets the time with others: twice the bandwidth of all busy resources "
        "gives 1.90x, twice the bandwidth of the GPC port 1.01x."
    )
    assert explain_limiter(_tried(result, L2, useless)) == (
        "The GPC port is 90% busy, but half the latency of the way to the L2 and back gives 1.30x, twice the "
        "bandwidth of the GPC port 1.01x: in between, others wait for what is under way."
    )
    assert "but nothing that was relaxed would gain 2%" in explain_limiter(_tried(result, useless))


@pytest.mark.parametrize(
    ("own", "others", "said"),
    [
        (1.4, 1.3, "half their cost would make it 1.40x as fast"),
        (1.2, 1.3, "make it 1.20x as fast, half the latency of the way to the L2 and back 1.30x. Larger"),
        (1.1, 1.3, "but half the latency of the way to the L2 and back gives 1.30x"),
        (0.95, 1.3, "half the cost of all operations of the threads 0.95x: in between, others wait"),
        (0.95, 0.9, "but nothing that was relaxed would gain 2%"),
    ],
)
def test_whether_a_busy_thread_sets_the_time_is_for_its_gain_to_say(
    result: Result, own: float, others: float, said: str
) -> None:
    threads = Relaxation(name=THREADS, change=HALF_COST, settings={}, cycles=1.0, speedup=own)
    found = sorted((threads, replace(L2, speedup=others)), key=lambda item: -item.speedup)
    text = explain_limiter(_tried(result, *found, limiter="issue"))
    assert said in text
    assert ("fewer operations a tile would help" in text) == (own >= 1.2)


def test_without_reruns_a_limiter_is_only_likely_to_set_the_time(result: Result) -> None:
    text = explain_limiter(replace(result, limiter=Limiter(name="GPC port", share=0.9)))
    assert text == "The GPC port is 90% busy and is likely to set the time."
    text = explain_limiter(replace(result, limiter=Limiter(name="issue", share=0.55, role="leader")))
    assert text.startswith("A thread of leader is busy 55% of the time with its own operations.")
    assert "may help" in text
    text = explain_limiter(replace(result, limiter=Limiter(name="latency", share=0.2)))
    assert text.startswith("Nothing is busy above 20%: latency is likely to set the time.")
    text = explain_limiter(replace(result, limiter=Limiter(name="latency", share=0.79)))
    assert text.startswith(
        "Nothing is busy above 79%: latency, queues and what threads do in between are likely to set"
    )


def test_a_thread_that_computes_is_called_so_and_sets_the_time_if_nothing_else_gains(result: Result) -> None:
    limiter = Limiter(name="compute", share=0.9, role="consumer")
    tried = replace(_tried(result, replace(L2, speedup=1.01)), limiter=limiter)
    assert explain_limiter(tried) == (
        "A thread of consumer is busy 90% of the time, mostly computing: it sets the time, as nothing that "
        "was relaxed would gain 2%."
    )
    tried = replace(_tried(result, L2), limiter=limiter)
    assert "mostly computing, but half the latency of the way to the L2" in explain_limiter(tried)


@pytest.mark.parametrize(
    ("latency", "bandwidth", "said"),
    [
        (1.3, 1.0, "would help, more bandwidth would not"),
        (1.3, 1.2, "would help, and so would more bandwidth"),
        (1.0, 1.2, "but twice the bandwidth of the GPC port gives 1.20x"),
        (1.1, 1.7, "half the latency of the way to the L2 and back 1.10x: requests come in bursts"),
    ],
)
def test_whether_latency_sets_the_time_is_for_its_gain_to_say(
    result: Result, latency: float, bandwidth: float, said: str
) -> None:
    found = sorted(
        (replace(L2, speedup=latency), replace(GPC, speedup=bandwidth)), key=lambda item: -item.speedup
    )
    text = explain_limiter(_tried(result, *found, limiter="latency"))
    assert said in text
    assert ("latency sets the time" in text) == (latency == 1.3)


def test_what_helps_beside_less_latency_is_named(result: Result) -> None:
    threads = Relaxation(name=THREADS, change=HALF_COST, settings={}, cycles=1.0, speedup=1.4)
    text = explain_limiter(_tried(result, threads, L2, limiter="latency"))
    assert text == (
        "Nothing is busy above 90%: latency sets the time with others: half the cost of all operations of "
        "the threads 1.40x, half the latency of the way to the L2 and back 1.30x. More bytes in flight "
        "(stages, larger boxes) would help, and so would cheaper operations of the threads."
    )


def test_what_makes_a_run_slower_has_a_reason(result: Result) -> None:
    lines = explain_gains(_tried(result, GPC, replace(HBM, speedup=0.9)))
    assert lines[1].startswith(
        "Slower with twice the bandwidth of HBM (0.90x): requests then meet in another"
    )


def test_why_nothing_was_tried_is_said(result: Result) -> None:
    assert explain_gains(_tried(result, note="the work hangs")) == [
        "What would change it was not tried: the work hangs."
    ]
    assert explain_gains(result) == []


def test_gains_below_the_error_are_called_so(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    error = silicon.ModelError("mode multicast", 40, 0.05, 0.65, "tiny")
    monkeypatch.setattr("hoppersim.result.explain.model_error", lambda *_: error)
    assert "Each of these gains is within the model's error of 65%." in explain_gains(_tried(result, GPC, L2))
    assert not any(
        "within the model" in line for line in explain_gains(_tried(result, replace(GPC, speedup=1.9)))
    )
    assert any("off by 5% in the median and by up to 65%" in line for line in explain_result(result))


def test_a_pair_is_explained_run_by_run_with_the_verdict_last(result: Result) -> None:
    verdict = compare(result, result, ("a", "b"))
    lines = explain_comparison(Comparison(runs=(result, result), verdict=verdict))
    assert sum(line.startswith("multicast_c2") for line in lines) == 2
    assert lines[-1].startswith("Verdict: neither is faster")


def _measured_case() -> Case:
    """Find a case of the dataset, so that no hash is written here."""
    for point in silicon._points().values():
        if "case" in point.tags and point.tags["case"]["iterations"] in silicon.LONGER:
            fields = point.tags["case"]
            if fields["grid"] == "fill" and not fields["sms"]["gpcs"]:
                return Case(
                    **{name: fields[name] for name in ("mode", "cluster", "rows", "boxes", "stages")},
                    **{name: fields[name] for name in ("iterations", "pattern", "memory", "footprint")},
                )
    raise AssertionError("the dataset has no case on the whole chip")


def test_the_same_work_on_silicon_is_found_and_a_shorter_one_in_proportion(result: Result) -> None:
    case = _measured_case()
    machine = load_machine("h200_sxm")
    stand_in = replace(result, machine=machine.name, machine_hash=machine.hash)
    hashed = replace(stand_in, work_hash=silicon.work_hash(build_case(case)))
    exact = find_measured(hashed)
    assert exact is not None
    assert exact.of_trips == 0
    assert exact.error == (hashed.cycles - exact.cycles) / min(hashed.cycles, exact.cycles)
    shorter = replace(case, iterations=case.iterations // 2)
    part = find_measured(replace(stand_in, work_hash="of a shorter run"), shorter)
    assert part is not None
    assert part.cycles == pytest.approx(exact.cycles * shorter.iterations / part.of_trips)
    assert any(
        line.startswith(f"An {exact.device} took") for line in explain_result(replace(hashed, measured=exact))
    )


def test_a_changed_machine_has_no_counterpart_on_silicon(result: Result) -> None:
    changed = load_machine("h200_sxm", ["lrc.enabled=0"])
    work_hash = silicon.work_hash(build_case(_measured_case()))
    assert find_measured(replace(result, machine_hash=changed.hash, work_hash=work_hash)) is None


def test_the_error_is_that_of_the_worst_kind_and_of_compared_machines_only(result: Result) -> None:
    assert model_error(result) is None
    compared = replace(result, machine="h200_sxm")
    found = model_error(compared)
    assert found is not None
    groups = silicon.error_summary(silicon.DATASET).groups
    known = [groups[name]["p90"] for name in ("set aside", "set aside: mode multicast") if name in groups]
    assert found.p90 >= max(known)


def test_a_machine_that_takes_numbers_over_is_expected_to_be_no_better_than_the_measured_one(
    result: Result,
) -> None:
    other = load_machine("h100_sxm")
    near = replace(result, machine=other.name, source=make_source(other, result.source.work))
    found, measured = model_error(near), model_error(replace(result, machine="h200_sxm"))
    assert found == measured is not None
    (text,) = explain_error(near)
    assert text.startswith("No silicon was measured for h100_sxm. On h200_sxm, whose numbers it takes over,")
    assert f"(mode multicast) were within {found.p90:.0%}: expect no less here" in text or not found.kind
    assert explain_error(result) == ["Nothing measured says how far times of tiny are off."]


def test_a_bound_with_merged_reads_is_told_beside_the_one_without(result: Result) -> None:
    bounds = Bounds(merged_cycles=100.0, merged_link="gpc0.in", unmerged_cycles=200.0, unmerged_link="l2.p0")
    shared = replace(result, bounds=bounds, window_cycles=269.0)
    (text,) = explain_bound(shared)
    assert text == (
        "If all reads of one line by a cluster merged into one, the traffic would need at least 100 cycles "
        "at gpc0.in, if none did 200 at l2.p0; the run takes 2.69x the former."
    )
    alone = replace(shared, bounds=replace(bounds, unmerged_cycles=100.0))
    assert explain_bound(alone) == [
        "The traffic needs at least 100 cycles at gpc0.in; the run takes 2.69x that."
    ]


def test_what_gains_most_is_told_in_few_words(result: Result) -> None:
    assert gains_most(_tried(result, GPC, L2)) == "GPC port: 1.60x with twice the bandwidth"
    assert gains_most(_tried(result, replace(GPC, speedup=1.01))) == "nothing tried gains 2%"


def test_computing_sets_the_time_if_half_of_it_gains_most() -> None:
    work = build_case(Case("multicast", cluster=2, iterations=8, compute=2000))
    machine = load_machine("tiny")
    result = simulate(machine, work)
    found = replace(result, what_if=relax(machine, work, result))
    best = found.what_if.relaxations[0]
    assert (best.name, best.settings) == (COMPUTING, {})
    assert 1.5 < best.speedup < 2
    assert explain_limiter(found).endswith(
        f"mostly computing: it sets the time, half of it would make it {best.speedup:.2f}x as fast."
    )
