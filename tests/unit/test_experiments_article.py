"""The article's benchmark: claims have a source, the finding follows from the rows, silicon is looked up."""

from __future__ import annotations

import pytest

from hoppersim.experiments.article_benchmark import (
    CLAIMS,
    ITERATIONS,
    SCENARIOS,
    SOURCES,
    STUDY,
    Point,
    measure,
    points,
    works,
)
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.plots.article_benchmark import draw
from hoppersim.program.rules import check


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


def row(source: str, ratio: float, pattern: str = "hot", **fields):
    return {
        "machine": "made_up",
        "scenario": SCENARIOS[pattern],
        "pattern": pattern,
        "source": source,
        "iterations": 1000,
        "model_error": 0.1,
        "ratio": ratio,
        "unicast_cycles": 1000.0 * ratio,
        "multicast_cycles": 1000.0,
        "unicast_iteration_cycles": ratio,
        "multicast_iteration_cycles": 1.0,
        "unicast_terabytes_per_second": 2.0,
        "multicast_terabytes_per_second": 2.0 * ratio,
        "l2_ratio": None,
        "dram_ratio": None,
        "dram_share": None,
        "spread": 0.01 if source == "H200" else None,
        "limiter": "latency",
        "busiest": "L2 slice",
        "busiest_share": 0.2,
    } | fields


def claim(pattern: str = "hot"):
    return row("article", 1.8, pattern, l2_ratio=2.0, dram_ratio=2.0)


def finding(*rows) -> str:
    return " ".join(STUDY.finding(list(rows)))


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "not borne out"), (1.75, "is borne out")])
def test_silicon_decides_whether_a_claim_is_borne_out(ratio: float, verdict: str):
    text = finding(claim(), row("H200", ratio), row("simulator", 1.4))
    assert f"an H200 shows {ratio:.3f}x" in text
    assert verdict in text


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "not borne out"), (1.75, "is borne out")])
def test_without_silicon_the_simulator_decides(ratio: float, verdict: str):
    assert verdict in finding(claim(), row("simulator", ratio))


@pytest.mark.parametrize(("ratio", "within"), [(1.05, True), (0.95, True), (1.3, False)])
def test_a_simulated_difference_within_the_error_is_called_so(ratio: float, within: bool):
    text = finding(claim(), row("simulator", ratio))
    assert ("within the model's error of 10%" in text) is within


@pytest.mark.parametrize(("ratio", "words"), [(1.005, "no more than"), (1.05, "while")])
def test_a_measured_difference_is_weighed_against_the_repeats(ratio: float, words: str):
    assert f"({words} its repeats differ, by 1.0%)" in finding(claim(), row("H200", ratio))


def test_counters_stand_beside_the_claimed_savings():
    text = finding(claim(), row("H200", 1, l2_ratio=1.25), row("simulator", 1, l2_ratio=1.5, dram_ratio=1.0))
    assert "2x the L2 reads (an H200's counters say 1.25x, the simulator's 1.50x)" in text
    assert "2x the DRAM reads (the simulator's 1.00x)" in text


@pytest.mark.parametrize(("share", "source"), [(0.03, "the L2"), (0.9, "DRAM")])
def test_a_stream_is_said_to_come_from_where_its_bytes_come_from(share: float, source: str):
    text = finding(claim("stream"), row("simulator", 1, "stream", dram_share=share))
    assert f"DRAM reads are {share:.1%} in the simulator of the bytes delivered" in text
    assert f"this scenario runs from {source}." in text
    assert "runs from" not in finding(claim(), row("simulator", 1, dram_share=share))


@pytest.mark.parametrize(
    ("limiter", "words"),
    [
        ("latency", "gains nothing"),
        ("issue", "gains nothing"),
        ("compute", "gains nothing"),
        ("GPC port", "can help"),
    ],
)
def test_the_reason_follows_from_the_limiter(limiter: str, words: str):
    assert words in finding(claim(), row("simulator", 1, limiter=limiter))


def test_times_compare_only_over_the_same_iterations():
    measured, simulated = row("H200", 1.0), row("simulator", 1.0, unicast_cycles=800.0)
    assert "off by -25% (unicast) and +0% (multicast)" in finding(claim(), measured, simulated)
    assert "do not compare" in finding(claim(), measured, simulated | {"iterations": 100})


@pytest.mark.parametrize("pattern", list(SCENARIOS))
def test_claims_carry_their_source(tiny: Machine, pattern):
    stated = measure(tiny, Point(pattern, "claim", ITERATIONS[pattern]))
    assert stated["ratio"] == CLAIMS[pattern].speedup
    assert stated["origin"].startswith("article")
    assert "H100" in stated["origin"]
    assert stated["unicast_cycles"] is None


@pytest.mark.parametrize("pattern", list(SCENARIOS))
def test_silicon_is_the_shipped_measurement_of_the_same_works(h200: Machine, pattern):
    point = Point(pattern, "silicon", ITERATIONS[pattern])
    measured = measure(h200, point)
    assert measured["status"] == "ok"
    assert measured["origin"].startswith("measured: ")
    assert measured["ratio"] == measured["unicast_cycles"] / measured["multicast_cycles"]
    assert measured["unicast_iteration_cycles"] * point.iterations == pytest.approx(
        measured["unicast_cycles"]
    )
    assert measured["l2_ratio"] is not None


def test_loops_that_were_not_measured_say_so(h200: Machine):
    missing = measure(h200, Point("hot", "silicon", 7))
    assert missing["ratio"] is None
    assert "was not measured" in missing["status"]


def test_a_simulated_row_has_the_same_columns(tiny: Machine):
    simulated = measure(tiny, Point("hot", "simulator", 4))
    assert simulated["status"] == "ok"
    assert simulated["ratio"] == simulated["unicast_cycles"] / simulated["multicast_cycles"]
    assert list(simulated) == list(measure(tiny, Point("hot", "claim", 4)))


def test_every_point_is_legal_and_a_quick_study_simulates_a_tenth(h200: Machine):
    full, quick = points(h200, False), points(h200, True)
    assert not any(check(work, h200) for point in (*full, *quick) for work in works(point).values())
    assert [point.source for point in full] == [point.source for point in quick] == 2 * list(SOURCES)
    for long, short in zip(full, quick, strict=True):
        assert long.iterations == short.iterations * (10 if long.source == "simulator" else 1)


def test_the_figure_has_a_bar_for_each_ratio_and_kernel():
    figure = draw(STUDY, [claim(), row("H200", 1.0), row("simulator", 1.1)])
    ratios, cycles, _ = figure.axes
    assert [bar.get_height() for bar in ratios.patches] == [1.8, 1.0, 1.1]
    assert "SM cycles" in cycles.get_ylabel()
