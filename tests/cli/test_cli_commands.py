"""Commands do what their help says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import hoppersim
from hoppersim import load_machine, load_work
from hoppersim.cli.gemm import VARIABLES
from hoppersim.errors import EXIT_HANG, EXIT_INPUT, EXIT_VIOLATIONS
from hoppersim.program.builders import gemm_2x2
from hoppersim.program.canonical import work_hash

LITMUS = Path(__file__).parents[1] / "litmus"
SMALL = ["--preset", "tiny", "--iterations", "6"]


def test_run_against_prints_times_difference_limiters_and_verdict(cli) -> None:
    outcome = cli("run", "multicast", "--cluster", "2", "--against", "unicast_distinct", *SMALL)
    assert "simulated [line/s]" in outcome.out
    assert "simulated [cycle/s]" in outcome.out
    assert outcome.code == 0
    assert "likely limit" in outcome.out
    for name in ("multicast", "unicast_distinct"):
        assert re.search(rf"^{name}: .* busy", outcome.out, re.MULTILINE)
        assert f"\n{name}: The traffic needs at least " in outcome.out
    assert "Verdict: " in outcome.out
    assert " cycles " in outcome.out


def test_a_work_run_against_itself_is_not_faster(cli) -> None:
    outcome = cli("run", "multicast", "--cluster", "2", "--against", "multicast", *SMALL)
    assert "Verdict: neither is faster: both are the same work." in outcome.out


def test_run_json_is_one_document_with_the_schema(cli) -> None:
    document = json.loads(cli("run", "unicast", "--json", *SMALL).out)
    assert document["schema"] == "hoppersim.result/1"
    pair = json.loads(cli("run", "unicast", "--against", "multicast", "--json", *SMALL).out)
    assert len(pair["runs"]) == 2
    assert {"speedup", "decided", "text"} <= set(pair["verdict"])


def test_run_out_writes_a_result_that_explain_reads(cli) -> None:
    assert cli("run", "multicast", "-c", "2", "--out", "result.json", *SMALL).code == 0
    outcome = cli("explain", "result.json")
    assert outcome.code == 0
    assert "B/cycle per used SM" in outcome.out


def test_set_changes_the_machine(cli) -> None:
    wide = json.loads(cli("run", "unicast", "--json", *SMALL).out)
    narrow = json.loads(cli("run", "unicast", "--json", "--set", "xbar.gpc_bytes_per_cycle=8", *SMALL).out)
    assert narrow["cycles"] > wide["cycles"]
    assert narrow["limiter"]["name"] == "GPC port"


def test_a_grid_is_the_number_of_ctas_of_a_case_and_of_a_flow_file(cli) -> None:
    assert cli("new", "flow.toml").code == 0
    for target in (["multicast", "-c", "2", "-n", "4"], ["flow.toml"]):
        outcome = cli("run", *target, "--grid", "4", "--preset", "tiny")
        assert outcome.code == 0
        assert "4 CTAs in 2 clusters of 2 on 4 of 8 SMs" in outcome.out


def test_new_flow_is_legal_and_runs(cli) -> None:
    assert cli("new", "flow.toml").code == 0
    checked = cli("check", "flow.toml")
    assert (checked.code, checked.out) == (0, "flow.toml: no rule broken\n")
    assert cli("run", "flow.toml", "--preset", "tiny").code == 0


def test_a_new_gemm_is_that_of_the_builder_and_runs(cli) -> None:
    assert cli("new", "gemm.toml", "--template", "gemm", "--with", "compute=128").code == 0
    assert work_hash(load_work("gemm.toml")) == work_hash(gemm_2x2())
    told, note = cli("check", "gemm.toml").out.splitlines()
    assert told == "gemm.toml: no rule broken"
    assert note.startswith("note: multicast to one SM of a TPC and not the other: `b` by role `load`.")
    assert cli("run", "gemm.toml", "--preset", "tiny", "--grid", "4").code == 0


def test_a_gemm_computes_as_long_as_its_tile_takes_the_tensor_cores(cli) -> None:
    assert cli("new", "gemm.toml", "-t", "gemm", "--with", "tile_m=256", "--with", "stages=3").code == 0
    named = tomllib.loads(Path("gemm.toml").read_text(encoding="utf-8"))["about"]
    assert named["compute"] == 2 * 256 * 128 * 64 // 4096


def test_the_help_of_new_says_what_each_size_is_without_being_set(cli) -> None:
    text = cli("new", "--help").out
    for name, (value, _) in VARIABLES.items():
        assert (name if name == "compute" else f"{name}={value}") in text


def test_boxes_that_go_out_of_bounds_are_told_once(cli) -> None:
    assert cli("new", "flow.toml").code == 0
    assert "out of bounds" not in cli("check", "flow.toml").out
    text = Path("flow.toml").read_text(encoding="utf-8")
    Path("flow.toml").write_text(text.replace("[64, 32768]", "[64, 32700]"), encoding="utf-8")
    assert "note: 417,792 B of the boxes that it loads lie out of bounds" in cli("check", "flow.toml").out
    out = cli("run", "flow.toml", "--preset", "tiny", "--grid", "8").out
    assert "out of bounds" not in out  # these CTAs do not come that far
    text = Path("flow.toml").read_text(encoding="utf-8").replace("[64, 32700]", "[64, 100]")
    Path("flow.toml").write_text(text, encoding="utf-8")
    assert cli("run", "flow.toml", "--preset", "tiny", "--grid", "8").out.count("lie out of bounds") == 1


def test_a_run_in_waves_says_so_and_shows_the_time_of_the_whole(cli) -> None:
    arguments = ["run", "unicast_distinct", "-c", "1", "-n", "4", "--preset", "tiny"]
    out = cli(*arguments, "--grid", "32").out
    assert "in 4 waves" in out
    assert "slowest CTA [cycle]" in out
    assert "slowest CTA" not in cli(*arguments).out
    out = cli(*arguments, "--grid", "32", "--against", "unicast").out
    assert "compared from the first start to the last end" in out
    assert "Verdict: " in out


@pytest.mark.parametrize(
    "settings",
    [["cluster_rows=1"], ["cluster_columns=4", "stages=3"], ["tile_m=256", "tile_k=32", "compute=9"]],
)
def test_all_numbers_of_a_gemm_follow_from_those_that_are_named(cli, settings: list[str]) -> None:
    options = [word for text in settings for word in ("--with", text)]
    assert cli("new", "gemm.toml", "-t", "gemm", *options, "-w", "k=256").code == 0
    assert cli("check", "gemm.toml").code == 0
    result = json.loads(cli("run", "gemm.toml", "--grid", "8", "--json").out)
    named = tomllib.loads(Path("gemm.toml").read_text(encoding="utf-8"))["about"]
    assert {f"{name}={value}" for name, value in named.items()} >= {*settings, "k=256"}
    per_cta = (named["tile_m"] + named["tile_n"]) * 2 * named["k"]
    assert result["delivered_bytes"] == 8 * per_cta


def test_the_help_of_new_names_every_size_of_a_gemm(cli) -> None:
    shown = cli("new", "--help").out
    assert [name for name in VARIABLES if not re.search(rf"\b{name}\b", shown)] == []


def test_a_new_flow_may_have_a_strange_name(cli) -> None:
    assert cli("new", 'a "b" {c}.toml').code == 0
    assert cli("check", 'a "b" {c}.toml').code == 0


def test_check_lists_every_violation_with_code_3(cli, tmp_path: Path) -> None:
    cli("new", "flow.toml")
    text = (tmp_path / "flow.toml").read_text()
    text = text.replace("mask = 3}", "mask = 7}").replace("to = 1}", "to = 4}")
    (tmp_path / "flow.toml").write_text(text)
    outcome = cli("check", "flow.toml")
    assert outcome.code == EXIT_VIOLATIONS
    codes = [line.split()[0] for line in outcome.out.splitlines()[:-1]]
    assert len(codes) >= 2
    assert all(code.startswith("HS-") for code in codes)
    assert cli("explain", codes[0]).out.startswith(codes[0])
    assert len(json.loads(cli("check", "flow.toml", "--json").out)) == len(codes)


def test_run_of_an_illegal_flow_is_bad_input(cli, tmp_path: Path) -> None:
    cli("new", "flow.toml")
    text = (tmp_path / "flow.toml").read_text().replace("to = 1}", "to = 4}")
    (tmp_path / "flow.toml").write_text(text)
    outcome = cli("run", "flow.toml")
    assert outcome.code == 2
    assert "HS-" in outcome.err


def test_a_hang_has_exit_code_4_and_a_report(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoppersim.result.api.check", lambda work, machine: [])
    cli("new", "flow.toml")
    flow = tmp_path / "flow.toml"
    flow.write_text(flow.read_text().replace('{op = "arrive", barrier = "free", to = 1},', ""))
    outcome = cli("run", "flow.toml", "--preset", "tiny")
    assert outcome.code == EXIT_HANG
    assert "waits for free[0]" in outcome.out
    assert "hangs" in outcome.out


def test_a_race_has_exit_code_4_and_names_both_sides(cli) -> None:
    outcome = cli("run", str(LITMUS / "l10_refill_while_peer_reads.toml"), "--preset", "tiny")
    assert outcome.code == EXIT_HANG
    assert "HS-RC-002" in outcome.out
    assert "leader" in outcome.out
    assert "epilogue" in outcome.out
    code = cli("run", str(LITMUS / "l10_refill_while_peer_reads.toml"), "--preset", "tiny", "--json").code
    assert code == EXIT_HANG


@pytest.mark.parametrize(
    "code", ["HS-MB-001", "HS-RC-001", "HS-RC-002", "HS-RC-003", "HS-EX-001", "hs-rc-001"]
)
def test_explain_knows_the_codes_of_rules_and_of_findings(cli, code: str) -> None:
    outcome = cli("explain", code)
    assert outcome.code == 0
    assert outcome.out.startswith(code.upper())


def test_config_show_loads_again_as_the_same_machine(cli, tmp_path: Path) -> None:
    shown = cli("config", "show", "tiny", "--set", "lrc.enabled=0")
    (tmp_path / "mine.toml").write_text(shown.out)
    assert cli("config", "validate", "mine.toml").code == 0
    difference = json.loads(cli("config", "diff", "tiny", "mine.toml", "--json").out)
    assert [row["path"] for row in difference] == ["lrc.enabled"]


def test_config_provenance_has_an_origin_for_every_number(cli) -> None:
    rows = json.loads(cli("config", "show", "tiny", "--provenance", "--json").out)
    assert all(row["origin"] for row in rows)
    assert "origin" in cli("config", "show", "tiny", "--provenance").out


def test_config_counts_what_a_preset_takes_over(cli) -> None:
    assert ", 0 taken over from another preset, valid" in cli("config", "validate", "h200_sxm").out
    taken = load_machine("h100_sxm").taken_over_count
    assert f", {taken} taken over from another preset, valid" in cli("config", "validate", "h100_sxm").out
    assert "taken over from another preset" in cli("config", "show", "h100_sxm", "--provenance").out


def test_config_diff_of_two_presets(cli) -> None:
    outcome = cli("config", "diff", "h200_sxm", "tiny")
    assert outcome.code == 0
    assert "l2.slices" in outcome.out
    assert cli("config", "diff", "tiny", "tiny").out == "no difference\n"


def test_topology_shows_stranded_sms(cli, tmp_path: Path) -> None:
    outcome = cli("topology", "show", "--cluster", "16")
    assert "Clusters of 16: 7 resident at once" in outcome.out
    assert cli("topology", "show", "-p", "tiny", "--picture", "chip.png").code == 0
    assert (tmp_path / "chip.png").read_bytes().startswith(b"\x89PNG")


def test_version_names_package_preset_dataset_and_libraries(cli) -> None:
    outcome = cli("--version")
    assert outcome.out.startswith(f"hoppersim {hoppersim.__version__}\n")
    for name in ("preset h200_sxm", "dataset", "numba", "simpy"):
        assert name in outcome.out


def test_run_and_explain_say_where_a_tiles_time_goes(cli) -> None:
    outcome = cli("run", "unicast", "--out", "result.json", *SMALL)
    assert "Where a tile's time goes: " in outcome.out
    assert "(issue: in the instruction that issues it; engine: in its SM's engine; " in outcome.out
    assert (
        "from its instruction until its waiter goes on" in cli("explain", "result.json", "--no-what-if").out
    )


def test_tiles_writes_a_row_for_every_tile(cli) -> None:
    document = json.loads(cli("run", "unicast", "--json", "--tiles", "tiles.csv", *SMALL).out)
    lines = Path("tiles.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) - 1 == 6 * document["ctas"] == document["tiles"]["all"]["tiles"]
    assert document["tiles"]["every"] == 1


@pytest.mark.parametrize(
    "options", [["tiles.txt"], ["tiles.csv", "--against", "multicast"], ["r.json", "--out", "r.json"]]
)
def test_tiles_that_cannot_be_written_are_bad_input(cli, options: list[str]) -> None:
    outcome = cli("run", "unicast", "--tiles", *options, *SMALL)
    assert outcome.code == EXIT_INPUT
    assert "--tiles" in outcome.err
    assert not list(Path().glob("tiles*"))
