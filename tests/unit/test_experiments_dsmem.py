"""Schemes A and B: the finding follows from the rows, the points are legal, measured ones are found."""

from __future__ import annotations

import pytest

from hoppersim.experiments.dsmem_vs_multicast import CLUSTERS, STUDY, Point, measure, points, works
from hoppersim.experiments.silicon import measured_cycles
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.plots.dsmem_vs_multicast import draw
from hoppersim.program.canonical import work_hash
from hoppersim.program.rules import check

ERROR = 0.2


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


def row(cluster: int, reuse: int, a: float, b: float, tile: int = 16384, **fields):
    ratio = a / b
    return {
        "machine": "made_up",
        "cluster": cluster,
        "tile_bytes": tile,
        "reuse": reuse,
        "iterations": 10,
        "model_error": ERROR,
        "a_work_hash": f"a{cluster}{reuse}{tile}",
        "b_work_hash": f"b{cluster}{reuse}{tile}",
        "a_cycles": a,
        "b_cycles": b,
        "a_use_cycles": a / reuse / 10,
        "b_use_cycles": b / reuse / 10,
        "a_silicon_cycles": None,
        "b_silicon_cycles": None,
        "a_silicon_use_cycles": None,
        "b_silicon_use_cycles": None,
        "a_l2_sectors": 100,
        "b_l2_sectors": 100,
        "a_over_b": ratio,
        "winner": "B" if ratio > 1 + ERROR else "A" if ratio < 1 / (1 + ERROR) else "level",
        "a_tile_bytes_of_cluster": tile,
        "b_tile_bytes_of_cluster": tile * cluster,
    } | fields


def finding(*rows) -> str:
    return " ".join(STUDY.finding(list(rows)))


def test_whoever_takes_less_time_by_more_than_the_error_wins():
    b_wins, a_wins, level = row(2, 1, 3000, 1000), row(2, 4, 1000, 4000), row(4, 1, 1100, 1000)
    text = finding(b_wins, a_wins, level)
    assert "(B) win at 1 of 3 points, from 3.0x (16 KiB read once in clusters of 2)" in text
    assert "(A) win at 1 of 3 points, from 4.0x (16 KiB read 4 times in clusters of 2)" in text
    assert "At 1 of 3 points the difference is within the model's error of 20%: 16 KiB read once" in text


def test_nothing_is_said_to_be_level_when_all_points_are_decided():
    assert "within the model's error" not in finding(row(2, 1, 3000, 1000), row(2, 4, 9000, 1000))


def test_one_more_use_costs_what_the_times_grow_by():
    rows = [row(2, 1, 1000, 900), row(2, 5, 5000, 1300), row(8, 1, 2000, 900), row(8, 5, 22000, 1300)]
    text = finding(*rows)
    assert "takes A 100 cycles in clusters of 2 and 500 in clusters of 8, where" in text
    assert "own copy, 10 and 10." in text


def test_measured_costs_of_a_use_are_named_beside_simulated_ones():
    rows = [row(2, 1, 1000, 900, a_silicon_cycles=800), row(2, 5, 5000, 1300, a_silicon_cycles=2000)]
    assert "(H200: 30 and 30)" in finding(*rows)


@pytest.mark.parametrize(("fresh", "less", "more"), [(500, 1, 0), (1500, 0, 1), (1050, 0, 0)])
def test_a_fresh_multicast_is_weighed_against_one_more_remote_use(fresh: float, less: int, more: int):
    text = finding(row(2, 1, 20000, 10 * fresh), row(2, 2, 30000, 10 * fresh))
    assert f"use in {less} of 1 combinations of tile and cluster, and more in {more}." in text


@pytest.mark.parametrize(
    ("sectors", "words"), [(100, "it reads as much as B"), (200, "it reads up to 2.00x")]
)
def test_memory_saved_and_l2_reads_are_those_of_the_rows(sectors: int, words: str):
    text = finding(row(8, 1, 3000, 1000, a_l2_sectors=sectors))
    assert "16 KiB for a tile against 128 KiB in clusters of 8" in text
    assert words in text


@pytest.mark.parametrize(("silicon", "b", "a"), [(2000, 1, 0), (500, 0, 1), (1000, 0, 0)])
def test_silicon_can_turn_the_verdict(silicon: float, b: int, a: int):
    text = finding(row(2, 1, 3000, 1000, a_silicon_cycles=silicon))
    assert f"B wins at {b} and A at {a} of 1 points" in text
    assert "Against an H200 at 1 of these points" in text


def test_no_rows_give_no_finding():
    assert STUDY.finding([]) == []
    assert STUDY.finding([row(2, 1, 1, 1, a_cycles=None)]) == []


def test_every_point_is_legal(h200: Machine):
    broken = [point for point in points(h200, False) for work in works(point) if check(work, h200)]
    assert broken == []


def test_a_quick_study_is_a_small_part_of_the_full_one(h200: Machine):
    full, quick = points(h200, False), points(h200, True)
    assert set(quick) < set(full)
    assert 4 * len(quick) < len(full)
    assert {point.cluster for point in quick} == set(CLUSTERS)


def test_remote_reads_of_the_dataset_are_found_by_their_hash(h200: Machine):
    found = [point for point in points(h200, False) if work_hash(works(point)[0]) in measured_cycles()]
    measured = {(point.tile_bytes, point.cluster, point.reuse) for point in found}
    assert measured >= {(16384, cluster, uses) for cluster in CLUSTERS for uses in (1, 2, 4, 8)}


def test_both_schemes_are_simulated_and_other_machines_have_no_measured_times(tiny: Machine):
    measured = measure(tiny, Point(2, 2048, 2))
    assert measured["status"] == "ok"
    assert measured["a_cycles"] > measured["b_cycles"] > 0
    # a line that a slice still holds for the GPC is not looked up again
    assert 0.98 * measured["b_l2_sectors"] <= measured["a_l2_sectors"] <= measured["b_l2_sectors"]
    assert measured["a_silicon_cycles"] is None
    assert list(measured) == list(measure(tiny, Point(16, 2048, 2)))


def test_a_cluster_that_does_not_fit_is_a_row_that_says_so(tiny: Machine):
    refused = measure(tiny, Point(16, 2048, 2))
    assert refused["a_cycles"] is None
    assert "launch.cluster" in refused["status"]


def test_the_figure_has_a_map_for_each_tile_and_marks_what_is_level():
    figure = draw(STUDY, [row(2, 1, 1100, 1000, tile=tile) for tile in (2048, 16384)])
    upper, *maps = figure.axes
    assert [axes.get_title() for axes in maps] == ["2 KiB tile", "16 KiB tile"]
    assert [text.get_text() for axes in maps for text in axes.texts] == ["(1.1)", "(1.1)"]
    assert upper.get_ylabel() == "SM cycles per use"
