"""Counters as ncu prints them, and the join of measured and simulated times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoppersim.errors import InputError
from hoppersim.program.cases import Case, build_case
from hw_validate.bundle import Point, make_bundle
from hw_validate.cli import main
from hw_validate.compare import Pair, pairs, read_rows, read_works, score
from hw_validate.counters import METRICS, ncu_command, parse_csv
from hw_validate.records import decode
from hw_validate.sass import parse_listing

RAW = """==PROF== Connected to process 1
"ID","Process ID","Kernel Name","dram__bytes_read.sum","lts__t_sectors.sum"
"","","","byte","sector"
"0","1","flow","1,024","64"
"""
DETAILS = """"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","flow","dram__bytes_read.sum","byte","2,048"
"0","flow","lts__t_sectors.sum","sector","n/a"
"""
LISTING = """
.L_x_1:
        /*0010*/                   LDC R1, c[0x0][0x28] ;
        /*0020*/              @!P0 BRA `(.L_x_2) ;
        /*0030*/               @P0 MUFU.RCP R3, R4 ;
        /*0040*/               @P1 BRA `(.L_x_1) ;
.L_x_2:
        /*0050*/                   STL [R1], R2 ;
        /*0060*/                   EXIT ;
"""


def test_both_pages_of_ncu_are_read() -> None:
    assert parse_csv(RAW) == [{"dram__bytes_read.sum": 1024.0, "lts__t_sectors.sum": 64.0}]
    found = parse_csv(DETAILS)[0]
    assert found["dram__bytes_read.sum"] == 2048.0
    assert found["lts__t_sectors.sum"] != found["lts__t_sectors.sum"]
    assert parse_csv("==ERROR== nothing") == []


def test_ncu_leaves_clocks_alone_and_empties_caches_for_cold_points_only() -> None:
    warm = ncu_command(Path("b"), "p", Path("o"))
    assert warm[warm.index("--clock-control") + 1] == "none"
    assert warm[warm.index("--cache-control") + 1] == "none"
    cold = ncu_command(Path("b"), "p", Path("o"), cold=True)
    assert cold[cold.index("--cache-control") + 1] == "all"
    assert ",".join(METRICS) in warm


def test_loops_spills_and_divisions_are_seen_in_a_listing() -> None:
    listing = parse_listing(LISTING)
    assert listing.loops == ((0, 3),)
    assert listing.local_memory() == ["STL [R1], R2"]
    assert listing.divisions_in_loops() == ["@P0 MUFU.RCP R3, R4"]
    assert listing.counts() == {"BRA": 2, "EXIT": 1, "LDC": 1, "MUFU": 1, "STL": 1}


def test_errors_are_relative_to_the_smaller_time() -> None:
    slow, fast = Pair("a", "a", 100, 150, 0, {}), Pair("b", "b", 150, 100, 0, {})
    assert (slow.error, fast.error) == (0.5, -0.5)
    assert score([slow, fast]) == {
        "points": 2,
        "median": 0.5,
        "mean": 0.5,
        "p90": 0.5,
        "worst": 0.5,
        "bias": 0.0,
    }
    assert score([]) == {"points": 0}


def measured(folder: Path) -> tuple[Path, Path, str]:
    """Write a plan and rows of one point that was measured and one that hung."""
    works = [build_case(Case("unicast", grid=1, rows=8, iterations=n)) for n in (4, 5)]
    plan = make_bundle([Point(work, "p", verify=False) for work in works], folder / "hw.bundle")
    ids = [point["id"] for point in json.loads(plan.read_text())["points"]]
    flows = [{"cycles": 2000, "spread": 0.01}]
    rows = [
        {"row": "device"},
        {"row": "point", "id": ids[0], "label": "p", "status": "ok", "flows": flows},
        {"row": "point", "id": ids[1], "label": "q", "status": "hang"},
    ]
    out = folder / "hw.jsonl"
    out.write_text("\n".join(map(json.dumps, rows)) + '\n{"row": "poi', encoding="utf-8")
    return out, plan, ids[0]


def test_finished_points_are_joined_with_their_simulation(tmp_path: Path) -> None:
    out, plan, first = measured(tmp_path)
    found = list(pairs(read_rows(out), read_works(plan), lambda work: 2200.0))
    assert [(pair.id, pair.error) for pair in found] == [(first, pytest.approx(0.1))]


def test_compare_prints_both_times_and_obeys_its_tolerance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _, _ = measured(tmp_path)
    assert main(["compare", str(out), "--preset", "tiny", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["points"][0]["measured"] == 2000
    assert document["score"]["points"] == 1
    assert main(["compare", str(out), "--preset", "tiny", "--tolerance", "0"]) == 5
    assert "measured" in capsys.readouterr().out


def test_a_plan_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"plan\.json"):
        read_works(tmp_path / "plan.json")


def test_ctas_that_took_no_part_are_left_out() -> None:
    import numpy as np

    words = np.zeros((3, 12), np.uint64)
    words[1, 0] = 1 << 32 | 7
    words[1, 4:8] = 100, 350, 10, 20
    run = decode(words, 1)
    assert (run.cta.tolist(), run.sm.tolist(), run.cycles.tolist(), run.chip_ns) == ([1], [7], [250], 10)
