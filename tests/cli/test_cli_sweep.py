"""``hoppersim sweep`` shows, writes and keeps; bad input leaves nothing behind."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hoppersim.errors import EXIT_INPUT, EXIT_INTERNAL

STUDY = """
question = "How wide must the port be?"
preset = "tiny"
[case]
mode = "multicast"
rows = 32
iterations = 6
[axes]
cluster = [1, 2, 8]
xbar.gpc_bytes_per_cycle = [40, 160]
[objectives]
cycles = "min"
xbar.gpc_bytes_per_cycle = "min"
"""
FILES = ["journal.jsonl", "port.csv", "port.json", "port.parquet", "port.png", "port.svg"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "port.toml"
    path.write_text(STUDY)
    return path


def test_a_study_prints_its_table_and_finding_and_writes_its_files(cli, study: Path, tmp_path: Path) -> None:
    outcome = cli("sweep", "port.toml", "-j", "1")
    assert outcome.code == 0
    for text in ("How wide must the port be?", "pareto", "Pareto set", "left out: HS-LA-001", "6 points"):
        assert text in outcome.out
    assert "4 points simulated, 0 kept from before" in outcome.out
    folder = tmp_path / "out" / "port"
    assert sorted(item.name for item in folder.iterdir()) == FILES
    document = json.loads((folder / "port.json").read_text())
    assert document["schema"] == "hoppersim.sweep/1"
    with (folder / "port.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["status"] for row in rows] == [row["status"] for row in document["rows"]]
    assert (folder / "port.png").read_bytes().endswith(b"IEND\xaeB`\x82")


def test_a_second_run_simulates_nothing_and_leaves_the_same_files(cli, study: Path, tmp_path: Path) -> None:
    first = cli("sweep", "port.toml", "-j", "1", "--json")
    folder = tmp_path / "out" / "port"
    before = {item.name: item.read_bytes() for item in folder.iterdir()}
    second = cli("sweep", "port.toml", "-j", "1", "--json")
    assert first.out == second.out
    assert {item.name: item.read_bytes() for item in folder.iterdir()} == before
    assert "0 points simulated, 4 kept" in cli("sweep", "port.toml").out


def test_json_is_the_file_of_the_study(cli, study: Path, tmp_path: Path) -> None:
    outcome = cli("sweep", "port.toml", "-j", "1", "--json", "--out", "here")
    assert outcome.out == (tmp_path / "here" / "port.json").read_text()


def test_options_change_the_machine_of_the_study(cli, study: Path) -> None:
    plain = json.loads(cli("sweep", "port.toml", "-j", "1", "--json").out)
    slow = json.loads(cli("sweep", "port.toml", "-j", "1", "--json", "--set", "l2.latency=900").out)
    for one, other in zip(plain["rows"][:4], slow["rows"][:4], strict=True):
        assert other["cycles"] > one["cycles"]


def test_a_dry_run_counts_and_writes_nothing(cli, study: Path, tmp_path: Path) -> None:
    outcome = cli("sweep", "port.toml", "--dry-run")
    assert outcome.code == 0
    assert outcome.out.startswith("6 points: 4 simulations, 2 ")
    assert [item.name for item in tmp_path.iterdir()] == ["port.toml"]


BAD = {
    "no file": (["nothing.toml"], "nothing.toml", "port.toml"),
    "no processes": (["port.toml", "-j", "0"], "--jobs = 0", "1"),
    "no such preset": (["port.toml", "-p", "h200"], "machine = 'h200'", "h200_sxm"),
    "no such number": (["port.toml", "--set", "lrc.enable=0"], "set.lrc.enable", "lrc.enabled"),
    "number without value": (["port.toml", "--set", "lrc.enabled"], "--set", "lrc.enabled=<value>"),
    "number that varies": (["port.toml", "--set", "xbar.gpc_bytes_per_cycle=1"], "--set", "varies"),
    "a file as folder": (["port.toml", "-j", "1", "--out", "port.toml"], "port.toml", "folder"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_with_exit_code_2_and_nothing_written(
    cli, study: Path, tmp_path: Path, name: str
) -> None:
    arguments, field, remedy = BAD[name]
    outcome = cli("sweep", *arguments)
    assert outcome.code == EXIT_INPUT
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert len(outcome.err.splitlines()) == 1
    assert field in outcome.err
    assert remedy in outcome.err
    assert [item.name for item in tmp_path.iterdir()] == ["port.toml"]


def test_a_bad_study_file_is_named_and_leaves_nothing(cli, study: Path, tmp_path: Path) -> None:
    study.write_text(STUDY.replace("xbar.gpc_bytes_per_cycle = [", "xbar.gpc_bytes_cycle = ["))
    outcome = cli("sweep", "port.toml")
    assert outcome.code == EXIT_INPUT
    assert "axes.xbar.gpc_bytes_cycle" in outcome.err
    assert "nearest legal value: xbar.gpc_bytes_per_cycle" in outcome.err
    assert [item.name for item in tmp_path.iterdir()] == ["port.toml"]


def test_a_point_that_fails_gives_exit_code_1_and_whole_files(cli, study: Path, tmp_path: Path) -> None:
    study.write_text("max_cycles = 1\n" + STUDY)
    outcome = cli("sweep", "port.toml", "-j", "1")
    assert outcome.code == EXIT_INTERNAL
    assert "max_cycles" in outcome.out
    rows = json.loads((tmp_path / "out" / "port" / "port.json").read_text())["rows"]
    assert {row["status"] for row in rows} == {"failed", "refused"}


def test_an_interrupt_keeps_what_is_done_and_says_how_to_go_on(study: Path, tmp_path: Path) -> None:
    study.write_text(
        STUDY.replace("iterations = 6", "iterations = 400").replace("[40, 160]", "[40, 60, 90, 160]")
    )
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from hoppersim.cli.app import entry; entry()"
    )
    command = [sys.executable, "-c", start, "sweep", "port.toml", "-j", "2"]
    journal = tmp_path / "out" / "port" / "journal.jsonl"
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and (not journal.exists() or not journal.read_bytes()):
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "Stopped. Finished points are kept in out/port: run the same command to go on.\n"
    assert journal.read_bytes().endswith(b"\n")
    assert sorted(item.name for item in journal.parent.iterdir()) == ["journal.jsonl"]


def test_help_has_examples(cli) -> None:
    outcome = cli("sweep", "--help")
    assert outcome.code == 0
    assert "hoppersim sweep experiments/gpc_port_width.toml" in outcome.out
