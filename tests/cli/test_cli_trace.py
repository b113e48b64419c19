"""Traces, relaxed reruns and tables from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoppersim.errors import EXIT_HANG, EXIT_INPUT

LITMUS = Path(__file__).parents[1] / "litmus"
SMALL = ["run", "multicast", "-c", "2", "--preset", "tiny", "--iterations", "6", "--box", "16x128"]


@pytest.fixture
def perfetto() -> None:
    """Skip where the format's package is missing."""
    pytest.importorskip("perfetto")


def test_run_writes_a_trace_and_the_same_result(cli, tmp_path: Path, perfetto: None) -> None:
    plain = json.loads(cli(*SMALL, "--json").out)
    outcome = cli(*SMALL, "--json", "--trace", "run.pftrace")
    traced = json.loads(outcome.out)
    assert outcome.code == 0
    del plain["speed"], traced["speed"]
    assert traced == plain
    assert "Trace of 8 of 8 CTAs (4 clusters)" in outcome.err
    assert (tmp_path / "run.pftrace").stat().st_size > 10_000


def test_a_stored_result_is_traced_as_it_ran(cli, tmp_path: Path, perfetto: None) -> None:
    changed = [*SMALL, "--set", "xbar.gpc_bytes_per_cycle=40"]
    assert cli(*changed, "--out", "result.json", "--trace", "run.pftrace").code == 0
    outcome = cli("trace", "result.json")
    assert outcome.code == 0
    assert "cycles now" not in outcome.out
    assert (tmp_path / "result.pftrace").read_bytes() == (tmp_path / "run.pftrace").read_bytes()


