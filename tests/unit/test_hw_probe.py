"""The probe off the GPU: its plan, resumption, time limits, refusals, and what it reads from ncu."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoppersim.result.counters import known_ncu_names
from hw_validate import probe_ncu, probe_runner
from hw_validate.cli import main
from hw_validate.compile import compile_source
from hw_validate.counters import METRICS, NoCounters
from hw_validate.probe_bundle import MODULE, latency_source, make_probe_bundle
from hw_validate.probe_ncu import clock_metrics, parse_query, query_counters, read_clocks, shipped_names
from hw_validate.probe_runner import NAMES, STEPS, Refused, Step, supervise
from hw_validate.probe_steps import HBM_BYTES, HBM_SWEPT, KINDS, ON_DEVICE, _walk, cold_lines, sample_lines
from hw_validate.rowfile import read_rows
from hw_validate.sass import find_nvdisasm

QUERY = """Device NVIDIA H200 (GH100)
----------------- ----------- ----------- -------------------
Metric Name       Metric Type Metric Unit Metric Description
----------------- ----------- ----------- -------------------
lts__t_sectors    Counter     sector      # of LTS sectors
lts__cycles_elapsed Counter   cycle       # of cycles
sm__cycles_elapsed  Counter   cycle       # of cycles in SM
pcie__cycles_elapsed Counter  cycle       # of cycles
"""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Steps that answer at once; `fails` raises for a step, `uuid` is the part, `run` lists what ran."""
    state: dict[str, Any] = {"uuid": "GPU-1", "fails": {}, "run": []}

    def in_process(step: Step, bundle: Path) -> dict[str, Any]:
        state["run"].append(step.name)
        if step.name in state["fails"]:
            raise state["fails"][step.name]
        return (
            {"name": "NVIDIA H200", "uuid": state["uuid"]} if step.name == "device" else {"found": step.name}
        )

    def query() -> dict[str, Any]:
        state["run"].append("counters")
        return {"names": ["sm__cycles_elapsed"]}

    def clocks(names: list[str], command: list[str]) -> dict[str, Any]:
        state["run"].append("clocks")
        if "clocks" in state["fails"]:
            raise state["fails"]["clocks"]
        return {"clocks_ghz": {"sm": 1.98}}

    monkeypatch.setattr(probe_runner, "_in_process", in_process)
    monkeypatch.setattr(probe_ncu, "query_counters", query)
    monkeypatch.setattr(probe_ncu, "read_clocks", clocks)
    return state


def rows_of(out: Path) -> list[str]:
    return [row["row"] for row in read_rows(out)]


