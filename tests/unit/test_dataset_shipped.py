"""The dataset that ships: complete, small, and in step with the plans and the README."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hoppersim.dataset import (
    dataset_folder,
    dataset_names,
    error_summary,
    floorplans,
    kernels,
    load_dataset,
    measured_cycles,
    per_sm,
    verify_dataset,
)
from hoppersim.dataset.tables import pack, points_text, read_points, unpack
from hoppersim.dataset.verify import private_text
from hoppersim.errors import EXIT_VIOLATIONS, InputError
from hw_validate.compare_blocks import BLOCKS, present_blocks
from hw_validate.works import PLANS, planned_works, works_of

ROOT = Path(__file__).resolve().parents[2]
DATASET = load_dataset()


def test_the_dataset_verifies_and_is_small() -> None:
    found = verify_dataset()
    assert found.problems == []
    assert found.size < 6_000_000
    assert found.rebuilt > 1000


def test_every_work_is_built_again_with_its_hash() -> None:
    assert set(works_of(DATASET.points)) == {point.hash for point in DATASET.points}


def test_what_is_set_aside_is_what_the_plans_set_aside() -> None:
    from hw_validate.plans.dataset import points

    planned = {point.id: point.tags["set_aside"] for point in points()}
    recorded = {p.id: p.set_aside for p in DATASET.points if p.id in planned}
    assert recorded == planned
    assert {point.plan for point in DATASET.points} <= {*PLANS, "cases"}
    assert all(item.plan in PLANS for item in planned_works().values())


def test_there_are_as_many_points_and_counters_as_asked_for() -> None:
    first = [p for p in DATASET.finished() if p.run == DATASET.manifest.runs[0].run]
    assert len(first) >= 400
    assert len(DATASET.counters) >= 60
    planned = [point for point in first if point.plan == "dataset"]
    assert sum(bool(point.set_aside) for point in planned) >= len(planned) / 3


def test_measured_times_are_found_by_the_hash_of_the_work() -> None:
    cycles = measured_cycles()
    point = next(point for point in DATASET.finished() if point.lowering_is_default)
    assert cycles[point.hash] == point.cycles
    assert "0" * 64 not in cycles
    assert min(cycles.values()) > 0


def test_times_by_sm_and_floorplans_are_there_for_every_run() -> None:
    runs = {run.run for run in DATASET.manifest.runs}
    assert set(per_sm()) == set(floorplans()) == runs
    assert all("pair_latency" in plan for plan in floorplans().values())


def test_points_survive_being_written() -> None:
    some = DATASET.points[:50]
    assert read_points(points_text(some)) == some
    assert unpack(pack({"a": [1, 2]})) == {"a": [1, 2]}
    assert pack([1]) == pack([1])


def test_a_damaged_line_is_named() -> None:
    with pytest.raises(InputError, match=r"points\.csv:2"):
        read_points("run,id,label,hash,plan,tags,status\nr,i,l,h,p,{,ok\n")
    with pytest.raises(InputError, match="label"):
        read_points("run,id\nr,i\n")


def test_an_unknown_dataset_names_those_that_exist() -> None:
    assert dataset_names() == ["h200"]
    with pytest.raises(InputError, match="h200"):
        load_dataset("h300")


@pytest.mark.parametrize("text", ["in /usr/lib/x.so", "C:\\temp", "user@host.example"])
def test_paths_and_addresses_are_seen(text: str) -> None:
    assert private_text(text)
    assert private_text("bytes/cycle, 719> (719), a/b: cuStreamQuery") is None


def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(dataset_folder(), tmp_path / "copy"))


def test_verify_sees_a_changed_table(cli, tmp_path: Path) -> None:
    folder = copy(tmp_path)
    table = folder / "points.csv"
    lines = table.read_text().splitlines()
    changed = lines[1].replace(",ok,,", ",ok,,9", 1)
    table.write_text("\n".join([lines[0], changed, *lines[2:-1]]) + "\n")
    (folder / "stray.txt").write_text("")
    outcome = cli("data", "verify", str(folder))
    assert outcome.code == EXIT_VIOLATIONS
    for part in ("SHA-256", "rows", "stray.txt", "do not follow from its repeats"):
        assert part in outcome.out


def test_verify_sees_tags_of_another_work(tmp_path: Path) -> None:
    folder = copy(tmp_path)
    table = folder / "points.csv"
    table.write_text(table.read_text().replace('""iterations"":256', '""iterations"":255', 1))
    assert any("another work" in problem for problem in verify_dataset(str(folder)).problems)


def test_show_and_verify_work_offline(cli) -> None:
    shown = cli("data", "show")
    assert shown.code == 0
    assert "set aside" in shown.out
    assert DATASET.manifest.runs[0].run in shown.out
    rows = [line for line in shown.out.splitlines() if line.startswith("│")]
    runs, plans = DATASET.manifest.runs, {plan for run in DATASET.manifest.runs for plan in run.plans}
    assert len(rows) == len(runs) + len(plans), "in a pipe no row of a table is broken"
    assert json.loads(cli("data", "show", "--json").out)["manifest"]["name"] == "h200"
    assert cli("data", "verify").code == 0
    for command in ("show", "verify"):
        assert f"hoppersim data {command}" in cli("data", command, "--help").out


@pytest.mark.parametrize("path", ["README.md", "docs/calibration.md", "docs/deviations.md"])
def test_generated_blocks_say_what_dataset_and_error_summary_say(path: str) -> None:
    for name, text in present_blocks(ROOT / path).items():
        assert text == BLOCKS[name](DATASET, error_summary())


def test_instruction_counts_are_kept_for_the_kernels_of_the_main_run() -> None:
    compiled = kernels()
    first = DATASET.manifest.runs[0].run
    used = {point.kernel for point in DATASET.finished() if point.run == first}
    assert used <= set(compiled)
    assert all(found["sass"].get("EXIT", 0) > 0 and found["registers"] > 0 for found in compiled.values())