def test_a_result_of_another_model_is_traced_with_a_word_about_it(
    cli, tmp_path: Path, perfetto: None
) -> None:
    cli(*SMALL, "--out", "result.json")
    document = json.loads((tmp_path / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(document | {"cycles": 123.0}))
    assert "123 in the file" in cli("trace", "result.json").out


def test_a_run_of_a_pair_is_chosen_by_number(cli, tmp_path: Path, perfetto: None) -> None:
    cli(*SMALL, "--against", "unicast", "--out", "pair.json")
    assert cli("trace", "pair.json", "--run", "2", "--clusters", "0").code == 0
    assert b"unicast_c2" in (tmp_path / "pair.pftrace").read_bytes()
    outcome = cli("trace", "pair.json", "--run", "3")
    assert outcome.code == EXIT_INPUT
    assert "nearest legal value: 2" in outcome.err


def test_a_hang_is_traced_too(cli, tmp_path: Path, perfetto: None) -> None:
    flow = str(LITMUS / "l02_twice_the_bytes.toml")
    outcome = cli("run", flow, "--no-check", "--trace", "hang.pftrace", "--out", "hang.json")
    assert outcome.code == EXIT_HANG
    assert cli("trace", "hang.json", "-o", "again.pftrace").code == 0
    assert (tmp_path / "hang.pftrace").read_bytes() == (tmp_path / "again.pftrace").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trace", "run.json"], "ends in .pftrace or .perfetto-trace; nearest legal value: run.pftrace"),
        (["--trace", "run.pftrace", "--trace-window", "5"], "must read START:LENGTH"),
        (["--trace", "run.pftrace", "--trace-window", "5:0"], "the length being at least 1"),
        (["--trace", "run.pftrace", "--trace-clusters", "3-1"], "must list numbers and ranges"),
        (["--trace", "run.pftrace", "--trace-clusters", "99"], "must name clusters that run"),
        (["--trace", "run.pftrace", "--trace-limit", "0"], "must lie from 1 to"),
        (["--trace", "run.pftrace", "--against", "unicast"], "shows one run"),
        (["--trace-window", "5:5"], "has no meaning without --trace"),
        (["--out", "result.txt"], "must end in .json, .csv or .parquet"),
        (["--hang-report", "report.txt"], "must end in .json, .png or .svg"),
    ],
)
def test_bad_options_are_one_clear_error_and_leave_no_file(
    cli, tmp_path: Path, perfetto: None, options: list[str], message: str
) -> None:
    outcome = cli(*SMALL, *options)
    assert outcome.code == EXIT_INPUT
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_without_its_package_a_trace_is_refused_before_the_run(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli(*SMALL, "--out", "result.json")
    monkeypatch.setattr("hoppersim.trace.perfetto_file.find_spec", lambda name: None)
    for command in ([*SMALL, "--trace", "run.pftrace"], ["trace", "result.json"]):
        outcome = cli(*command)
        assert outcome.code == EXIT_INPUT
        assert "pip install 'hoppersim[trace]'" in outcome.err
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_a_file_without_work_and_machine_cannot_be_traced(cli, tmp_path: Path, perfetto: None) -> None:
    cli(*SMALL, "--out", "result.json")
    document = json.loads((tmp_path / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(document | {"source": None}))
    outcome = cli("trace", "result.json")
    assert outcome.code == EXIT_INPUT
    assert "must hold work and machine" in outcome.err
    assert "GPC port" not in cli("explain", "result.json").err


def test_a_machine_of_another_version_is_explained_without_reruns(
    cli, tmp_path: Path, perfetto: None
) -> None:
    cli(*SMALL, "--out", "result.json")
    text = (tmp_path / "result.json").read_text()
    (tmp_path / "result.json").write_text(text.replace("gpc_bytes_per_cycle", "gpc_bytes_a_cycle"))
    outcome = cli("explain", "result.json")
    assert outcome.code == 0
    assert "was not tried: the file holds a machine of another version" in outcome.out
    outcome = cli("trace", "result.json")
    assert outcome.code == EXIT_INPUT
    assert "must be a machine of this version of the model" in outcome.err


def test_what_if_is_printed_and_written(cli, tmp_path: Path) -> None:
    outcome = cli(*SMALL, "--what-if", "--against", "unicast", "--out", "pair.json")
    assert "times as fast with one thing relaxed" in outcome.out
    document = json.loads((tmp_path / "pair.json").read_text())
    for run in document["runs"]:
        tried = run["what_if"]
        assert tried["trips"] == tried["of_trips"] == 6
        assert tried["relaxations"][0]["speedup"] >= tried["relaxations"][-1]["speedup"]
    assert cli("explain", "pair.json").out.rstrip().splitlines()[-1].startswith("Verdict: ")


def test_explain_tries_what_would_change_a_run(cli) -> None:
    cli(*SMALL, "--set", "xbar.gpc_bytes_per_cycle=8", "--out", "result.json")
    explained = cli("explain", "result.json").out
    assert "Twice the bandwidth of the GPC port would make it" in explained
    assert "would make it" not in cli("explain", "result.json", "--no-what-if").out
    assert json.loads(cli("explain", "result.json", "--json").out) == explained.splitlines()


def test_run_says_what_it_runs(cli) -> None:
    line = " ".join(cli(*SMALL, "--boxes", "2").out.split("on tiny")[0].split())
    assert line == (
        "multicast: 6 tiles of 4,096 B (2 boxes of 16x128) to each CTA, sweep in L2, 4 stages; 8 CTAs in 4 "
        "clusters of 2 on 8 of 8 SMs"
    )


def test_the_suffix_of_out_chooses_the_format(cli, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for suffix in ("json", "csv", "parquet"):
        assert cli(*SMALL, "--out", f"result.{suffix}").code == 0
    assert (tmp_path / "result.csv").read_text().startswith("executor,machine,")
    assert (tmp_path / "result.parquet").read_bytes().startswith(b"PAR1")


def test_help_of_trace_has_examples(cli) -> None:
    outcome = cli("trace", "--help")
    assert outcome.code == 0
    assert "hoppersim trace result.json" in outcome.out


def test_other_designs_are_printed_and_written(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoppersim.pool.usable_cores", lambda: 1)
    out = cli(*SMALL, "--what-if-design", "--out", "result.json").out
    assert "other designs, multicast" in out
    assert "stages 3" in out
    assert "cluster 8 was not run: " in out
    tried = json.loads((tmp_path / "result.json").read_text())["designs"]
    assert tried["base_cycles"] == json.loads((tmp_path / "result.json").read_text())["cycles"]
    assert {step["name"] for step in tried["steps"]} == {"stages", "box", "cluster"}
    assert cli("explain", "result.json", "--no-what-if").code == 0


def test_with_reruns_the_table_says_what_gains_most_by_them(cli) -> None:
    out = cli(*SMALL, "--what-if", "--set", "xbar.gpc_bytes_per_cycle=8").out
    assert "gains most, by reruns" in out
    assert "likely limit" not in out
    assert "likely limit" in cli(*SMALL).out
