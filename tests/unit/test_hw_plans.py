"""The measurement plans: legal, launchable on the H200, each work once, and set aside as they were drawn."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from functools import cache
from importlib import import_module

import pytest

from hoppersim import load_machine
from hoppersim.blocks.addresses import home_partition, slice_in_partition
from hoppersim.program.canonical import work_hash
from hoppersim.program.rules import check
from hoppersim.program.traffic import place_flow
from hw_validate.bundle import Point
from hw_validate.plans import again, dataset
from hw_validate.plans.hbm_depth import ordered
from hw_validate.works import PLANS

NEW = (
    "curves", "shapes", "stores", "cluster_fabric", "fabric_costs", "hbm_depth", "latency_map", "slices",
    "races", "fresh",
)  # fmt: skip
DRAWN = {"races": "ef2c072df20bbf87", "fresh": "0dad81eeccd2a259"}
"""Plans most of which is set aside, and the digest of the hashes of what is."""
MARKED = {"curves": 72, "shapes": 79, "stores": 78, "cluster_fabric": 184}
"""Plans of which a part is set aside, and the points among which it was drawn."""
ASIDE = {
    "curves": "d03ccdbb7872ab6b",
    "shapes": "d1c31540db31c7d4",
    "stores": "8bee7129b55a8c09",
    "cluster_fabric": "b9f1538add500b66",
}
"""Digest of the hashes of the points that are set aside."""
DATASET = "234bace05fab6ace"
"""Digest of the hashes of the dataset's works."""


@cache
def plan(name: str) -> list[Point]:
    """List the points of a plan."""
    return list(import_module(f"hw_validate.plans.{name}").points())


@cache
def hashes_of(name: str) -> frozenset[str]:
    """Give the hashes of a plan's works."""
    return frozenset(work_hash(point.work) for point in plan(name))


def digest(hashes: list[str]) -> str:
    """Give a short digest of hashes in their order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", NEW)
def test_each_work_of_a_plan_is_legal_and_launchable(name: str) -> None:
    machine = load_machine("h200_sxm")
    for point in plan(name):
        assert check(point.work, machine) == [], point.label
        for flow in point.work.flows:
            assert place_flow(machine, flow).clusters, point.label


@pytest.mark.parametrize("name", NEW)
def test_a_plan_is_registered_and_has_each_work_and_label_once(name: str) -> None:
    assert name in PLANS
    assert len({point.id for point in plan(name)}) == len(plan(name))
    if name not in DRAWN:  # a case's label leaves fields out
        assert len({point.label for point in plan(name)}) == len(plan(name))


@pytest.mark.parametrize("name", NEW)
def test_a_plan_is_the_same_each_time(name: str) -> None:
    again_listed = import_module(f"hw_validate.plans.{name}").points()
    assert [point.id for point in again_listed] == [point.id for point in plan(name)]


@pytest.mark.parametrize("name", MARKED)
def test_points_are_set_aside_as_drawn(name: str) -> None:
    drawn = [point for point in plan(name) if "set_aside" in point.tags]
    aside = [work_hash(point.work) for point in drawn if point.tags["set_aside"] == "random"]
    assert len(drawn) == MARKED[name]
    assert 0.2 <= len(aside) / len(drawn) <= 1 / 3
    assert digest(aside) == ASIDE[name]


@pytest.mark.parametrize("name", [name for name in NEW if name not in {*MARKED, *DRAWN}])
def test_costs_and_structure_are_not_set_aside(name: str) -> None:
    assert not any(point.tags.get("set_aside") for point in plan(name))


def test_the_dataset_keeps_its_works_and_leaves_out_what_cannot_be_launched() -> None:
    points = dataset.points()
    assert digest([work_hash(point.work) for point in points]) == DATASET
    machine = load_machine("h200_sxm")
    for point in points:
        assert all(place_flow(machine, flow).clusters for flow in point.work.flows), point.label


def test_another_day_measures_known_works_only() -> None:
    known = {point.id for name in ("scaling", "dataset") for point in plan(name)}
    structure = import_module("hw_validate.plans.structure")
    known |= {point.id for point in structure.fan_out_points()}
    assert {point.id for point in again.points()} <= known
    assert not any(point.tags.get("set_aside") for point in again.points())


@pytest.mark.parametrize("order", ["stretch", "interleaved", "scattered"])
def test_an_order_reads_each_tile_once(order: str) -> None:
    ctas, rows, tiles = 12, 8, 16
    place, total = ordered(order, ctas, rows, tiles)  # type: ignore[arg-type]
    first = {
        (place.cluster * cluster + place.loops["tile"] * tile + place.loops["round"] * turn) % place.wrap
        for cluster in range(ctas)
        for turn in range(tiles // 8)
        for tile in range(8)
    }
    assert first == set(range(0, total, rows))


@pytest.mark.parametrize("name", DRAWN)
def test_what_was_drawn_stays_set_aside_and_is_in_no_other_plan(name: str) -> None:
    aside = [work_hash(point.work) for point in plan(name) if point.tags["set_aside"]]
    assert len(aside) / len(plan(name)) > 0.6
    assert digest(aside) == DRAWN[name]
    for other in ("dataset", "scaling", "structure", "in_flight", "races", "fresh", *MARKED):
        if other != name:
            assert not hashes_of(name) & hashes_of(other), other


def test_a_race_is_two_points_that_differ_in_the_mode_only_and_are_set_aside_together() -> None:
    sides = defaultdict(list)
    for point in plan("races"):
        sides[point.tags["race"]].append(point)
    assert len(sides) >= 90
    for first, second in sides.values():
        assert {**first.tags["case"], "mode": "unicast"} == second.tags["case"]
        assert first.tags["case"]["mode"] in ("multicast", "multicast_slices")
        assert first.tags["set_aside"] == second.tags["set_aside"]
    assert {point.tags["case"]["skew"] for point in plan("races")} > {0}


def test_the_fresh_set_holds_every_kind_set_aside_and_the_rarer_ones_for_training_too() -> None:
    ordinary = [point for point in plan("fresh") if "case" in point.tags]
    rare = [point for point in plan("fresh") if "case" not in point.tags]
    aside = [point.tags["kind"] for point in rare if point.tags["set_aside"]]
    assert len(ordinary) == 100
    assert all(point.tags["set_aside"] for point in ordinary)
    assert len(aside) == 50
    taught = {point.tags["kind"] for point in rare if not point.tags["set_aside"]}
    for kind in ("article", "push", "st_async", "remote loads", "stores", "loads and stores", "promotion"):
        assert kind in aside
        assert kind in taught


def test_confined_addresses_lie_in_as_many_slices_as_they_say() -> None:
    home, place = (
        getattr(function, "py_func", function) for function in (home_partition, slice_in_partition)
    )
    l2 = load_machine("h200_sxm").spec.l2
    for point in plan("slices"):
        (flow,) = point.work.flows
        rows, pitch = flow.program.maps[0].dims[1], 512
        lines = [(row * pitch + byte) // 128 for row in range(rows) for byte in (0, 128)]
        found = {(home(line, 2), place(line, l2.slices // 2)) for line in lines}
        assert len(found) <= point.tags["slices"]
        if point.tags["slices"] <= 16:  # the map draws anew after eight kilobytes, in two slices each
            assert len(found) == point.tags["slices"]


def test_streams_have_their_sms_for_themselves_and_read_inside_their_tensor() -> None:
    for point in plan("streams"):
        (flow,) = point.work.flows
        assert 2 * flow.program.shared_bytes > 228 * 1024, point.label
        assert flow.launch.grid == "fill" or int(flow.launch.grid) <= 160
