"""Findings of the working-set study follow from its rows, both ways; its shares from the counters."""

from __future__ import annotations

from typing import Any

from hoppersim.dataset import load_dataset
from hoppersim.experiments.study import Row
from hoppersim.experiments.working_set import CASES, MIB, STUDY, Point, finding, measure
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case


def _row(size: int, rate: float, dram: float, silicon: float | None = None, **fields: Any) -> Row:
    return {
        "mode": "unicast_distinct",
        "cluster": 1,
        "footprint_bytes": size * MIB,
        "l2_bytes": 60 * MIB,
        "used_sm_bytes_per_cycle": rate,
        "silicon_rate": silicon,
        "hit_share": 1 - dram,
        "dram_share": dram,
        "fabric_share": dram / 2,
        "limiter": "HBM",
        "model_error": 0.2,
        "cycles": 1000.0,
        "silicon_cycles": None,
        "work_hash": str(size),
        **fields,
    }


def test_the_knee_is_the_last_footprint_near_the_best_rate() -> None:
    knee, _ = finding([_row(16, 35.0, 0.0), _row(32, 35.0, 0.0), _row(48, 34.5, 0.0), _row(64, 20.0, 0.5)])
    assert "a set that fits, 35.0 B/cycle per SM, is kept up to 48 MiB of an L2 of 60 MiB" in knee
    assert "64 MiB takes 1.75x the time a byte, beyond the model's error of 20%, limited by HBM" in knee
    knee, _ = finding([_row(16, 35.0, 0.0), _row(32, 35.0, 0.0), _row(48, 30.0, 0.0), _row(64, 30.0, 0.5)])
    assert "is kept up to 32 MiB" in knee
    assert "1.17x the time a byte, within the model's error" in knee


def test_one_small_set_that_is_faster_than_the_others_does_not_move_the_knee() -> None:
    rows = [_row(8, 60.0, 0.0), _row(16, 35.0, 0.0), _row(48, 35.0, 0.0), _row(64, 20.0, 0.5)]
    assert "is kept up to 48 MiB" in finding(rows)[0]


def test_silicon_has_a_knee_of_its_own() -> None:
    rates = {16: 36.0, 32: 36.0, 48: 30.0, 64: 20.0}
    knee, _ = finding([_row(size, 35.0, 0.0, silicon) for size, silicon in rates.items()])
    assert "is kept up to 64 MiB of an L2 of 60 MiB, on an H200 up to 32 MiB" in knee
    knee, _ = finding([_row(16, 35.0, 0.0), _row(48, 34.5, 0.0)])
    assert "H200" not in knee


def test_dram_reads_begin_where_they_are_more_than_nothing() -> None:
    _, traffic = finding([_row(16, 35.0, 0.0), _row(48, 34.0, 0.2), _row(64, 20.0, 0.5)])
    assert "DRAM reads begin at 48 MiB; at 64 MiB 50% of the look-ups hit" in traffic
    assert "0.50 B from DRAM and 0.25 B across the partition fabric" in traffic
    _, traffic = finding([_row(16, 35.0, 0.0), _row(48, 34.0, 0.001)])
    assert "DRAM reads do not begin" in traffic


def test_a_set_above_the_l2_reads_dram_and_one_far_below_does_not(tiny: Machine) -> None:
    def run(footprint: int) -> Row:
        case = Case(
            "unicast_distinct", rows=32, stages=2, iterations=256, pattern="sweep", footprint=footprint
        )
        return measure(tiny, Point(case, 128))

    small, large = run(tiny.spec.l2.bytes // 8), run(tiny.spec.l2.bytes * 4)
    assert small["hit_share"] == 1.0
    assert small["dram_share"] == 0.0
    assert large["hit_share"] < 0.9
    assert large["dram_share"] > 0.1
    assert large["used_sm_bytes_per_cycle"] < small["used_sm_bytes_per_cycle"]


def test_full_points_name_works_that_silicon_ran() -> None:
    points = STUDY.points(load_machine("h200_sxm"), False)
    ran = {
        (case["footprint"], case["iterations"])
        for point in load_dataset().finished()
        if point.tags.get("experiment") == "footprint" and "case" in point.tags
        for case in [point.tags["case"]]
    }
    first = [point for point in points if point.case.mode == CASES[0].mode]
    assert {(point.case.footprint, point.measured_iterations) for point in first} <= ran
