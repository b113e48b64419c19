"""Findings of the cluster-scaling study follow from its rows, both ways."""

from __future__ import annotations

from typing import Any

from hoppersim.experiments.cluster_scaling import STUDY, finding, stranded
from hoppersim.experiments.study import MODE_NAMES, Row
from hoppersim.machine.machine import Machine


def _row(mode: str, cluster: int, cycles: float, view: str = "clusters", **fields: Any) -> Row:
    used = fields.pop("sms_used", 100)
    return {
        "view": view,
        "memory": "l2",
        "mode": mode,
        "cluster": cluster,
        "stages": 4,
        "boxes": 1,
        "tile_bytes": 16384,
        "cycles": cycles,
        "silicon_cycles": None,
        "work_hash": f"{mode}{cluster}{cycles}",
        "sms_used": used,
        "sms_of_chip": 100,
        "used_sm_bytes_per_cycle": 1000 / cycles,
        "chip_bytes_per_cycle": used * 1000 / cycles,
        "chip_sm_bytes_per_cycle": used * 10 / cycles,
        "limiter": "GPC port",
        "limiter_share": 0.9,
        "l2_sectors": 10,
        "model_error": 0.2,
        **fields,
    }


def _sentence(rows: list[Row], word: str) -> str:
    found = [text for text in finding(rows) if word in text]
    assert len(found) == 1, found
    return found[0]


def test_a_gain_beyond_the_error_stands_and_one_within_it_is_doubted() -> None:
    distinct = _row("unicast_distinct", 2, 200.0)
    sure = _sentence([_row("multicast", 2, 100.0), distinct], "gains most")
    doubtful = _sentence([_row("multicast", 2, 190.0), distinct], "gains most")
    assert "2.00x over distinct tiles, " in sure
    assert "1.05x over distinct tiles (within the model's error of 20%)" in doubtful


def test_the_best_cluster_is_the_one_with_the_largest_gain() -> None:
    rows = [_row("unicast_distinct", size, 200.0) for size in (2, 4)]
    better_at_two = [_row("multicast", 2, 100.0), _row("multicast", 4, 150.0)]
    better_at_four = [_row("multicast", 2, 150.0), _row("multicast", 4, 100.0)]
    assert "in clusters of 2" in _sentence(rows + better_at_two, "gains most")
    assert "in clusters of 4" in _sentence(rows + better_at_four, "gains most")


def test_what_silicon_gains_most_is_told_beside_what_the_simulation_does() -> None:
    rows = [_row("unicast_distinct", size, 200.0, silicon_cycles=200.0) for size in (2, 4)]
    rows += [
        _row("multicast", 2, 150.0, silicon_cycles=80.0),
        _row("multicast", 4, 100.0, silicon_cycles=100.0),
    ]
    told = _sentence(rows, "measured on an H200")
    assert "2.50x at most, in clusters of 2, and 2.00x in clusters of 4" in told


def test_stranded_sms_are_told_and_nothing_is_said_without_any() -> None:
    rows = [_row("multicast", 1, 100.0), _row("multicast", 16, 100.0, sms_used=80)]
    assert stranded(rows) == {1: 0, 16: 20}
    assert "20 (20%) by clusters of 16" in _sentence(rows, "no cluster reaches")
    assert not any("no cluster reaches" in text for text in finding(rows[:1]))


def test_stages_that_are_enough_follow_from_the_rates() -> None:
    def deep(times: tuple[float, ...]) -> list[Row]:
        stages = (1, 2, 4)
        return [_row("unicast", 4, time, "stages", stages=n) for n, time in zip(stages, times, strict=True)]

    assert f"4 for {MODE_NAMES['unicast']}" in _sentence(deep((400.0, 200.0, 100.0)), "stages that give")
    assert f"2 for {MODE_NAMES['unicast']}" in _sentence(deep((400.0, 101.0, 100.0)), "stages that give")


def test_the_price_of_boxes_is_named_only_beyond_the_error() -> None:
    one = _row("multicast", 4, 100.0, "boxes")
    dear = _sentence([one, _row("multicast", 4, 150.0, "boxes", boxes=8)], "8 boxes")
    free = _sentence([one, _row("multicast", 4, 101.0, "boxes", boxes=8)], "8 boxes")
    assert "1.50x" in dear
    assert dear.endswith(f"error of 20%: {MODE_NAMES['multicast']}.")
    assert free.endswith("error of 20%: none.")


def test_every_cta_receives_the_same_bytes_at_every_point(tiny: Machine) -> None:
    for quick in (True, False):
        assert len({point.case.bytes_per_cta for point in STUDY.points(tiny, quick)}) == 1


def test_views_change_one_thing_each(tiny: Machine) -> None:
    points = STUDY.points(tiny, False)
    for view, field in (("stages", "stages"), ("boxes", "boxes")):
        cases = [point.case for point in points if point.view == view]
        assert len({case.cluster for case in cases}) == len({case.tile_bytes for case in cases}) == 1
        assert {getattr(case, field) for case in cases} == {1, 2, 4, 8}
