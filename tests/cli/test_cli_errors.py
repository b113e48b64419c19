"""Bad input gives one clear line, exit code 2 and no traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hoppersim.errors import EXIT_INPUT

BAD = {
    "cluster too large": (["run", "multicast", "--cluster", "17"], "cluster = 17", "16"),
    "cluster too small": (["run", "multicast", "--cluster", "0"], "cluster = 0", "1"),
    "box without x": (["run", "multicast", "--box", "8192"], "--box = '8192'", "64x128"),
    "row not a multiple of 16": (["run", "unicast", "--box", "64x100"], "row_bytes = 100", "96"),
    "too many rows": (["run", "unicast", "--box", "300x128"], "rows = 300", "256"),
    "row too long": (["run", "unicast", "--box", "64x1024"], "row_bytes = 1024", "512"),
    "no stages": (["run", "unicast", "--stages", "0"], "stages = 0", "1"),
    "unknown memory": (["run", "unicast", "--memory", "hbn"], "--memory = 'hbn'", "hbm"),
    "unknown pattern": (["run", "unicast", "--pattern", "swep"], "--pattern = 'swep'", "sweep"),
    "unknown target": (["run", "multicst"], "target = 'multicst'", "multicast"),
    "unknown preset": (["run", "unicast", "--preset", "h200"], "machine = 'h200'", "h200_sxm"),
    "unknown number": (
        ["run", "unicast", "--set", "xbar.gpc_byte=1"],
        "xbar.gpc_byte",
        "xbar.gpc_bytes_per_cycle",
    ),
    "setting without value": (["run", "unicast", "--set", "lrc.enabled"], "lrc.enabled", "="),
    "number out of range": (["run", "unicast", "--set", "lrc.enabled=2"], "lrc.enabled = 2", "1"),
    "unknown fabric": (["run", "unicast", "--fabric", "fast"], "--fabric = 'fast'", "compiled"),
    "too much shared memory": (
        ["run", "unicast", "--box", "256x512", "--stages", "2"],
        "shared_bytes",
        "232448",
    ),
    "slices that do not divide": (
        ["run", "multicast_slices", "-c", "4", "--box", "66x128"],
        "rows = 66",
        "64",
    ),
    "hot tile from HBM": (["run", "unicast", "-m", "hbm", "--pattern", "hot"], "pattern = 'hot'", "sweep"),
    "unknown study": (["experiment", "cluster_scalin"], "experiment = 'cluster_scalin'", "cluster_scaling"),
    "no processes": (["experiment", "cluster_scaling", "-p", "tiny", "-j", "0"], "--jobs = 0", "1"),
    "limit of cycles": (["run", "unicast", "-p", "tiny", "--max-cycles", "9"], "max_cycles = 9", "must end"),
    "file missing": (["check", "nothing.toml"], "nothing.toml", "exist"),
    "unknown code": (["explain", "HS-XX-999"], "HS-XX-999", "HS-"),
    "a flow file to explain": (["explain", "flow.toml"], "what = 'flow.toml'", "hoppersim check flow.toml"),
    "nothing to explain": (["explain", "a/result.json"], "what = 'a/result.json'", "HS-MB-001"),
    "a grid that is no multiple": (["run", "unicast", "-c", "2", "--grid", "3"], "grid = 3", "2"),
    "new file with a strange name": (["new", "flow.txt"], "flow.txt", "flow.toml"),
    "unknown template": (["new", "a.toml", "-t", "gem"], "--template = 'gem'", "flow"),
    "a flow with sizes": (["new", "a.toml", "-w", "k=1"], "--with = 'k=1'", "--template gemm"),
    "no such size": (["new", "a.toml", "-t", "gemm", "-w", "tile=1"], "--with = 'tile=1'", "tile_"),
    "a size that is no number": (["new", "a.toml", "-t", "gemm", "-w", "k=1_0"], "k = '1_0'", "4096"),
    "a size that does not divide": (["new", "a.toml", "-t", "gemm", "-w", "k=100"], "k = 100", "64"),
    "a gemm too large": (
        ["new", "a.toml", "-t", "gemm", "-w", "stages=8"],
        "shared_bytes",
        "at most 7 stages",
    ),
    "cluster for no GPC": (["topology", "show", "-p", "tiny", "-c", "16"], "launch.cluster = 16", "nearest"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gives_field_value_rule_and_nearest(cli, name: str) -> None:
    arguments, field_and_value, nearest = BAD[name]
    outcome = cli(*arguments)
    assert outcome.code == EXIT_INPUT
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert len(outcome.err.splitlines()) == 1
    assert field_and_value in outcome.err
    assert nearest in outcome.err
    assert "Traceback" not in outcome.err


USAGE = {
    "nothing to run": (["run"], "missing argument 'target'; see hoppersim run --help"),
    "no number": (["run", "unicast", "--max-cycles", "abc"], "--max-cycles = 'abc': "),
    "no number, short": (["experiment", "cluster_scaling", "-j=x"], "--jobs = 'x': "),
    "a number too small": (["run", "unicast", "--max-cycles", "0"], "--max-cycles = '0': "),
    "unknown command": (["fly"], "no such command 'fly'; see hoppersim --help"),
    "unknown option": (["run", "unicast", "--warp"], "no such option: --warp"),
    "one argument too many": (["run", "unicast", "multicast"], "(multicast)"),
}


@pytest.mark.parametrize("name", USAGE)
def test_an_argument_that_does_not_fit_is_one_line(cli, name: str) -> None:
    arguments, words = USAGE[name]
    outcome = cli(*arguments)
    assert (outcome.code, outcome.out) == (EXIT_INPUT, "")
    assert len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith("error: ")
    assert words in outcome.err


def test_a_command_without_arguments_shows_its_help(cli) -> None:
    outcome = cli()
    assert outcome.code == EXIT_INPUT
    assert "Usage: hoppersim" in outcome.out + outcome.err


def test_a_pipe_whose_reader_has_gone_is_no_error() -> None:
    shown = f"{sys.executable} -m hoppersim config show h200_sxm --provenance"
    command = f"set -o pipefail; {shown} | head -n 1"
    outcome = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout


def test_case_options_with_a_flow_file_are_refused(cli) -> None:
    assert cli("new", "flow.toml").code == 0
    for option, value in (("--box", "8x128"), ("--cluster", "4"), ("--memory", "hbm")):
        outcome = cli("run", "flow.toml", option, value)
        assert outcome.code == EXIT_INPUT
        assert value in outcome.err.split(": case options")[0]
        assert outcome.err.startswith(f"error: {option} = ")


def test_new_does_not_replace_a_file(cli, tmp_path) -> None:
    (tmp_path / "flow.toml").write_text("precious")
    outcome = cli("new", "flow.toml")
    assert outcome.code == EXIT_INPUT
    assert "--force" in outcome.err
    assert (tmp_path / "flow.toml").read_text() == "precious"


def test_a_gemm_that_cannot_run_is_not_written(cli, tmp_path) -> None:
    assert cli("new", "gemm.toml", "-t", "gemm", "-w", "stages=8").code == EXIT_INPUT
    assert not list(tmp_path.iterdir())


def test_a_broken_flow_file_names_file_and_field(cli, tmp_path) -> None:
    assert cli("new", "flow.toml").code == 0
    text = (tmp_path / "flow.toml").read_text().replace("stages = 4}", 'stages = "four"}', 1)
    (tmp_path / "flow.toml").write_text(text)
    outcome = cli("check", "flow.toml")
    assert outcome.code == EXIT_INPUT
    assert "flow.toml" in outcome.err
    assert "stages" in outcome.err
