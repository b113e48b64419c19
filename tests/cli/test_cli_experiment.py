"""The cluster-scaling study, on the small machine."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from hoppersim.experiments.cluster_scaling import STUDY
from hoppersim.experiments.registry import find_study, study_names
from hoppersim.machine.machine import Machine

FILES = ("cluster_scaling.json", "cluster_scaling.csv", "cluster_scaling.png", "cluster_scaling.svg")


def test_list_names_every_study(cli) -> None:
    outcome = cli("experiment", "list")
    assert all(name in outcome.out for name in study_names())
    assert find_study("cluster_scaling") is STUDY


def test_quick_study_prints_table_finding_and_writes_whole_files(cli, tmp_path: Path) -> None:
    outcome = cli("experiment", "cluster_scaling", "--quick", "--preset", "tiny", "--jobs", "1")
    assert outcome.code == 0
    assert "limited by" in outcome.out
    assert "* L2-resident: multicast gains most in clusters of" in outcome.out
    folder = tmp_path / "out" / "cluster_scaling"
    assert sorted(item.name for item in folder.iterdir()) == sorted(FILES)
    document = json.loads((folder / FILES[0]).read_text())
    with (folder / FILES[1]).open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == len(document["rows"]) == len(STUDY.points(None, True))
    assert (folder / FILES[2]).read_bytes().endswith(b"IEND\xaeB`\x82")
    assert (folder / FILES[3]).read_text().rstrip().endswith("</svg>")


def test_every_cta_receives_the_same_bytes_at_every_point(tiny: Machine) -> None:
    points = STUDY.points(tiny, True)
    assert len({point.case.bytes_per_cta for point in points}) == 1


def test_a_cluster_that_does_not_fit_is_a_row_that_says_so(tiny: Machine) -> None:
    (point,) = (
        point
        for point in STUDY.points(tiny, True)
        if (point.case.mode, point.case.cluster, point.case.memory) == ("multicast", 16, "l2")
    )
    row = STUDY.measure(tiny, point)
    assert row["cycles"] is None
    assert "launch.cluster" in row["status"]
