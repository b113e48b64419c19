"""Input that once broke a command: one clear error, exit code 2; a hang is reported with exit code 4."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoppersim.errors import EXIT_HANG, EXIT_INPUT, EXIT_INTERNAL, EXIT_VIOLATIONS
from tests.conftest import Command

LITMUS = Path(__file__).parents[1] / "litmus"
SMALL = ["run", "multicast", "--preset", "tiny", "-n", "2"]


def test_an_illegal_program_runs_up_to_its_hang_when_checks_are_off(cli: Command) -> None:
    code, out, _error = cli("run", str(LITMUS / "l02_twice_the_bytes.toml"), "--no-check")
    assert code == EXIT_HANG
    assert "expect 8192 bytes fewer" in " ".join(out.split())


def test_the_same_program_is_refused_with_checks(cli: Command) -> None:
    code, _out, error = cli("run", str(LITMUS / "l02_twice_the_bytes.toml"))
    assert code == EXIT_INPUT
    assert "HS-MB-003" in error


def test_a_folder_is_no_place_for_a_result(cli: Command, tmp_path: Path) -> None:
    code, _out, error = cli(*SMALL, "--out", str(tmp_path))
    assert code == EXIT_INPUT
    assert "must name a file" in error


def test_a_number_beyond_64_bits_is_refused_with_its_place(cli: Command, tmp_path: Path) -> None:
    text = (LITMUS / "l02_twice_the_bytes.toml").read_text(encoding="utf-8")
    broken = tmp_path / "huge.toml"
    broken.write_text(text.replace("16384", "9" * 24), encoding="utf-8")
    code, _out, error = cli("check", str(broken))
    assert code == EXIT_INPUT
    assert "9" * 24 in error


@pytest.mark.parametrize(
    "setting", ["xbar.request_latency=1e12", "hbm.channels=1000000000", "clocks.sm_ghz=1e300"]
)
def test_a_number_that_no_machine_has_is_refused(cli: Command, setting: str) -> None:
    code, _out, error = cli(*SMALL, "--set", setting)
    assert code == EXIT_INPUT
    assert "nearest legal value" in error


def test_a_file_in_the_place_of_a_studys_folder_is_found_before_the_study(
    cli: Command, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _out, error = cli("experiment", "cluster_scaling", "--quick", "--out", str(tmp_path / "file"))
    assert code == EXIT_INPUT
    assert "must be a folder" in error


def test_who_waits_for_whom_is_written_as_data_and_as_a_drawing(cli: Command, tmp_path: Path) -> None:
    for suffix in (".json", ".svg"):
        report = tmp_path / f"hang{suffix}"
        code, _, _ = cli(
            "run", str(LITMUS / "l02_twice_the_bytes.toml"), "--no-check", "--hang-report", str(report)
        )
        assert code == EXIT_HANG
        assert report.stat().st_size > 500


@pytest.mark.parametrize(
    "arguments",
    [
        ["--box", "٣٢x128"],
        ["--cluster", "٢"],
        ["--cluster=²"],
        ["-n", "२"],
        ["--set", "lrc.entries=٣"],
        ["--set", "l2.bytes=²MB"],
        ["--trace", "run.pftrace", "--trace-sms", "٣"],
        ["--trace", "run.pftrace", "--trace-window", "٣:٣"],
    ],
)
def test_a_number_is_written_with_the_digits_0_to_9(cli: Command, arguments: list[str]) -> None:
    code, out, error = cli(*SMALL, *arguments)
    assert code == EXIT_INPUT
    assert out == ""
    assert error.startswith("error: ")
    assert "must be written with the digits 0 to 9; nearest legal value: " in error


@pytest.mark.parametrize("option", ["--tiles", "--out", "--hang-report", "--trace"])
@pytest.mark.parametrize("place", ["file/below", "a" * 300])
def test_a_file_that_cannot_be_written_is_found_before_the_run_and_named(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, place: str
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr("hoppersim.engine.simulate.simulate_raw", None)
    suffix = {"--tiles": ".csv", "--trace": ".pftrace"}.get(option, ".json")
    code, out, error = cli(*SMALL, option, f"{tmp_path / place}{suffix}")
    assert (code, out) == (EXIT_INPUT, "")
    assert error.startswith(f"error: {option} = ")
    assert len(error.splitlines()) == 1


def test_tiles_that_can_no_longer_be_written_are_named(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hoppersim.result.files.tempfile.mkstemp", refuse)
    code, _out, error = cli(*SMALL, "--tiles", str(tmp_path / "tiles.csv"))
    assert code == EXIT_INPUT
    assert error.startswith("error: --tiles = ")


def test_a_name_of_any_printable_letters_makes_a_program(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _out, error = cli("new", "größe_😀.toml", "-t", "gemm")
    assert (code, error) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["new", "a\nb.toml"],
        ["new", "a.toml", "-t", "gemm", "--with", "m=" + "9" * 5000],
        [*SMALL, "--box", "9" * 5000 + "x128"],
    ],
)
def test_names_and_numbers_that_nobody_means_are_refused(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _out, error = cli(*arguments)
    assert code == EXIT_INPUT
    assert error.startswith("error: ")
    assert not list(tmp_path.iterdir())


def test_processes_are_counted_before_a_study_is_looked_at(cli: Command) -> None:
    study = Path(__file__).parents[2] / "experiments" / "gpc_port_width.toml"
    code, out, error = cli("sweep", str(study), "-j", "-5", "--dry-run")
    assert (code, out) == (EXIT_INPUT, "")
    assert error == "error: --jobs = -5: must be at least one process; nearest legal value: 1\n"


def test_broken_rules_in_json_have_names(cli: Command) -> None:
    code, out, _error = cli("check", str(LITMUS / "l07_parity_each_iteration.toml"), "--json")
    assert code == EXIT_VIOLATIONS
    assert [set(item) for item in json.loads(out)] == [{"code", "field", "value", "rule", "nearest"}]


def test_a_run_that_needs_too_much_memory_ends_in_one_line(
    cli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("hoppersim.engine.simulate.simulate_raw", refuse)
    code, _out, error = cli(*SMALL)
    assert code == EXIT_INTERNAL
    assert error.splitlines() == ["error: out of memory: a smaller work, or fewer processes, takes less"]
