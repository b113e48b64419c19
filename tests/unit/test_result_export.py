"""Files are whole or absent, and a Result survives its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoppersim.errors import InputError
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.result.api import simulate
from hoppersim.result.export import counters_csv, read_result, to_json
from hoppersim.result.files import write_text, write_whole
from hoppersim.result.schema import Result
from hoppersim.result.table_files import to_csv


@pytest.fixture(scope="module")
def result(tiny: Machine) -> Result:
    """Simulate a small multicast."""
    return simulate(tiny, build_case(Case("multicast", cluster=2, iterations=4)))


def test_a_result_survives_its_file(result: Result, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "result.json"
    write_text(file, to_json(result))
    assert read_result(file) == result


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    write_text(file, "old")

    def fail(path: Path) -> None:
        path.write_text("half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_whole(file, fail)
    assert [item.name for item in tmp_path.iterdir()] == ["table.csv"]
    assert file.read_text() == "old"


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(InputError, match="can be written"):
        write_text(tmp_path / "taken" / "table.csv", "text")


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"schema": "hoppersim.result/1"}', "\x00"])
def test_a_file_that_is_no_result_is_bad_input(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(InputError, match="must be a Result"):
        read_result(tmp_path / "bad.json")


def test_another_schema_is_named(result: Result, tmp_path: Path) -> None:
    other = to_json(result).replace("hoppersim.result/1", "hoppersim.result/99")
    (tmp_path / "new.json").write_text(other)
    with pytest.raises(InputError, match=r"hoppersim\.result/99.*this version reads"):
        read_result(tmp_path / "new.json")


def test_csv_has_a_header_and_empty_fields_for_none() -> None:
    assert to_csv([{"a": 1, "b": None}, {"a": "x,y", "b": 2.5}]) == 'a,b\n1,\n"x,y",2.5\n'
    assert to_csv([]) == ""


def test_counters_have_units_in_their_csv(result: Result) -> None:
    lines = counters_csv(result).splitlines()
    assert lines[0] == "counter,value,unit"
    assert any(line.startswith("dram__bytes_read.sum,") and line.endswith(",B") for line in lines)