def test_all_steps_run_once_and_each_leaves_a_row(fake: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "new" / "probe.jsonl"
    assert supervise(tmp_path, out) == 0
    assert rows_of(out) == list(NAMES)
    assert {row["uuid"] for row in read_rows(out)} == {"GPU-1"}
    fake["run"].clear()
    assert supervise(tmp_path, out) == 0
    assert fake["run"] == ["device"]
    assert rows_of(out) == list(NAMES)


def test_an_interrupt_keeps_what_was_measured_and_a_rerun_measures_the_rest(
    fake: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "probe.jsonl"
    fake["fails"] = {"smem": KeyboardInterrupt()}
    assert supervise(tmp_path, out) == 130
    assert rows_of(out) == ["device", "occupancy", "floorplan", "l2"]
    assert "the same command goes on" in capsys.readouterr().err
    fake["fails"] = {}
    fake["run"].clear()
    assert supervise(tmp_path, out) == 0
    assert fake["run"] == ["device", "smem", "hbm", "counters", "clocks"]
    assert rows_of(out) == list(NAMES)


@pytest.mark.parametrize(("status", "code"), [("error", 1), ("timeout", 4)])
def test_a_step_that_fails_leaves_the_others_alone_and_is_tried_again(
    fake: dict[str, Any], tmp_path: Path, status: str, code: int
) -> None:
    out = tmp_path / "probe.jsonl"
    fake["fails"] = {"l2": Refused(status, "what happened")}
    assert supervise(tmp_path, out) == code
    failed = [row for row in read_rows(out) if row["row"] == "failed"]
    assert [(row["step"], row["status"], row["why"]) for row in failed] == [("l2", status, "what happened")]
    assert {"smem", "hbm", "clocks"} <= set(rows_of(out))
    fake["fails"] = {}
    assert supervise(tmp_path, out) == 0
    assert rows_of(out)[-1] == "l2"


def test_without_permission_for_counters_the_clocks_are_skipped(
    fake: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake["fails"] = {"clocks": NoCounters("this user may not read counters (ERR_NVGPUCTRPERM)")}
    assert supervise(tmp_path, tmp_path / "probe.jsonl") == 0
    assert "clocks: skipped: this user may not read counters" in capsys.readouterr().err


def test_only_the_steps_that_were_asked_for_run(fake: dict[str, Any], tmp_path: Path) -> None:
    assert supervise(tmp_path, tmp_path / "probe.jsonl", ["hbm"]) == 0
    assert fake["run"] == ["device", "hbm"]


def test_two_parts_in_one_file_do_not_mix(fake: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "probe.jsonl"
    supervise(tmp_path, out)
    fake["uuid"] = "GPU-2"
    fake["run"].clear()
    assert supervise(tmp_path, out) == 0
    assert set(fake["run"]) == set(NAMES)
    assert rows_of(out) == [*NAMES, *NAMES]


def test_the_time_left_is_that_of_the_steps_to_come(
    fake: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    supervise(tmp_path, tmp_path / "probe.jsonl")
    left = [int(text) for text in re.findall(r"about (\d+) s left", capsys.readouterr().err)]
    assert left == sorted(left, reverse=True)
    assert left[0] == sum(step.seconds for step in STEPS[1:])
    assert sum(step.seconds for step in STEPS) < 300


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(probe_runner, "_command", lambda *_: sleep)
    with pytest.raises(Refused, match="no end after 0 s") as caught:
        probe_runner._in_process(Step("l2", "", 1, 0.3), tmp_path)
    assert caught.value.status == "timeout"


def test_a_process_that_fails_gives_its_last_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fail = [sys.executable, "-c", "raise RuntimeError('bulk: 3 words were wrong on SM 7')"]
    monkeypatch.setattr(probe_runner, "_command", lambda *_: fail)
    with pytest.raises(Refused, match=r"code 1: RuntimeError: bulk: 3 words were wrong on SM 7"):
        probe_runner._in_process(STEPS[0], tmp_path)


def test_what_cannot_be_written_is_one_line(
    fake: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    assert supervise(tmp_path, tmp_path / "file" / "probe.jsonl") == 2
    said = capsys.readouterr().err
    assert said.startswith("no measurement: ")
    assert said.count("\n") == 1


def test_the_plan_has_a_function_for_every_step_on_the_device() -> None:
    assert set(NAMES) - set(ON_DEVICE) == {"counters", "clocks"}
    assert set(ON_DEVICE) - set(NAMES) == {probe_runner.SPIN}


def test_sampled_lines_are_different_and_lie_in_memory() -> None:
    lines = sample_lines(2048, 2**17)
    assert len(set(lines.tolist())) == 2048
    assert lines.max() < 2**17
    assert (np.diff(lines[:256].astype(int)) == 1).all()
    assert (lines == sample_lines(2048, 2**17)).all()
    assert not set(lines.tolist()) & set(range(1, 2**17, 2**14))  # lines that open a page


def test_cold_lines_are_read_once_and_two_by_two_in_a_page() -> None:
    lines = cold_lines(16, 24, 3).astype(int)
    assert lines.shape == (16, 48)
    assert len(set(lines.ravel().tolist())) == lines.size
    assert (lines[:, 0::2] // 2**14 == lines[:, 1::2] // 2**14).all()
    assert lines.max() * 128 < HBM_BYTES - HBM_SWEPT


def test_the_walk_is_laid_out_as_the_kernel_reads_it() -> None:
    data = _walk(2**40, 2**41, (7, 11, 1, 5))
    assert data[:16].view(np.uint64).tolist() == [2**40, 2**41]
    assert data[16:].view(np.uint32).tolist() == [7, 11, 1, 5]
    source = latency_source()
    assert "struct Walk { const u32* base; const u32* lines; u32 count, loads, apart, only; };" in source
    order = re.search(r"enum Kind \{ (\w+), (\w+) \}", source)
    assert order
    assert [name.lower() for name in order.groups()] == sorted(KINDS, key=lambda name: KINDS[name])


def test_the_bundle_holds_both_modules_and_nothing_is_spilled(tmp_path: Path) -> None:
    plan = json.loads(make_probe_bundle(tmp_path / "bundle").read_text())
    assert set(plan["modules"]) == {"probes", MODULE}
    for entry in plan["modules"].values():
        assert (tmp_path / "bundle" / entry["cubin"]).stat().st_size > 0
    cubin = compile_source(latency_source())
    assert (cubin.spill_stores, cubin.spill_loads, cubin.stack) == (0, 0, 0)


def listing(tmp_path: Path, kernel: str) -> list[tuple[str, str]]:
    tool = find_nvdisasm()
    if tool is None:
        pytest.skip("nvdisasm is not installed")
    (tmp_path / "k.cubin").write_bytes(compile_source(latency_source()).code)
    text = subprocess.run(
        [str(tool), "-c", str(tmp_path / "k.cubin")], capture_output=True, text=True, check=True
    ).stdout
    body = text.partition(f".text.{kernel}:")[2].partition(".text.")[0]
    return re.findall(r"/\*[0-9a-f]{4}\*/\s+(?:@!?\w+\s+)?(\S+)(.*?);", body)


def test_a_timed_load_stands_between_its_clock_reads(tmp_path: Path) -> None:
    code = listing(tmp_path, "line_latency")
    place = next(k for k, (name, _) in enumerate(code) if name == "LDG.E.STRONG.GPU")
    around = [name for name, _ in code[place - 1 : place + 3]]
    assert around == ["CS2R", "LDG.E.STRONG.GPU", "STS", "CS2R"]
    word = code[place][1].split(",")[0].strip()
    assert code[place + 1][1].split()[-1] == word  # the store that waits for the word


def test_a_timed_copy_stands_between_its_clock_reads(tmp_path: Path) -> None:
    names = [name for name, _ in listing(tmp_path, "line_latency")]
    copy = next(k for k, name in enumerate(names) if name.startswith("UBLKCP"))
    clocks = [k for k, name in enumerate(names) if name == "CS2R"]
    assert max(k for k in clocks if k < copy) > max(
        k for k, name in enumerate(names[:copy]) if name.startswith("LDG")
    )
    assert "SYNCS.PHASECHK.TRANS64.TRYWAIT" in names[copy : min(k for k in clocks if k > copy)]


def test_names_are_read_from_the_query() -> None:
    names = parse_query(QUERY)
    assert names == ["lts__cycles_elapsed", "lts__t_sectors", "pcie__cycles_elapsed", "sm__cycles_elapsed"]
    assert clock_metrics(names) == [
        f"{unit}__cycles_elapsed.avg.per_second" for unit in ("lts", "pcie", "sm")
    ]


def test_counters_of_results_are_counters_of_the_gpu() -> None:
    assert {name.partition(".")[0] for name in known_ncu_names()} <= shipped_names()
    assert {name.partition(".")[0] for name in METRICS} <= shipped_names()
    assert len(shipped_names()) > 3000


def put_ncu(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Put a program named ncu on the PATH."""
    folder.mkdir(exist_ok=True)
    (folder / "ncu").write_text(f"#!{sys.executable}\nimport sys\narguments = sys.argv[1:]\n{body}\n")
    (folder / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


ANSWERS = """
wanted = arguments[arguments.index("--metrics") + 1].split(",")
if any("pcie" in name for name in wanted):
    print("==ERROR== pcie cannot be read")
    sys.exit(9)
print('"ID","Kernel Name",' + ",".join(f'"{name}"' for name in wanted))
print('"","",' + ",".join('"hz"' for name in wanted))
print('"0","members",' + ",".join('"1980000000"' for name in wanted))
"""


def test_clocks_that_cannot_be_read_do_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_ncu(tmp_path / "bin", monkeypatch, ANSWERS)
    found = read_clocks(parse_query(QUERY), ["true"])
    assert found["clocks_ghz"] == {"lts": 1.98, "sm": 1.98}
    assert found["unreadable"] == ["pcie__cycles_elapsed.avg.per_second"]
    assert set(METRICS) <= set(found["readable"])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("print('==ERROR== ERR_NVGPUCTRPERM'); sys.exit(1)", "may not read counters"),
        ("print('==ERROR== no such chip'); print('more'); sys.exit(3)", "code 3: ==ERROR== no such chip"),
        ("print('nothing')", "lists no counters"),
    ],
)
def test_why_there_are_no_counters_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, why: str
) -> None:
    put_ncu(tmp_path / "bin", monkeypatch, body)
    with pytest.raises(NoCounters, match=why):
        query_counters()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCounters, match="not on the PATH"):
        query_counters()


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_probe_says_so_in_one_line(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["probe"]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "no measurement" in err
    assert "--bundle-only" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_gpu")
def test_the_runner_itself_says_so_in_one_line(tmp_path: Path) -> None:
    make_probe_bundle(tmp_path / "b")
    command = [sys.executable, probe_runner.__file__, str(tmp_path / "b"), str(tmp_path / "o.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("no measurement: ")
    assert not (tmp_path / "o.jsonl").exists()


def test_a_bundle_is_made_without_a_gpu_and_an_unknown_step_is_named(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["probe", "--bundle-only", "b"]) == 0
    assert (tmp_path / "b" / "latency.cubin").is_file()
    assert main(["probe", "--only", "l3"]) == 2
    assert "nearest legal value: l2" in capfd.readouterr().err
