"""A user's own measurements: which columns there are, and what is said about wrong ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoppersim import Case, build_case, save_work
from hoppersim.errors import InputError
from hoppersim.program.canonical import work_hash
from hw_validate.cli import main
from hw_validate.compare_counters import L2_SECTORS
from hw_validate.compare_csv import read_csv


def write(path: Path, *lines: str) -> Path:
    file = path / "mine.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_cases_flows_units_and_counters_are_read(tmp_path: Path) -> None:
    case = Case("unicast", grid=1, rows=8, iterations=2)
    save_work(build_case(case), tmp_path / "flow.toml")
    path = write(
        tmp_path,
        f"label,cycles,us,sm_ghz,spread,mode,rows,grid,iterations,footprint,flow,{L2_SECTORS}",
        "one,2000,,,0.01,unicast,8,1,2,,,64",
        ",,1,1.5,,unicast,8,1,2,1MiB,,",
        "file,2100,,,,,,,,,flow.toml,",
    )
    one, two, file = read_csv(path)
    assert (one.label, one.measured, one.spread) == ("one", 2000, 0.01)
    assert one.hash == file.hash == work_hash(build_case(case))
    assert one.counters == {L2_SECTORS: 64.0}
    assert two.measured == pytest.approx(1500)
    assert two.tags["case"]["footprint"] == 2**20
    assert two.label


def test_compare_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "cycles,mode,rows,grid,iterations", "2000,unicast,8,1,2")
    assert main(["compare", str(path), "--preset", "tiny", "--json", "-j", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["points"][0]["measured"] == 2000


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["cycels,mode", "1,unicast"], "nearest legal value: cycles"),
        (["cycles,mode,stage", "1,unicast,2"], "nearest legal value: stages"),
        (["mode,rows", "unicast,8"], "must have a time"),
        (["cycles,rows", "1,8"], "must say what ran"),
        (["cycles,mode", "soon,unicast"], "mine.csv:2: cycles"),
        (["cycles,mode", "-1,unicast"], "mine.csv:2: cycles"),
        (["cycles,mode", ",unicast"], "must be a time above 0"),
        (["cycles,mode", "1,unicost"], "mine.csv:2"),
        (["cycles,mode,rows", "1,unicast,300"], "nearest legal value: 150 with boxes = 2"),
        (["cycles,mode,rows", "1,unicast"], "as many fields"),
        (["cycles,mode", "1,unicast,3"], "as many fields"),
        (["cycles,mode,footprint", "1,unicast,big"], "number of bytes"),
        (["cycles,flow", "1,none.toml"], "none.toml"),
        (["cycles,flow", "1,."], "must be a flow file"),
        (["cycles,mode,footprint", "1,unicast,1e400"], "number of bytes"),
        (["cycles,mode,cycles", "1,unicast,2"], "must stand there once"),
        (["us,sm_ghz,mode", "1e300,1e300,unicast"], "must be a time above 0"),
        (["cycles,mode", "1,"], "must say what ran"),
        (["cycles,mode,spread", "1,unicast,nan"], "spread"),
    ],
)
def test_wrong_files_name_place_and_rule(lines: list[str], found: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=found.replace("(", r"\(")):
        read_csv(write(tmp_path, *lines))


def test_other_files_are_refused(tmp_path: Path) -> None:
    for content in (b"\xff\xfe\x00", b""):
        path = tmp_path / "other.csv"
        path.write_bytes(content)
        assert main(["compare", str(path)]) == 2
    assert main(["compare", str(tmp_path / "none.csv")]) == 2
    assert main(["compare", str(write(tmp_path, "cycles,mode"))]) == 2
