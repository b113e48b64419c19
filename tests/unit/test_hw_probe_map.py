"""What a probe says of a part: found again on a part that was made up."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoppersim.machine.floorplan import load_floorplan
from hoppersim.machine.loading import load_machine
from hw_validate.cli import main
from hw_validate.probe_map import L2Map, additive, map_floorplan, map_l2, median_pairs
from hw_validate.probe_runner import NAMES
from hw_validate.probe_tables import _share_out, l2_table, pair_table

SMS, GROUPS, LINES, FAR, COPY = 24, 3, 400, 180.0, 6.0
GPCS = [[0, 1, 4, 5, 8, 9, 12, 13, 16, 17], [2, 3, 6, 7, 10, 11, 14, 15, 18, 19]]
LONE = {(20, 21): 0, (22, 23): 1}
CPC_OF = {0: 0, 4: 1, 8: 0, 12: 1, 16: 0, 2: 0, 6: 1, 10: 0, 14: 1, 18: 0, 20: 1, 22: 1}
SIDE = np.array([int(any(sm in (*GPCS[1], 22, 23) for sm in [s])) for s in range(SMS)])
ROW_OF = {8: 1, 16: 2, 12: 1, 10: 1, 18: 2, 14: 1, 20: 2, 22: 2}


def part() -> dict[str, dict[str, Any]]:
    """Make the rows of a part of two GPCs, one on each side, with a lone TPC each."""
    draw = np.random.default_rng(3)
    gpc = np.array([next((g for g, sms in enumerate(GPCS) if sm in sms), SIDE[sm]) for sm in range(SMS)])
    cpc = np.array([CPC_OF[sm // 2 * 2] for sm in range(SMS)])
    row = np.array([ROW_OF.get(sm // 2 * 2, 0) for sm in range(SMS)])
    seen = draw.uniform(-20, 20, (2, 2, GROUPS))  # by GPC, CPC and group of slices
    by_sm = seen[gpc, cpc] - 5.0 * row[:, None]
    group = draw.integers(0, GROUPS, LINES)
    home = draw.integers(0, 2, LINES)
    place = draw.uniform(-8, 8, LINES)
    load = 280 + by_sm[:, group] + place + COPY * (home != SIDE[:, None]) + draw.normal(0, 0.3, (SMS, LINES))
    written = load + FAR * (home != SIDE[:, None])
    alone = draw.uniform(90, 105, SMS)
    pairs = [
        [len(sms), a, b, alone[a] + alone[b] if a != b else 36.0]
        for sms in [*GPCS, *map(list, LONE)]
        for a in sms
        for b in sms
    ]
    l2 = {"load": load.tolist(), "bulk": (load + 38).tolist(), "written": written.tolist()}
    rows: dict[str, dict[str, Any]] = {
        "device": {"name": "made up", "driver": 13000, "sms": SMS, "l2_bytes": 1, "shared_bytes_per_sm": 1},
        "floorplan": {"groups": [*GPCS, *map(list, LONE)], "loose": []},
        "l2": l2,
        "smem": {"own": [29.0] * SMS, "pairs": pairs},
    }
    made = {name: {"row": name, "uuid": "GPU-made-up", **row} for name, row in rows.items()}
    return {**made, "truth": {"group": group, "home": home, "alone": alone}}


ROWS = part()
TRUTH = ROWS.pop("truth")


@pytest.fixture(scope="module")
def l2() -> L2Map:
    return map_l2(ROWS["l2"])


def test_sides_homes_and_groups_are_found(l2: L2Map) -> None:
    assert l2.side.tolist() == SIDE.tolist()
    assert l2.home.tolist() == TRUTH["home"].tolist()
    pairs = set(zip(l2.group.tolist(), TRUTH["group"].tolist(), strict=True))
    assert len(pairs) == GROUPS
    assert np.bincount(l2.group).tolist() == sorted(np.bincount(TRUTH["group"]).tolist(), reverse=True)
    assert l2.residual < 0.5


def test_the_sum_gives_latencies_back(l2: L2Map) -> None:
    load = np.array(ROWS["l2"]["load"])
    sums = l2.by_line[l2.side] + l2.by_sm[:, l2.group]
    assert np.abs(sums - load).max() < 2.5
    assert np.nanmedian(l2.far) == pytest.approx(FAR)


def test_without_lines_on_the_other_side_there_is_one_side() -> None:
    found = map_l2({**ROWS["l2"], "written": ROWS["l2"]["load"]})
    assert set(found.side.tolist()) == {0}
    assert np.isnan(found.far).all()


def test_lone_tpcs_join_their_gpc_and_cpcs_are_told(l2: L2Map) -> None:
    plan = map_floorplan(ROWS["floorplan"], l2, "GPU-made-up")
    assert [gpc.partition for gpc in plan.gpcs] == [0, 1]
    assert [gpc.pairs_only for gpc in plan.gpcs] == [((20, 21),), ((22, 23),)]
    for gpc in plan.gpcs:
        assert {frozenset(CPC_OF[tpc[0]] for tpc in cpc) for cpc in gpc.cpcs} == {
            frozenset([0]),
            frozenset([1]),
        }
    assert plan.sm_count == SMS


def test_pair_latencies_are_taken_apart() -> None:
    found, left = additive(median_pairs(ROWS["smem"]), GPCS[0])
    assert found == pytest.approx(TRUTH["alone"][GPCS[0]])
    assert left < 1e-9
    assert np.isnan(additive(median_pairs(ROWS["smem"]), [0, 1, 23])[1])
    assert median_pairs(ROWS["smem"], 2) == [
        (reader, owner, cycles) for size, reader, owner, cycles in ROWS["smem"]["pairs"] if size == 2
    ]


def test_the_table_of_slices_keeps_what_an_sm_sees(l2: L2Map) -> None:
    table = l2_table(l2, 20)
    assert table.shape == (SMS, 20)
    near = np.array([table[sm, 10 * side : 10 * side + 10] for sm, side in enumerate(SIDE)])
    assert near.mean() == pytest.approx(0, abs=1e-9)
    load = np.array(ROWS["l2"]["load"])
    assert near.mean(axis=1) == pytest.approx(load.mean(axis=1) - load.mean(), abs=1.5)
    away = np.array([table[sm, 10 - 10 * side : 20 - 10 * side] for sm, side in enumerate(SIDE)])
    assert (away - near).mean() == pytest.approx(FAR, abs=1.0)


def test_the_table_of_pairs_is_one_way_and_covers_a_gpc(l2: L2Map) -> None:
    plan = map_floorplan(ROWS["floorplan"], l2, "GPU-made-up")
    seen = [pair for pair in ROWS["smem"]["pairs"] if pair[1:3] not in ([0, 4], [4, 0])]
    table = pair_table(plan, {"pairs": seen})
    alone = TRUTH["alone"]
    assert table[0, 4] - table[0, 8] == pytest.approx((alone[4] - alone[8]) / 2)
    assert table[0, 2] == 0
    assert (np.diag(table) == 0).all()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "probe.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS.values()), encoding="utf-8")
    return path


def test_show_reports_and_writes_files_that_load(
    file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", "--show", "--out", str(file), "--tables", str(tmp_path / "mine")]) == 0
    said = capfd.readouterr().out
    assert "GPC" in said
    assert "(20,21)" in said
    assert "groups of slices: 3" in said
    assert load_floorplan(tmp_path / "mine" / "floorplan.toml").sm_count == SMS
    origin = tomllib.loads((tmp_path / "mine" / "floorplan.toml").read_text())["origin"]
    assert origin.startswith("measured: GPU-made-up")
    assert np.loadtxt(tmp_path / "mine" / "pair_latency.csv", delimiter=",").shape == (SMS, SMS)
    assert np.loadtxt(tmp_path / "mine" / "l2_latency.csv", delimiter=",").shape == (
        SMS,
        load_machine("h200_sxm").spec.l2.slices,
    )


def test_tables_without_their_steps_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "probe.jsonl"
    path.write_text(json.dumps(ROWS["device"]) + "\n", encoding="utf-8")
    assert main(["probe", "--show", "--out", str(path), "--tables", str(tmp_path / "mine")]) == 2
    assert "needs the step floorplan" in capfd.readouterr().err
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("text", ["", "not json\n", "[1, 2]\n", '{"row": "point", "uuid": "GPU-1"}\n'])
def test_a_file_that_is_no_probe_is_refused_in_one_line(
    text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "probe.jsonl"
    path.write_text(text, encoding="utf-8")
    assert main(["probe", "--show", "--out", str(path)]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_figures_in_the_docs_are_those_of_the_output() -> None:
    docs = (Path(__file__).resolve().parents[2] / "docs" / "probe.md").read_text(encoding="utf-8")
    output = docs.partition("<!-- BEGIN output -->")[2].partition("<!-- END output -->")[0]
    load, bulk = map(int, re.findall(r"(?:by load|by bulk copy)[^:]*: (\d+) \(", output)[:2])
    assert f"takes {bulk - load} cycles more than a load from the L2" in " ".join(docs.split())
    across = re.search(r"other side: \d+ \(\d+, (\d+), \d+, (\d+), \d+\)", output)
    assert across
    assert abs(int(across.group(1)) - 151) <= 1
    assert across.group(2) == "183"
    lines = [int(count) for count in re.search(r"with \[([\d, ]+)\] lines", output).group(1).split(",")]  # type: ignore[union-attr]
    slices = np.bincount(_share_out(np.array(lines), 47)).tolist()
    assert f"{', '.join(map(str, slices[:-1]))} and {slices[-1]} slices" in " ".join(docs.split())
    hbm = {kind: int(median) for kind, median in re.findall(r"HBM by (\w+) \[cycles\]: (\d+)", output)}
    assert f"{hbm['bulk'] - hbm['load']} more from HBM" in docs
    sizes = [int(sms) for sms in re.findall(r"side \d, (\d+) SMs", output)]
    assert sum(sizes) == 132
    assert set(NAMES) <= set(re.findall(r"^\| `(\w+)` \|", docs, re.MULTILINE))
