"""A floorplan from what the probe found, for a part that the preset does not describe."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hoppersim.dataset import dataset_folder, tables
from hoppersim.errors import InputError
from hoppersim.machine.floorplan import load_floorplan
from hoppersim.machine.loading import load_machine
from hw_validate.cli import main
from hw_validate.fit.floorplan import Probe, make_floorplan, read_probe

FOLDER = dataset_folder()
RUN = "2026-11-30-70077900"


def test_the_floorplan_of_the_preset_is_found_again() -> None:
    plan, assumed = make_floorplan(read_probe(FOLDER, RUN))
    stated = load_machine("h200_sxm").floorplan.gpcs
    # GPC 0 has two CPCs, which only a probe of latencies tells.
    assert plan.gpcs[1:] == stated[1:]
    assert (plan.gpcs[0].tpcs, plan.gpcs[0].pairs_only) == (stated[0].tpcs, stated[0].pairs_only)
    assert assumed == []
    assert "CPCs are assumed" in plan.origin


def test_without_streams_lone_tpcs_and_sides_are_assumed_and_clusters_still_fit() -> None:
    probe = replace(read_probe(FOLDER / tables.FLOORPLANS, RUN), paces={})
    plan, assumed = make_floorplan(probe)
    assert len(assumed) == 2
    assert all(note in plan.origin for note in assumed)
    assert plan.sm_count == 132
    for size, count in probe.resident.items():
        assert sum(len(gpc.cluster_sms(size)) // size for gpc in plan.gpcs) == count


def test_rows_of_a_probe_are_read_and_the_file_loads(tmp_path: Path) -> None:
    rows = tmp_path / "probe.jsonl"
    groups = [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9]]
    found = {"row": "floorplan", "uuid": "GPU-1", "groups": groups, "resident": {"2": 5, "4": 2}}
    points = []
    for gpc, (pace, lone) in enumerate(((100, 40), (120, 119))):
        tags = {"experiment": "private_neighbours", "group": gpc, "lone": 2}
        cta = {"sm": [*groups[gpc], 8, 9], "cycles": [pace] * 4 + [lone] * 2}
        points.append({"row": "point", "status": "ok", "tags": tags, "flows": [{"cta": cta}]})
    rows.write_text("\n".join(map(json.dumps, [found, *points, [1], 2])))
    out = tmp_path / "mine.floorplan.toml"
    assert main(["calibrate", "--floorplan-only", str(rows), "--write", str(out)]) == 0
    plan = load_floorplan(out)
    assert [sorted(gpc.sms) for gpc in plan.gpcs] == [[0, 1, 4, 5], [2, 3, 6, 7, 8, 9]]
    assert [gpc.partition for gpc in plan.gpcs] == [0, 1]
    assert plan.origin.startswith("measured: GPU-1")


def test_it_is_printed_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--floorplan-only", str(FOLDER), "--run", RUN]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("name = ")
    assert shown.err == ""


def test_groups_that_leave_sms_out_are_refused() -> None:
    with pytest.raises(InputError, match="missing"):
        make_floorplan(Probe("GPU-1", [[0, 1, 2, 3], [6, 7, 8, 9]], {}))


@pytest.mark.parametrize("text", ["", "{}", '{"row": "floorplan", "error": "no"}', "[" * 5000])
def test_files_without_a_floorplan_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="floorplan probe"):
        read_probe(path)


def test_damaged_rows_and_unnamed_runs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"row": "floorplan", "groups": [[0, 1]], "resident": {"x": 1}}')
    with pytest.raises(InputError, match="whole"):
        read_probe(path)
    with pytest.raises(InputError, match=RUN):
        read_probe(FOLDER)
