"""Rows become a dataset that reads back, whole or not at all, the same each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hoppersim.dataset import load_dataset, per_sm, verify_dataset
from hoppersim.errors import InputError
from hoppersim.program.canonical import work_hash
from hoppersim.program.cases import Case, build_case
from hw_validate.cli import main
from hw_validate.record import record

UUID = "GPU-00000000-1111-2222-3333-444444444444"


def device(uuid: str = UUID) -> dict[str, Any]:
    return {
        "row": "device", "name": "NVIDIA H200", "uuid": uuid, "driver": 13000, "sms": 132, "l2_bytes": 1,
        "shared_bytes_per_sm": 1, "bus_bits": 1, "clock_khz": 1980000, "memory_clock_khz": 1,
        "nvidia_smi": {"clocks.sm": "1980 MHz", "host": "secret"}, "compiler": "NVRTC",
        "when": "2026-01-02T03:04:05Z",
    }  # fmt: skip


def point(iterations: int = 4, **changes: Any) -> dict[str, Any]:
    key = work_hash(build_case(Case("unicast", rows=8, iterations=iterations)))
    flow = {
        "cycles": 110, "repeats": [100, 120, 110], "spread": 20 / 110, "event_ms": [0.3, 0.1, 0.2],
        "sm_ghz": 1.9, "ctas": 2, "cta": {"number": [0, 3], "sm": [5, 6], "cycles": [90, 110]},
        "roles": {}, "stamps": {}, "check": {"verified": True},
    }  # fmt: skip
    row = {
        "row": "point", "id": key[:16], "label": f"p{iterations}", "hash": key, "uuid": UUID, "status": "ok",
        "clusters": [2], "flows": [flow], "kernels": ["k"], "when": "2026-01-02T03:04:06Z", "seconds": 1,
        "tags": {"case": {"mode": "unicast", "rows": 8, "iterations": iterations}, "set_aside": "random"},
    }  # fmt: skip
    return row | changes


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + '\n{"row": "poi', encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lost = point(5, status="error", error="no CTA took part\nmore", flows=[], tags=point(5)["tags"])
    rows = write(tmp_path / "rows.jsonl", device(), {"row": "floorplan", "groups": [[5, 6]]}, point(), lost)
    counters = {
        "dram__bytes_read.sum": 64.0,
        "lts__t_sectors_srcunit_tex_op_read.sum": float("nan"),
        "other": 1.0,
    }
    first = point()
    counted = {
        "row": "counters",
        "id": first["id"],
        "hash": first["hash"],
        "label": "p4",
        "counters": counters,
    }
    record([rows], tmp_path / "set", counters=[write(tmp_path / "counters.jsonl", counted)])
    return tmp_path / "set"


def test_what_is_recorded_reads_back(folder: Path) -> None:
    dataset = load_dataset(str(folder))
    good, lost = dataset.points
    assert (good.run, good.cycles, good.repeats, good.event_ms) == (
        "2026-01-02-00000000",
        110,
        [100, 120, 110],
        0.2,
    )
    assert (good.cta_cycles, good.clusters, good.verified, good.set_aside) == (100.0, 2, True, "random")
    assert (lost.status, lost.error, lost.cycles) == ("error", "no CTA took part", None)
    assert not good.stable
    assert dataset.counters_of(good) == {"dram__bytes_read.sum": 64}
    assert dataset.manifest.set_aside == {"random": 2}
    assert dataset.manifest.runs[0].groups == [[5, 6]]
    assert per_sm(str(folder))[good.run][good.id]["number"] == [0, 3]


def test_a_recorded_dataset_passes_its_own_check(folder: Path) -> None:
    found = verify_dataset(str(folder))
    assert (found.problems, found.points, found.rebuilt) == ([], 2, 2)


def test_cases_are_kept_with_every_field(folder: Path) -> None:
    case = load_dataset(str(folder)).points[0].tags["case"]
    assert set(case) == set(Case.__struct_fields__)


def test_what_the_manifest_does_not_name_is_left_out(folder: Path) -> None:
    assert "secret" not in (folder / "manifest.json").read_text()


def test_equal_rows_give_equal_files_and_keep_the_error_summary(folder: Path, tmp_path: Path) -> None:
    (folder / "errors.json").write_text("{}")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    record([tmp_path / "rows.jsonl"], folder, counters=[tmp_path / "counters.jsonl"])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (point(hash="0" * 64), "no case and no plan"),
        (point(status="error", error="cannot open /home/someone/file"), "path of the machine"),
        (point(flows=[]), "one flow"),
        (device("GPU-other"), "rows of one part"),
    ],
)
def test_what_cannot_be_recorded_leaves_the_old_dataset(
    folder: Path, tmp_path: Path, row: dict[str, Any], reason: str
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match=reason):
        record([write(tmp_path / "bad.jsonl", device(), row)], folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_runs_of_one_day_and_part_are_numbered_and_share_what_is_set_aside(tmp_path: Path) -> None:
    open_tags = {"case": point()["tags"]["case"]}
    first = write(tmp_path / "a.jsonl", device(), point(tags=open_tags))
    second = write(tmp_path / "b.jsonl", device(), point())
    manifest = record([first, second], tmp_path / "set")
    assert [run.run for run in manifest.runs] == ["2026-01-02-00000000", "2026-01-02-00000000-2"]
    assert manifest.set_aside == {"random": 2}


def test_runs_put_behind_a_dataset_give_the_files_of_all_runs_at_once(tmp_path: Path) -> None:
    open_tags = {"case": point()["tags"]["case"]}
    first = write(tmp_path / "a.jsonl", device(), point(tags=open_tags))
    second = write(tmp_path / "b.jsonl", device(), point(when="2026-01-02T05:00:00Z"))
    record([first, second], tmp_path / "once" / "set")
    grown = tmp_path / "grown" / "set"
    record([first], grown)
    record([second], grown, onto=str(grown))
    for file in (tmp_path / "once" / "set").iterdir():
        assert (grown / file.name).read_bytes() == file.read_bytes(), file.name


def test_rows_that_a_dataset_has_are_refused(tmp_path: Path) -> None:
    rows = write(tmp_path / "a.jsonl", device(), point(when="2026-01-02T00:00:01"))
    record([rows], tmp_path / "set")
    before = {path.name: path.read_bytes() for path in (tmp_path / "set").iterdir()}
    with pytest.raises(InputError, match="in the dataset already"):
        record([rows], tmp_path / "set", onto=str(tmp_path / "set"))
    assert {path.name: path.read_bytes() for path in (tmp_path / "set").iterdir()} == before


@pytest.mark.parametrize("kind", ["file", "folder", "below a file"])
def test_what_is_no_dataset_is_not_replaced(tmp_path: Path, kind: str) -> None:
    rows, taken = write(tmp_path / "a.jsonl", device(), point()), tmp_path / "taken"
    if kind == "folder":
        taken.mkdir()
        (taken / "thesis.txt").write_text("years of work")
    else:
        taken.write_text("years of work")
    with pytest.raises(InputError, match="--out"):
        record([rows], taken / "set" if kind == "below a file" else taken)
    assert (taken / "thesis.txt" if kind == "folder" else taken).read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "taken"]


def test_counters_of_two_runs_belong_to_the_part_that_their_file_names(tmp_path: Path) -> None:
    runs = {"a": UUID, "b": "GPU-bbbbbbbb-1111-2222-3333-444444444444"}
    rows = [write(tmp_path / f"{name}.jsonl", device(part), point(uuid=part)) for name, part in runs.items()]
    first = point()
    counted = [
        write(
            tmp_path / f"counters_{name}.jsonl",
            device(part),
            {"row": "counters", "id": first["id"], "hash": first["hash"], "label": "p4",
             "counters": {"dram__bytes_read.sum": value}},
        )
        for value, (name, part) in enumerate(runs.items(), 64)
    ]  # fmt: skip
    record(rows, tmp_path / "set", counters=counted)
    found = {row.run: row.counters for row in load_dataset(str(tmp_path / "set")).counters}
    assert found == {
        "2026-01-02-00000000": {"dram__bytes_read.sum": 64},
        "2026-01-02-bbbbbbbb": {"dram__bytes_read.sum": 65},
    }
    with pytest.raises(InputError, match="points of one of the runs"):
        record(rows[:1], tmp_path / "set", counters=counted)


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write(tmp_path / "rows.jsonl", device(), point())
    assert main(["record", str(rows), "--out", str(tmp_path / "set")]) == 0
    assert "data verify" in capsys.readouterr().out
