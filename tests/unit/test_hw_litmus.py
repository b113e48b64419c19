"""Litmus flows become a bundle, and what a GPU shows is joined with what is required."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from hw_validate import isolated
from hw_validate.litmus import COLUMNS, litmus_points, observed, outcomes, read_flows, write_table
from hw_validate.lower import kernel_source

LITMUS = Path(__file__).parents[1] / "litmus"
FLOWS = {flow.name: flow for flow in read_flows(LITMUS)}
STUB = """
import json, sys, time
bundle, out, only = sys.argv[1], sys.argv[2], sys.argv[sys.argv.index("--only") + 1].strip("^$")
if only == "bad":
    sys.exit(9)
if only == "slow":
    time.sleep(60)
if only == "none":
    sys.exit(2)
open(out, "a").write(json.dumps({"row": "point", "id": only, "status": "ok"}) + "\\n")
"""


def ok_row(**parts: Any) -> dict[str, Any]:
    flow = {"stamps": {}, "check": {"verified": True, "compared": 2}, **parts}
    return {"row": "point", "status": "ok", "flows": [flow]}


@pytest.mark.parametrize("name", FLOWS)
def test_every_flow_can_be_lowered(name: str) -> None:
    point = next(litmus_points([FLOWS[name]]))
    assert "WAIT_LIMIT = 4000000" in kernel_source(point.work.flows[0], point.options)
    assert point.tags == {"litmus": name, "isolate": True}


def test_a_hang_says_where() -> None:
    wait = {"rank": 1, "role": "consumer", "barrier": "full", "stage": 0, "parity": 0, "iteration": 0}
    row = {"row": "point", "status": "hang", "hang": [[wait, wait]]}
    assert observed(row, {}) == ("hang", "rank 1 consumer: full[0] parity 0, iteration 0")


def test_wrong_data_name_the_role_that_saw_them() -> None:
    wrong = [{"role": "epilogue", "cluster": 0, "rank": 1, "got": 7}]
    row = ok_row(check={"verified": False, "compared": 4, "mismatches": 1, "wrong": wrong})
    assert observed(row, {}) == ("wrong data", "role epilogue of cluster 0 rank 1, 1 of 4 checks")


@pytest.mark.parametrize(("landed", "word"), [(900, "race"), (150, "ok")])
def test_a_wait_that_returns_long_before_the_data_is_a_race(landed: int, word: str) -> None:
    row = ok_row(stamps={"consumer.passed": [[100]], "watch.landed": [[landed]]})
    assert observed(row, {"witness": ["consumer.passed", "watch.landed"]})[0] == word


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ("cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE (1)", "refused"),
        ("ValueError: no cluster of 16 with 231440 B of shared memory fits on this GPU", "refused"),
        ("cuStreamQuery: CUDA_ERROR_LAUNCH_FAILED (719)", "error"),
    ],
)
def test_a_refused_launch_is_told_from_a_fault(error: str, word: str) -> None:
    assert observed({"row": "point", "status": "error", "error": error}, {})[0] == word


def test_the_table_says_where_silicon_and_the_requirement_disagree(tmp_path: Path) -> None:
    flows = [FLOWS["l04_peer_unarmed"], FLOWS["l13_quiet_exit"], FLOWS["l15_mask_empty"]]
    ids = [next(litmus_points([flow])).id for flow in flows]
    rows = [{**ok_row(), "id": identity, "label": ""} for identity in ids]
    table = outcomes([*flows, FLOWS["l08_unequal_trips"]], rows)
    assert [(row["flow"], row["observed"], row["agrees"]) for row in table] == [
        ("l04_peer_unarmed", "ok", "no"),
        ("l13_quiet_exit", "ok", "yes"),
        ("l15_mask_empty", "ok", "yes"),
    ]
    write_table(table, tmp_path / "litmus.csv")
    with (tmp_path / "litmus.csv").open(encoding="utf-8", newline="") as file:
        assert tuple(csv.DictReader(file).fieldnames or ()) == COLUMNS


def test_a_lost_point_leaves_the_others_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stub.py").write_text(STUB, encoding="utf-8")
    points = [{"id": name, "label": name, "warm": 0, "repeats": 0} for name in ("bad", "slow", "good")]
    (tmp_path / "plan.json").write_text(json.dumps({"points": points}), encoding="utf-8")
    monkeypatch.setattr(isolated, "RUNNER", tmp_path / "stub.py")
    monkeypatch.setattr(isolated, "START_SECONDS", 1.0)
    out = tmp_path / "out.jsonl"
    assert isolated.main([str(tmp_path), str(out), "--limit", "0.1"]) == 0
    rows = {row["id"]: row for row in map(json.loads, out.read_text(encoding="utf-8").splitlines())}
    assert {name: row["status"] for name, row in rows.items()} == {
        "bad": "error",
        "slow": "error",
        "good": "ok",
    }
    assert "code 9" in rows["bad"]["error"]


def test_no_device_ends_the_run_without_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stub.py").write_text(STUB, encoding="utf-8")
    points = [{"id": "none", "label": "none", "warm": 0, "repeats": 0}]
    (tmp_path / "plan.json").write_text(json.dumps({"points": points}), encoding="utf-8")
    monkeypatch.setattr(isolated, "RUNNER", tmp_path / "stub.py")
    assert isolated.main([str(tmp_path), str(tmp_path / "out.jsonl")]) == isolated.EXIT_NO_DEVICE
    assert not (tmp_path / "out.jsonl").exists()
