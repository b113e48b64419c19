"""The example studies answer their questions, here with few points and short runs."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hoppersim import load_sweep, run_sweep
from hoppersim.sweep.figures import DERIVED, KNOWN, MEASURED
from hoppersim.sweep.plan import plan_sweep
from hoppersim.sweep.study import Sweep

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
STUDIES = sorted(path.stem for path in EXPERIMENTS.glob("*.toml"))


def example(name: str, case: dict[str, Any], **changes: Any) -> tuple[Any, Sweep]:
    """Give the function that writes an example's answer, and its study made small."""
    study = load_sweep(EXPERIMENTS / f"{name}.toml")
    report = runpy.run_path(str(EXPERIMENTS / f"{name}.py"))["report"]
    axes = study.axes | changes.pop("axes", {})
    return report, replace(study, case={**study.case, **case}, axes=axes, **changes)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_file_is_legal_as_it_stands(name: str) -> None:
    plan = plan_sweep(load_sweep(EXPERIMENTS / f"{name}.toml"))
    assert plan.sweep.question
    assert len(plan.runnable) >= 12
    assert (EXPERIMENTS / f"{name}.py").is_file()


def test_a_wide_enough_port_makes_up_for_multicast_only_if_the_slices_follow() -> None:
    axes = {"xbar.gpc_bytes_per_cycle": [400, 2300]}
    report, study = example("gpc_port_width", {"iterations": 3}, axes=axes)
    done = run_sweep(study)
    lines = report(done)
    gain = {
        (row["l2.slice_bytes_per_l2_cycle"], row["xbar.gpc_bytes_per_cycle"]): row["speedup"]
        for row in done.rows
        if row["mode"] == "multicast"
    }
    assert gain[256, 2300] < gain[256, 400]
    assert gain[64, 2300] > gain[256, 2300]
    assert lines[-2].startswith("L2 slices of 64 B a cycle: no port")


def test_bandwidth_grows_with_stacks_where_there_are_slices_to_pass_it_on() -> None:
    few = {"linked": ({"hbm.channels": [16, 48], "hbm.bytes_per_second": [1.6e12, 4.8e12]},)}
    axes = {"l2.slices": [16, 94]}
    report, study = example("l2_slices_hbm_stacks", {"iterations": 2}, axes=axes, **few)
    hbm, l2 = run_sweep(study), run_sweep(replace(study, case={**study.case, "memory": "l2"}))
    rates = [
        {(row["hbm.channels"], row["l2.slices"]): row["tb_per_second"] for row in done.rows}
        for done in (hbm, l2)
    ]
    assert rates[0][48, 94] > 1.5 * rates[0][16, 94]
    assert rates[0][48, 94] > 1.5 * rates[0][48, 16]
    assert rates[1][48, 94] > 1.5 * rates[1][48, 16]
    lines = report(hbm, l2)
    assert any(line.startswith("6 stacks: 94 slices pass on all") for line in lines)
    assert lines[-1].startswith("Tiles in the L2 gain from up to 94 slices")


def test_a_limit_of_shared_memory_leaves_the_stages_that_fit() -> None:
    axes = {"cluster": [1, 4], "stages": [1, 6, 7]}
    report, study = example("cluster_stages_smem", {"iterations": 6}, axes=axes)
    done = run_sweep(study)
    assert [row["status"] for row in done.rows] == ["ok", "ok", "outside"] * 2
    assert all(row["ring_bytes"] <= 96 * 1024 for row in done.pareto)
    assert report(done)[-2].startswith("Best: clusters of 4 with 6 stages")


DOCS = (EXPERIMENTS.parent / "docs" / "sweeps.md").read_text(encoding="utf-8")


def test_the_documented_study_is_legal(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", DOCS, re.DOTALL)
    (tmp_path / "study.toml").write_text(text)
    plan = plan_sweep(load_sweep(tmp_path / "study.toml"))
    assert len(plan.points) == 3 * 2 * 2 * 3 * 3


def test_the_documented_script_runs_as_written() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("cycles is best at stages = ")


def test_every_column_is_documented_with_its_unit() -> None:
    for name, figure in (MEASURED | KNOWN | DERIVED).items():
        assert f"| `{name}` | {figure.unit or '-'} | {figure.meaning} |\n" in DOCS
