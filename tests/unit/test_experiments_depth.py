"""Findings of pipeline depth follow from its rows, both ways; its law is the machine's own latency."""

from __future__ import annotations

from typing import Any

import pytest

from hoppersim.experiments.pipeline_depth import PLACES, STUDY, Point, finding, load_cycles, measure
from hoppersim.experiments.study import Row
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case

PLACE = next(iter(PLACES))


def _row(stages: int, rate: float, tile: int = 8192, **fields: Any) -> Row:
    return {
        "place": PLACE,
        "tile_bytes": tile,
        "stages": stages,
        "load_cycles": 400.0,
        "peak_rate": 100.0,
        "peak_link": "sm0.in",
        "used_sm_bytes_per_cycle": rate,
        "law_share": rate / min(100.0, stages * tile / 400),
        "limiter": "issue",
        "model_error": 0.2,
        "cycles": 1000.0,
        "silicon_cycles": None,
        "work_hash": f"{tile}{stages}",
        **fields,
    }


def test_stages_for_the_peak_are_told_as_the_law_asks_and_as_simulated() -> None:
    needs, _ = finding([_row(1, 20.0), _row(4, 80.0), _row(8, 95.0)])
    assert "90% of it: 8 KiB: law 5, simulated 8" in needs
    needs, _ = finding([_row(1, 20.0), _row(4, 92.0), _row(8, 95.0)])
    assert "law 5, simulated 4" in needs


def test_a_box_that_never_reaches_the_peak_says_what_limits_it() -> None:
    needs, _ = finding([_row(1, 20.0), _row(8, 50.0)])
    assert "8 give 50%, limited by issue" in needs


def test_the_gap_to_the_law_is_within_or_beyond_the_error() -> None:
    _, gap = finding([_row(1, 20.0), _row(8, 90.0)])
    assert "allow at most 1.11x the simulated rate, within the model's error of 20%" in gap
    _, gap = finding([_row(1, 20.0), _row(8, 50.0)])
    assert "allow at most 2.00x the simulated rate, beyond the model's error of 20%: with 8 x 8 KiB" in gap


def test_a_load_takes_longer_from_hbm_and_longer_for_a_larger_box(tiny: Machine) -> None:
    assert load_cycles(tiny, 16, "l2") < load_cycles(tiny, 16, "hbm")
    assert load_cycles(tiny, 16, "l2") < load_cycles(tiny, 64, "l2")


def test_one_sm_with_one_stage_is_at_the_law_and_none_is_above_the_peak(tiny: Machine) -> None:
    case = Case(
        "unicast_distinct", rows=64, stages=1, iterations=32, pattern="sweep", grid=1, footprint=2**16
    )
    row = measure(tiny, Point(case, PLACE))
    assert row["law_share"] == pytest.approx(1.0, abs=0.05)
    assert row["used_sm_bytes_per_cycle"] <= row["peak_rate"]


def test_every_ring_fits_and_every_place_has_points(tiny: Machine) -> None:
    points = STUDY.points(tiny, False)
    assert {point.place for point in points} == set(PLACES)
    assert all(point.case.stages * point.case.tile_bytes <= 227 * 1024 for point in points)
