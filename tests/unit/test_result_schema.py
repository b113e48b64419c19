"""The documented schema is the one that is written; tables keep types and units."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from hoppersim.cli.experiment import _document
from hoppersim.errors import InputError
from hoppersim.experiments.registry import find_study
from hoppersim.experiments.runner import run_study
from hoppersim.machine.machine import Machine
from hoppersim.pool import MachineRequest
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.result.api import simulate
from hoppersim.result.documents import Comparison, Study, Sweep
from hoppersim.result.export import read_document, to_json, write_document
from hoppersim.result.rows import COLUMNS, result_row, unit_of_column
from hoppersim.result.schema import Result
from hoppersim.result.schema_page import schema_page
from hoppersim.result.source import reopen
from hoppersim.result.table_files import require_format, write_table
from hoppersim.result.verdict import compare
from hoppersim.sweep import Sweep as Design
from hoppersim.sweep import run_sweep

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schema.md"
DESIGN = Design(
    "small",
    preset="tiny",
    case=Case("multicast", rows=16, iterations=2),
    axes={"cluster": [1, 2]},
    objectives={"cycles": "min"},
)


@pytest.fixture(scope="module")
def result(tiny: Machine) -> Result:
    """Simulate a small multicast."""
    return simulate(tiny, build_case(Case("multicast", cluster=2, iterations=4)))


def test_the_page_is_made_from_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == schema_page(), (
        "run: python -m hoppersim.result.schema_page > docs/schema.md"
    )


def test_every_field_that_is_written_is_documented(result: Result) -> None:
    verdict = compare(result, result, ("a", "b"))
    written = json.loads(to_json(Comparison(runs=(result,), verdict=verdict)))
    del written["runs"][0]["source"], written["runs"][0]["counters"]
    page = PAGE.read_text(encoding="utf-8")

    def names(value: object) -> set[str]:
        if isinstance(value, list):
            return {name for item in value for name in names(item)}
        if isinstance(value, dict):
            return set(value) | {name for item in value.values() for name in names(item)}
        return set()

    assert {name for name in names(written) if f"| `{name}` |" not in page} == set()
    assert {name for name in result.counters if f"| `{name}` |" not in page} == set()


def test_a_result_holds_what_it_takes_to_run_it_again(result: Result, tiny: Machine, tmp_path: Path) -> None:
    write_document(tmp_path / "result.json", result)
    stored = read_document(tmp_path / "result.json")
    assert stored == result
    assert isinstance(stored, Result)
    machine, work = reopen(stored)
    assert machine.hash == tiny.hash == stored.machine_hash
    again = simulate(machine, work)
    assert (again.cycles, again.counters) == (result.cycles, result.counters)


def test_a_pair_survives_its_file(result: Result, tmp_path: Path) -> None:
    pair = Comparison(runs=(result, result), verdict=compare(result, result, ("a", "b")))
    write_document(tmp_path / "pair.json", pair)
    assert read_document(tmp_path / "pair.json") == pair


@pytest.mark.parametrize("schema", ["hoppersim.result/9", "hoppersim.comparison/9"])
def test_a_newer_schema_is_named_even_if_its_fields_are_others(schema: str, tmp_path: Path) -> None:
    (tmp_path / "new.json").write_text(json.dumps({"schema": schema, "strange": 1}))
    with pytest.raises(InputError, match=f"{schema}.*this version reads"):
        read_document(tmp_path / "new.json")


def test_deeply_nested_json_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="must be a Result in JSON"):
        read_document(tmp_path / "deep.json")


def test_a_study_document_follows_its_schema(tiny: Machine) -> None:
    study = find_study("cluster_scaling")
    rows = run_study(study, MachineRequest("tiny"), study.points(tiny, True)[:2])
    document = msgspec.json.decode(_document(study, rows), type=Study)
    assert document.rows == json.loads(json.dumps(rows))


def test_a_sweep_document_follows_its_schema() -> None:
    found = run_sweep(DESIGN)
    document = msgspec.json.decode(to_json(found.document()), type=Sweep)
    assert [row["cluster"] for row in document.rows] == [1, 2]


def test_a_run_is_a_row_of_the_documented_columns(result: Result) -> None:
    row = result_row(result)
    assert list(row) == [*COLUMNS, *result.counters]
    assert row["chip_bytes_per_cycle"] == result.rates.chip
    assert row["measured_cycles"] is None
    assert row["hazards"] == 0


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("cycles", "cycle"),
        ("bound_merged_cycles", "cycle"),
        ("used_sm_bytes_per_cycle", "B/cycle"),
        ("cycles_per_second", "cycle/s"),
        ("microseconds", "us"),
        ("seconds", "s"),
        ("tile_bytes", "B"),
        ("limiter_share", "share"),
        ("dram__bytes_read.sum", "B"),
        ("lts__t_sectors_srcunit_tex_op_read.sum", "sector"),
        ("cluster", ""),
        ("limiter", ""),
        ("cause", ""),
    ],
)
def test_the_name_of_a_column_tells_its_unit(column: str, unit: str) -> None:
    assert unit_of_column(column) == unit


def test_parquet_keeps_types_nulls_and_units(result: Result, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_document(tmp_path / "run.parquet", result)
    table = parquet.read_table(tmp_path / "run.parquet")
    assert table.to_pylist() == [result_row(result)]
    assert table.schema.field("cycles").metadata == {b"unit": b"cycle"}
    assert str(table.schema.field("ctas").type) == "int64"


def test_a_column_of_mixed_values_becomes_text_in_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"value": 1, "name": "a"}, {"value": "zero", "name": None}, {"value": None, "name": "c"}]
    write_table(tmp_path / "rows.parquet", rows)
    found = parquet.read_table(tmp_path / "rows.parquet").to_pydict()
    assert found == {"value": ["1", "zero", None], "name": ["a", None, "c"]}


def test_csv_and_parquet_have_the_same_columns(result: Result, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for suffix in (".csv", ".parquet"):
        write_document(tmp_path / f"run{suffix}", Comparison(runs=(result, result), verdict=None))
    header, *lines = (tmp_path / "run.csv").read_text().splitlines()
    table = parquet.read_table(tmp_path / "run.parquet")
    assert header.split(",") == table.column_names
    assert len(lines) == table.num_rows == 2


def test_an_unknown_suffix_names_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.json, \.csv or \.parquet") as caught:
        require_format("--out", tmp_path / "run.xlsx", (".json",))
    assert caught.value.nearest == tmp_path / "run.json"


def test_without_its_package_parquet_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("hoppersim.result.table_files.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'hoppersim\[parquet\]'"):
        write_table(tmp_path / "rows.parquet", [{"a": 1}])
    assert list(tmp_path.iterdir()) == []
