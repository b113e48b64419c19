"""Rows do not depend on processes, on what was kept, or on a kill; what fails stays as a row."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from hoppersim import run_sweep
from hoppersim.errors import InternalError
from hoppersim.machine.loading import load_machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.files import save_work
from hoppersim.result.api import simulate
from hoppersim.sweep import runner
from hoppersim.sweep.journal import JOURNAL
from hoppersim.sweep.study import Sweep

PORT = "xbar.gpc_bytes_per_cycle"
STUDY = Sweep(
    "study",
    preset="tiny",
    case=Case("multicast", rows=32, iterations=6),
    axes={"cluster": [1, 2, 8], PORT: [40, 80, 160]},
    columns=("cycles", "limiter", "dram__bytes_read.sum", "use_gpc"),
    objectives={"cycles": "min", PORT: "min"},
)
KILLED = """
preset = "tiny"
[case]
mode = "multicast"
cluster = 2
rows = 128
iterations = 60
[axes]
stages = [1, 2, 3, 4]
xbar.gpc_bytes_per_cycle = {from = 60, to = 160, count = 6}
"""


def test_rows_are_the_same_for_one_and_three_processes() -> None:
    one, three = run_sweep(STUDY), run_sweep(STUDY, jobs=3)
    assert one.document() == three.document()
    assert [row["status"] for row in one.rows] == ["ok"] * 6 + ["refused"] * 3


def test_rows_are_the_same_when_they_were_kept(tmp_path: Path) -> None:
    fresh = run_sweep(STUDY, folder=tmp_path)
    kept = run_sweep(STUDY, folder=tmp_path)
    assert (fresh.simulated, fresh.kept, kept.simulated, kept.kept) == (6, 0, 0, 6)
    assert fresh.document() == kept.document()


def test_a_study_that_was_changed_simulates_its_new_points_only(tmp_path: Path) -> None:
    run_sweep(STUDY, folder=tmp_path)
    wider = run_sweep(replace(STUDY, axes=STUDY.axes | {PORT: [80, 320]}), folder=tmp_path)
    assert (wider.simulated, wider.kept) == (2, 2)


def test_points_that_say_the_same_are_simulated_once_and_are_all_rows() -> None:
    sweep = replace(STUDY, axes={"memory": ["l2"], "warm": [1], "consumer_warps": [1]}, objectives={})
    same = run_sweep(replace(sweep, linked=({"shared_bytes": [100, 200]},)))
    assert (same.simulated, len(same.rows)) == (1, 2)
    assert same.rows[0]["cycles"] == same.rows[1]["cycles"]


def test_a_killed_run_goes_on_and_simulates_each_point_once(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(KILLED)
    command = [sys.executable, "-m", "hoppersim", "sweep", "study.toml", "-j", "2", "--out", "killed"]
    journal = tmp_path / "killed" / JOURNAL
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 3):
            time.sleep(0.005)
        process.kill()
    kept = journal.read_bytes().count(b"\n")
    assert 3 <= kept < 24
    with journal.open("ab") as file:
        file.write(b'{"key": "torn')
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, check=True)
    keys = Counter(json.loads(line)["key"] for line in journal.read_text().splitlines())
    assert (len(keys), set(keys.values())) == (24, {1})
    whole = subprocess.run(
        [*command[:-3], "2", "--out", "whole", "--json"], cwd=tmp_path, capture_output=True, check=True
    )
    assert done.stdout == whole.stdout
    for name in ("study.json", "study.csv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_point_that_fails_stays_as_a_row_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_at_two(machine, work, **options):
        if work.flows[0].launch.cluster_size == 2:
            raise InternalError("a defect")
        return simulate(machine, work, **options)

    monkeypatch.setattr(runner, "simulate", fail_at_two)
    rows = run_sweep(STUDY).rows
    assert [row["status"] for row in rows] == ["ok"] * 3 + ["failed"] * 3 + ["refused"] * 3
    assert all(row["cycles"] is None and not row["pareto"] for row in rows[3:])
    assert rows[3]["reason"] == "a defect"
    assert set(rows[0]) == set(rows[3]) == set(rows[8])


def test_a_run_that_takes_too_long_is_given_up_as_a_row() -> None:
    cycles = [row["cycles"] for row in run_sweep(STUDY).rows[:6]]
    middle = int(sorted(cycles)[2] + 600)
    rows = run_sweep(replace(STUDY, max_cycles=middle)).rows[:6]
    assert {row["status"] for row in rows} == {"ok", "failed"}
    assert all(row["cycles"] <= middle for row in rows if row["status"] == "ok")


def test_figures_are_those_of_a_run_alone() -> None:
    row = run_sweep(STUDY).rows[4]
    machine = load_machine("tiny", [f"{PORT}=80"])
    result = simulate(machine, build_case(Case("multicast", cluster=2, rows=32, iterations=6)))
    assert row["cycles"] == result.cycles
    assert row["limiter"] == result.limiter.name
    assert row["dram__bytes_read.sum"] == result.counters["dram__bytes_read.sum"]


def test_speedup_is_against_the_point_that_agrees_in_all_else() -> None:
    axes = {"mode": ["unicast_distinct", "multicast"], PORT: [40, 160]}
    sweep = replace(STUDY, case=Case("unicast", cluster=2, rows=64, iterations=6), axes=axes)
    done = run_sweep(replace(sweep, against={"mode": "unicast_distinct"}))
    slow, fast = done.rows[:2], done.rows[2:]
    assert [row["speedup"] for row in slow] == [1, 1]
    for base, row in zip(slow, fast, strict=True):
        assert row["speedup"] == pytest.approx(base["cycles"] / row["cycles"])


def test_a_limit_on_what_is_measured_takes_points_out_of_the_pareto_set() -> None:
    free = run_sweep(STUDY)
    middle = sorted(row["cycles"] for row in free.rows[:6])[3]
    tight = run_sweep(replace(STUDY, limits={"cycles": {"max": middle}}))
    for row, twin in zip(free.rows[:6], tight.rows[:6], strict=True):
        assert twin["cycles"] == row["cycles"]
        assert twin["status"] == ("ok" if row["cycles"] <= middle else "outside")
        assert not twin["pareto"] or twin["status"] == "ok"
    assert any(row["pareto"] for row in tight.rows)


def test_a_flow_file_can_be_varied(tmp_path: Path) -> None:
    save_work(build_case(Case("unicast", rows=8, iterations=4)), tmp_path / "flow.toml")
    seeds = {"flows[0].launch.seed": [0, 1], "launch.start_spread": [0, 400]}
    done = run_sweep(Sweep("seeds", preset="tiny", flow=str(tmp_path / "flow.toml"), axes=seeds))
    assert [row["status"] for row in done.rows] == ["ok"] * 4
    assert done.simulated == 4


def test_the_finding_says_what_matters_and_what_was_left_out() -> None:
    done = run_sweep(replace(STUDY, objectives={"cycles": "min"}))
    best = min(done.rows[:6], key=lambda row: row["cycles"])
    assert f"cluster = {best['cluster']}" in done.finding[0]
    assert any(sentence.startswith("All else equal") for sentence in done.finding)
    assert done.finding[-1] == "Of 9 points, 3 cannot be launched."


def test_a_result_shows_itself_as_a_table() -> None:
    done = run_sweep(replace(STUDY, axes={PORT: [40, 80]}))
    assert repr(done) == "<SweepResult study: 2 points, 2 ok>"
    assert done._repr_html_().count("<tr>") == 3
