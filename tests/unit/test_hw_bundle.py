"""Bundles: what they hold, and that the runner refuses a machine without a GPU in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import hw_validate
from hoppersim.program.canonical import work_hash
from hoppersim.program.cases import Case, build_case
from hoppersim.program.work import SmSet, Work
from hw_validate.bundle import Point, make_bundle
from hw_validate.cli import main
from hw_validate.lower import Options

RUNNER = Path(hw_validate.__file__).with_name("runner.py")
NO_GPU = {"LD_LIBRARY_PATH": "", "CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture
def works() -> list[Work]:
    """Three works, the last of which differs from the first in its launch only."""
    small = {"rows": 8, "iterations": 4}
    cases = (
        Case("unicast", **small),
        Case("multicast", 2, **small),
        Case("unicast", sms=SmSet((0,), 2), **small),
    )
    return [build_case(case) for case in cases]


def test_a_bundle_holds_every_point_once_with_its_work(works: list[Work], tmp_path: Path) -> None:
    points = [Point(work, f"p{number}") for number, work in enumerate([*works, works[0]])]
    plan = json.loads(make_bundle(points, tmp_path).read_text())
    assert [point["label"] for point in plan["points"]] == ["p0", "p1", "p2"]
    for point, work in zip(plan["points"], works, strict=True):
        assert msgspec.convert(point["work"], Work) == work
        assert point["hash"] == work_hash(work)
    for module in plan["modules"].values():
        assert (tmp_path / module["cubin"]).read_bytes()[:4] == b"\x7fELF"
        assert (tmp_path / module["source"]).exists()
    assert "probes" in plan["modules"]


def test_equal_kernels_are_compiled_once(tmp_path: Path) -> None:
    works = [build_case(Case("unicast", rows=8, iterations=4, grid=grid)) for grid in (1, 2)]
    points = [Point(work, "p", verify=False) for work in works]
    plan = json.loads(make_bundle(points, tmp_path).read_text())
    first, second = (point["flows"][0] for point in plan["points"])
    assert first["grid"] != second["grid"]
    assert len(plan["modules"]) == 3 or first["timed"] == second["timed"]


def test_another_lowering_is_another_point(works: list[Work]) -> None:
    assert Point(works[0], "a").id != Point(works[0], "a", options=Options(idle="parked")).id


def test_the_runner_refuses_a_machine_without_a_gpu_in_one_line(works: list[Work], tmp_path: Path) -> None:
    make_bundle([Point(works[0], "p", verify=False)], tmp_path)
    command = [sys.executable, str(RUNNER), str(tmp_path), str(tmp_path / "out.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, env=NO_GPU, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "no measurement" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_the_command_refuses_a_machine_without_a_gpu_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hw_validate", "run", "--out", str(tmp_path / "out.jsonl")]
    done = subprocess.run(
        command, capture_output=True, text=True, env=NO_GPU, check=False, cwd=RUNNER.parents[1]
    )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "--bundle-only" in done.stderr


def test_the_runner_side_imports_nothing_of_the_simulator() -> None:
    code = "import sys; import hw_validate.runner, hw_validate.counters; print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=RUNNER.parents[1]
    )
    loaded = done.stdout
    assert "'hoppersim" not in loaded
    assert "'msgspec'" not in loaded
    assert "'typer'" not in loaded


def test_flow_files_become_source_or_a_bundle(works: list[Work], tmp_path: Path) -> None:
    from hoppersim import save_work

    save_work(works[1], tmp_path / "flow.toml")
    assert main(["run", str(tmp_path / "flow.toml"), "--emit", str(tmp_path / "flow.cu")]) == 0
    assert "int main()" in (tmp_path / "flow.cu").read_text()
    folder = tmp_path / "bundle"
    assert main(["run", str(tmp_path / "flow.toml"), "--bundle-only", str(folder), "--repeats", "3"]) == 0
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["points"][0]["repeats"] == 3


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--repeats", "0", "--bundle-only", str(tmp_path)]) == 2
    assert main(["compare", str(tmp_path / "missing.jsonl")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 2
