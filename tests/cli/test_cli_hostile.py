"""Input that once broke a command: one clear error, exit code 2; a hang is reported with exit code 4."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hoppersim.cli.app import app
from hoppersim.errors import EXIT_HANG, EXIT_INPUT

LITMUS = Path(__file__).parents[1] / "litmus"
SMALL = ["run", "multicast", "--preset", "tiny", "-n", "2"]


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_an_illegal_program_runs_up_to_its_hang_when_checks_are_off() -> None:
    code, text = _run("run", str(LITMUS / "l02_twice_the_bytes.toml"), "--no-check")
    assert code == EXIT_HANG
    assert "expect 8192 bytes fewer" in " ".join(text.split())


def test_the_same_program_is_refused_with_checks() -> None:
    code, text = _run("run", str(LITMUS / "l02_twice_the_bytes.toml"))
    assert code == EXIT_INPUT
    assert "HS-MB-003" in text


def test_a_folder_is_no_place_for_a_result(tmp_path: Path) -> None:
    code, text = _run(*SMALL, "--out", str(tmp_path))
    assert code == EXIT_INPUT
    assert "must name a file" in text


def test_a_number_beyond_64_bits_is_refused_with_its_place(tmp_path: Path) -> None:
    text = (LITMUS / "l02_twice_the_bytes.toml").read_text(encoding="utf-8")
    broken = tmp_path / "huge.toml"
    broken.write_text(text.replace("16384", "9" * 24), encoding="utf-8")
    code, message = _run("check", str(broken))
    assert code == EXIT_INPUT
    assert "9" * 24 in message


@pytest.mark.parametrize(
    "setting", ["xbar.request_latency=1e12", "hbm.channels=1000000000", "clocks.sm_ghz=1e300"]
)
def test_a_number_that_no_machine_has_is_refused(setting: str) -> None:
    code, message = _run(*SMALL, "--set", setting)
    assert code == EXIT_INPUT
    assert "nearest legal value" in message


def test_a_file_in_the_place_of_a_studys_folder_is_found_before_the_study(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, message = _run("experiment", "cluster_scaling", "--quick", "--out", str(tmp_path / "file"))
    assert code == EXIT_INPUT
    assert "must be a folder" in message
