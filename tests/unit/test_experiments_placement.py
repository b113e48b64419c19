"""Placement: splits add up, the finding follows from the rows, and the probed part is looked up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hoppersim.experiments.placement import (
    GPC_TPCS,
    MOST_SPLITS,
    OTHER,
    OWN,
    STUDY,
    Point,
    measure,
    measured_sms,
    points,
    sizes_text,
    splits,
    variant,
)
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.machine.placement import require_launchable, resident
from hoppersim.plots.placement import draw


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


def row(cluster: int, stranded: int, plans: str = OWN, plan: str = "20 x5", **fields):
    return {
        "machine": "made_up",
        "sms_of_chip": 100,
        "plans": plans,
        "floorplan": plan,
        "gpc_sms": plan,
        "cluster": cluster,
        "model_error": 0.2,
        "sms_used": 100 - stranded,
        "silicon_sms": None,
        "stranded": stranded,
        "used_share": 1 - stranded / 100,
        "stranded_sms": " ".join(str(sm) for sm in range(100 - stranded, 100)),
        "load_cycles": 1000.0,
        "load_rate": 100.0,
        "load_silicon_cycles": None,
        "load_silicon_rate": None,
        "compute_rate": 50.0 * (1 - stranded / 100),
    } | fields


def finding(*rows) -> str:
    return " ".join(STUDY.finding(list(rows)))


def test_sizes_that_strand_nothing_and_most_are_named():
    text = finding(row(1, 0), row(2, 0), row(3, 10), row(8, 4))
    assert "clusters of 1, 2 use all SMs; clusters of 3 strand most, 10 of 100 (10%)" in text
    assert "Clusters of 8 leave 4 of 100 SMs unused: SMs 96 to 99." in text


def test_a_floorplan_without_leftovers_strands_nothing():
    text = finding(row(1, 0), row(4, 0))
    assert "clusters of 1, 4 use all SMs." in text
    assert "unused" not in text
    assert "strand" not in text


@pytest.mark.parametrize(("rate", "within"), [(95.0, True), (60.0, False)])
def test_what_stranded_sms_cost_is_the_ratio_to_clusters_of_one(rate: float, within: bool):
    text = finding(row(1, 0), row(8, 20, load_rate=rate))
    assert (
        f"kernel that computes does 80% of the work in the same time, one that only loads {rate:.0f}%" in text
    )
    assert ("within the model's error of 20%" in text) is within


def test_measured_throughput_stands_beside_the_simulated_one():
    text = finding(row(1, 0, load_silicon_rate=50.0), row(8, 20, load_silicon_rate=55.0))
    assert ", 110% on an H200." in text


def test_the_probed_part_may_contradict_its_floorplan():
    agreeing = [row(1, 0, silicon_sms=100), row(8, 20, silicon_sms=80)]
    assert "used as many SMs at 2 of 2 sizes." in finding(*agreeing)
    text = finding(*agreeing, row(6, 10, silicon_sms=84))
    assert "used as many SMs at 2 of 3 sizes; clusters of 6 used 84 there and 90 here." in text


def test_splits_are_compared_for_each_size_that_strands_sms():
    others = [row(8, 20, OTHER, "a"), row(8, 4, OTHER, "b"), row(1, 0, OTHER, "a"), row(4, 5, OTHER, "a")]
    text = finding(row(1, 0), *others)
    assert "clusters of 8 use 80 (a) to 96 (b) of 100 SMs on 2 splits." in text
    assert "clusters of 4 use 95 of 100 SMs on each of 1 splits." in text
    assert "Other floorplans: clusters of 1" not in text


def test_no_rows_give_no_finding():
    assert STUDY.finding([]) == []


def test_splits_of_the_h200_are_all_ways_to_lack_six_tpcs(h200: Machine):
    found = splits(h200)
    assert len(found) == len(set(found)) == 11
    assert {sum(split) for split in found} == {132}
    assert max(map(max, found)) == 2 * GPC_TPCS
    assert (18, 18, 16, 16, 16, 16, 16, 16) in found
    assert found == sorted(found, reverse=True)


def test_many_splits_are_thinned_out_evenly(h200: Machine):
    fewer = replace(h200, floorplan=variant(h200, (14,) * 8).floorplan)
    found = splits(fewer)
    assert len(found) == len(set(found)) == MOST_SPLITS
    assert {sum(split) for split in found} == {112}
    assert found[-1] == (14,) * 8


@pytest.mark.parametrize(
    ("split", "clusters"),
    [
        ((18, 18, 18, 18, 18, 18, 16, 8), {4: 30, 8: 15, 16: 7}),
        ((18, 18, 16, 16, 16, 16, 16, 16), {4: 32, 8: 16, 16: 8}),
        ((18, 18, 18, 18, 18, 18, 18, 6), {4: 29, 8: 14, 16: 7}),
    ],
)
def test_clusters_of_a_split_fill_each_gpc_by_itself(h200: Machine, split, clusters):
    placed = variant(h200, split)
    assert sorted(placed.floorplan.gpc_sizes, reverse=True) == list(split)
    assert placed.sm_count == h200.sm_count
    assert not placed.pair_latency.any()
    for size, count in clusters.items():
        assert resident(placed, size, 200 * 1024, 128).max_active_clusters == count


def test_sizes_are_written_with_their_numbers():
    assert sizes_text((16, 18, 18, 12)) == "18 x2, 16, 12"


def test_every_point_can_be_launched_and_a_quick_study_is_short(h200: Machine):
    full, quick = points(h200, False), points(h200, True)
    for point in full:
        placed = variant(h200, point.split) if point.split else h200
        require_launchable(placed, point.cluster, 200 * 1024, 64)
    assert {point.cluster for point in full if not point.split} == set(range(1, 17))
    assert set(quick) < set(full)
    assert 4 * len(quick) < len(full)


def test_sms_that_the_probed_part_used_are_looked_up(h200: Machine, tiny: Machine):
    used = {size: measured_sms(h200.floorplan, size) for size in (1, 2, 4, 8, 16)}
    assert used == {1: 132, 2: 132, 4: 120, 8: 120, 16: 112}
    assert measured_sms(h200.floorplan, 17) is None
    assert measured_sms(tiny.floorplan, 2) is None


def test_both_kernels_are_simulated_where_the_clusters_are(tiny: Machine):
    measured = measure(tiny, Point((6, 2), 4))
    assert measured["status"] == "ok"
    assert (measured["sms_used"], measured["stranded"]) == (4, 4)
    assert len(measured["stranded_sms"].split()) == 4
    assert measured["load_rate"] > measured["compute_rate"] > 0
    refused = measure(tiny, Point((), 8))
    assert refused["sms_used"] is None
    assert "launch.cluster" in refused["status"]
    assert list(refused) == list(measured)


def test_the_figure_names_floorplans_and_counts_unused_sms():
    figure = draw(STUDY, [row(1, 0), row(8, 20), row(1, 0, OTHER, "a"), row(8, 4, OTHER, "a")])
    left, right = figure.axes
    assert [text.get_text() for text in right.get_yticklabels()] == ["this floorplan", "a"]
    assert [text.get_text() for text in right.texts] == ["20", "4"]
    assert left.get_xlabel() == "CTAs of a cluster"
