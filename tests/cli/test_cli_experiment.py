"""Studies on the command line, on the small machine."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from hoppersim.experiments.cluster_scaling import STUDY
from hoppersim.experiments.registry import find_study, study_names
from hoppersim.experiments.study import MODE_NAMES
from hoppersim.machine.machine import Machine

ENDINGS = ("csv", "json", "parquet", "png", "svg")
FIRST_WORDS = {
    "cluster_scaling": "* L2-resident: multicast gains most in clusters of",
    "multicast_vs_unicast": f"* L2-resident: {MODE_NAMES['multicast']}, against",
    "pipeline_depth": "* one SM, L2-resident: the peak is",
}


def test_list_names_every_study(cli) -> None:
    outcome = cli("experiment", "list")
    assert all(name in outcome.out for name in study_names())
    assert find_study("cluster_scaling") is STUDY


@pytest.mark.parametrize("name", FIRST_WORDS)
def test_quick_study_prints_table_finding_and_writes_whole_files(name: str, cli, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    outcome = cli("experiment", name, "--quick", "--preset", "tiny", "--jobs", "1")
    assert outcome.code == 0
    assert FIRST_WORDS[name] in outcome.out
    # Its clusters of 8 and more do not fit the small machine; rings do.
    assert ("left out: " in outcome.out) is (name != "pipeline_depth")
    folder = tmp_path / "out" / name
    assert sorted(item.name for item in folder.iterdir()) == [f"{name}.{ending}" for ending in ENDINGS]
    assert "No Parquet file" not in outcome.out
    document = json.loads((folder / f"{name}.json").read_text())
    with (folder / f"{name}.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == len(document["rows"]) > 0
    assert parquet.read_table(folder / f"{name}.parquet").to_pylist() == document["rows"]
    assert (folder / f"{name}.png").read_bytes().endswith(b"IEND\xaeB`\x82")
    assert (folder / f"{name}.svg").read_text().rstrip().endswith("</svg>")


def test_without_its_package_no_parquet_is_written_and_one_line_says_so(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoppersim.result.table_files.has_parquet", lambda: False)
    outcome = cli("experiment", "pipeline_depth", "--quick", "--preset", "tiny", "--jobs", "1")
    assert outcome.code == 0
    assert outcome.out.count("No Parquet file without its package: pip install 'hoppersim[parquet]'") == 1
    assert {item.suffix for item in (tmp_path / "out" / "pipeline_depth").iterdir()} == {
        ".csv",
        ".json",
        ".png",
        ".svg",
    }


def test_a_file_in_the_place_of_the_folder_is_refused_before_the_run(cli, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    outcome = cli("experiment", "cluster_scaling", "--quick", "--out", "taken")
    assert outcome.code == 2
    assert "must be a folder" in outcome.err
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_cluster_that_does_not_fit_is_a_row_that_says_so(tiny: Machine) -> None:
    (point,) = (
        point
        for point in STUDY.points(tiny, True)
        if (point.case.mode, point.case.cluster, point.case.memory) == ("multicast", 16, "l2")
    )
    row = STUDY.measure(tiny, point)
    assert row["cycles"] is None
    assert "launch.cluster" in row["status"]
