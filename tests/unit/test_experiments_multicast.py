"""Findings of multicast against unicast follow from its rows, both ways; the variants do what they say."""

from __future__ import annotations

from typing import Any

import pytest

from hoppersim.experiments.multicast_vs_unicast import (
    MODES,
    Point,
    finding,
    measure,
    points,
    skewed,
    without_lrc,
)
from hoppersim.experiments.study import MODE_NAMES, Row
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.operands import evaluate

KIB = 1024


def _row(cluster: int, tile: int, same: float, distinct: float | None = None, **fields: Any) -> Row:
    row: Row = {
        "view": "tiles",
        "memory": "l2",
        "cluster": cluster,
        "tile_bytes": tile * KIB,
        "lrc": 1,
        "skew": 0,
        "model_error": 0.2,
        "gain_same": same,
        "gain_distinct": distinct,
        "silicon_gain_same": None,
        "silicon_gain_distinct": None,
        "merged_share": 0.5,
    }
    for mode in MODES:
        row |= {f"{mode}_work_hash": mode, f"{mode}_cycles": 100.0, f"{mode}_silicon_cycles": None}
    return row | fields


def _sentence(rows: list[Row], word: str) -> str:
    found = [text for text in finding(rows) if word in text]
    assert len(found) == 1, found
    return found[0]


def _against(rows: list[Row], mode: str) -> str:
    return _sentence(rows, f"against {MODE_NAMES[mode]}")


def test_the_crossover_is_the_first_tile_from_which_all_larger_ones_pay() -> None:
    rows = [_row(2, 2, 1.0, 1.1), _row(2, 8, 1.0, 1.3), _row(2, 32, 1.0, 1.9)]
    assert "clusters of 2 from 8 KiB on (up to 1.90x)" in _against(rows, "unicast_distinct")
    rows[1]["gain_distinct"] = 1.1
    assert "clusters of 2 from 32 KiB on" in _against(rows, "unicast_distinct")
    rows[0]["gain_distinct"] = 1.5
    assert "clusters of 2 at 2 KiB and 32 KiB" in _against(rows, "unicast_distinct")


def test_differences_within_the_error_are_no_win_and_losses_beyond_it_are_told() -> None:
    rows = [_row(2, 8, 0.9, 2.0), _row(4, 8, 1.1, 2.0)]
    text = _against(rows, "unicast")
    assert "pays nowhere beyond the model's error of 20%; gains lie from 0.90x to 1.10x" in text
    assert "loses" not in text
    rows[0]["gain_same"] = 0.5
    assert "loses beyond it at 1 points, most (0.50x) in clusters of 2" in _against(rows, "unicast")


def test_the_lrc_is_credited_only_where_the_verdict_changes_without_it() -> None:
    on = _row(2, 32, 1.0)
    changed = _sentence([on, _row(2, 32, 1.9, view="no_lrc", lrc=0)], "LRC, tiles")
    same = _sentence([on, _row(2, 32, 1.1, view="no_lrc", lrc=0)], "LRC, tiles")
    assert "1.00x with and 1.90x without in clusters of 2" in changed
    assert "the LRC that lets unicast, shared tile keep up in clusters of 2" in changed
    assert "the LRC changes no verdict" in same


def test_the_skew_at_which_merging_breaks_down_follows_from_the_shares() -> None:
    def late(shares: tuple[float, ...], gains: tuple[float, ...]) -> list[Row]:
        both = zip((0, 200, 800), shares, gains, strict=True)
        return [_row(2, 16, gain, view="skew", skew=skew, merged_share=share) for skew, share, gain in both]

    broken = _sentence(late((0.5, 0.4, 0.1), (1.0, 1.1, 1.6)), "are merged")
    assert "that share has halved when the last starts 800 cycles late" in broken
    assert "pays from 800 cycles on (1.60x)" in broken
    holding = _sentence(late((0.5, 0.5, 0.4), (1.0, 1.0, 1.1)), "are merged")
    assert "is still 40% when the last starts 800 cycles late" in holding
    assert "does not pay up to 800 cycles (1.10x)" in holding


def test_silicon_is_asked_which_way_is_faster_only_where_it_can_tell() -> None:
    rows = [_row(2, 8, 1.3, silicon_gain_same=1.2), _row(4, 8, 1.3, silicon_gain_same=0.8)]
    rows.append(_row(8, 8, 1.3, silicon_gain_same=1.02))
    rows.append(_row(16, 8, 1.001, silicon_gain_same=1.2))
    text = _sentence(rows, "times of an H200 differ")
    assert text.startswith("Of the 3 comparisons")
    assert text.endswith("in 1.")


def test_skew_spreads_the_starts_evenly_over_the_ranks() -> None:
    work = skewed(build_case(Case("unicast", cluster=4, rows=8)), 300)
    starts = [evaluate(work.flows[0].launch.skew, 0, rank, {}) for rank in range(4)]
    assert starts == [0, 100, 200, 300]


def test_without_lrc_nothing_is_merged(tiny: Machine) -> None:
    assert without_lrc(tiny).spec.lrc.enabled == 0
    assert tiny.spec.lrc.enabled == 1
    case = Case("multicast", cluster=2, rows=64, iterations=4, pattern="sweep", footprint=64 * KIB)
    on, off = (measure(tiny, Point(case, view)) for view in ("tiles", "no_lrc"))
    assert on["merged_share"] > 0.1
    assert off["merged_share"] == pytest.approx(0.0)
    assert (on["lrc"], off["lrc"]) == (1, 0)
    assert off["gain_same"] >= on["gain_same"]


def test_ways_of_a_point_receive_the_same_bytes(tiny: Machine) -> None:
    row = measure(tiny, points(tiny, True)[0])
    assert row["gain_same"] == row["unicast_cycles"] / row["multicast_cycles"]
    assert row["gain_distinct"] == row["unicast_distinct_cycles"] / row["multicast_cycles"]


def test_a_cluster_that_does_not_fit_is_a_row_that_says_so(tiny: Machine) -> None:
    row = measure(tiny, Point(Case("multicast", cluster=8, rows=16, iterations=2, pattern="sweep")))
    assert "launch.cluster" in row["status"]
    assert row["gain_same"] is row["gain_distinct"] is row["merged_share"] is None
