"""A study that asks for what does not exist or is illegal: one error with field, value, rule and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoppersim.errors import InputError
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.files import save_work
from hoppersim.sweep.files import load_sweep
from hoppersim.sweep.plan import plan_sweep
from hoppersim.sweep.study import Sweep

BASE = """
preset = "tiny"
{top}
[case]
mode = "unicast"
{case}
[axes]
stages = [1, 2]
{axes}
"""
TABLES = {"top": "", "case": "", "axes": ""}

BAD = {
    "no such field": ({"top": 'axis = "x"'}, "axis", "field of a study", "axes"),
    "no such preset": ({"top": "[set]\nlrc.enable = 0"}, "set.lrc.enable", "no parameter", "lrc.enabled"),
    "illegal number": ({"top": "[set]\nlrc.enabled = 3"}, "set.lrc.enabled", "at most 1", 1),
    "case in set": ({"top": "[set]\nrows = 3"}, "set.rows", "no number of the machine", None),
    "no such field of a case": ({"case": "clusters = 2"}, "case.clusters", "no field of a case", "cluster"),
    "illegal field of a case": (
        {"case": "rows = 300"},
        "case.rows",
        "1 to 256",
        "150 with boxes = 2, the same bytes",
    ),
    "wrong type": ({"case": 'rows = "many"'}, "case.rows", "expected int", None),
    "no such parameter": (
        {"axes": "xbar.gpc_bytes = [1]"},
        "axes.xbar.gpc_bytes",
        "no parameter",
        "xbar.gpc_bytes_per_cycle",
    ),
    "illegal value of an axis": ({"axes": "cluster = [2, 17]"}, "axes.cluster", "1 to 16", 16),
    "no such mode": ({"axes": 'mode = ["multcast"]'}, "axes.mode", "must be", "multicast"),
    "fraction of a slice": ({"axes": "l2.slices = [4.5]"}, "axes.l2.slices", "whole number", 4),
    "empty axis": ({"axes": "rows = []"}, "axes.rows", "at least one value", None),
    "value twice": ({"axes": "rows = [8, 8]"}, "axes.rows", "twice", None),
    "no list": ({"axes": "rows = 8"}, "axes.rows", "list of values", "[8]"),
    "range turned round": ({"axes": "rows = {from = 8, to = 4}"}, "axes.rows.to", "below from", 8),
    "two paces": (
        {"axes": "rows = {from = 1, to = 4, step = 1, count = 2}"},
        "axes.rows",
        "one pace",
        "step",
    ),
    "step of zero": ({"axes": "rows = {from = 1, to = 4, step = 0}"}, "axes.rows.step", "above 0", 1),
    "too many points": (
        {"axes": "compute = {from = 1, to = 1000}\nreads = {from = 1, to = 1000}"},
        "axes",
        "too many points",
        "100,000 points",
    ),
    "varied twice": ({"top": "linked = [{stages = [1, 2]}]"}, "axes", "varied once", None),
    "uneven link": (
        {"top": "linked = [{rows = [8, 16], cluster = [1]}]"},
        "linked[0].cluster",
        "as many values as rows",
        2,
    ),
    "draw of two kinds": (
        {"top": "[random]\ncount = 1\naxes.rows = {uniform = [1, 2], log = [1, 2]}"},
        "random.axes.rows",
        "one way",
        "uniform = [low, high]",
    ),
    "draw out of range": (
        {"top": "[random]\ncount = 1\naxes.rows = {uniform = [1, 999]}"},
        "random.axes.rows",
        "1 to 256",
        256,
    ),
    "no samples": ({"top": "[random]\ncount = 0\naxes.rows = {uniform = [1, 2]}"}, "random.count", "1 to", 1),
    "seed as text": (
        {"top": '[random]\ncount = 1\nseed = "x"\naxes.rows = {choice = [1]}'},
        "random.seed",
        "expected int",
        None,
    ),
    "no such column": ({"top": 'columns = ["cycle"]'}, "columns.cycle", "no column", "cycles"),
    "no such objective": ({"top": '[objectives]\ntime = "min"'}, "objectives.time", "no column", None),
    "objective without numbers": (
        {"top": '[objectives]\nlimiter = "min"'},
        "objectives.limiter",
        "column of numbers",
        "cycles",
    ),
    "no such aim": ({"top": '[objectives]\ncycles = "less"'}, "objectives", "less", None),
    "limit without end": ({"top": "[limits.ring_bytes]"}, "limits.ring_bytes", "needs min", None),
    "limit turned round": (
        {"top": "[limits]\nring_bytes = {min = 9, max = 2}"},
        "limits.ring_bytes.max",
        "below min",
        9,
    ),
    "limit that is no size": (
        {"top": '[limits]\nring_bytes = {max = "much"}'},
        "limits.ring_bytes.max",
        "number in B",
        None,
    ),
    "baseline that is not varied": ({"top": "[against]\nrows = 64"}, "against.rows", "varies", None),
    "baseline that is not tried": ({"top": "[against]\nstages = 4"}, "against.stages", "tries: 1, 2", None),
    "limit of cycles": ({"top": "max_cycles = 0"}, "max_cycles", "at least 1", 1),
    "name of a file": ({"top": 'name = "a/b"'}, "name", "names files", "a_b"),
    "nothing can run": ({"case": 'memory = "hbm"'}, "study", "none of them can run", None),
    "case and flow": ({"top": 'flow = "flow.toml"'}, "flow", "not both", "no case"),
}


def study_file(folder: Path, **parts: str) -> Path:
    path = folder / "study.toml"
    path.write_text(BASE.format(**(TABLES | parts)))
    return path


@pytest.mark.parametrize("name", BAD)
def test_a_bad_study_is_one_error_that_names_field_rule_and_nearest(name: str, tmp_path: Path) -> None:
    parts, field, rule, nearest = BAD[name]
    with pytest.raises(InputError) as caught:
        plan_sweep(load_sweep(study_file(tmp_path, **parts)))
    assert field in caught.value.field
    assert rule in caught.value.rule
    if nearest is not None:
        assert caught.value.nearest == nearest


@pytest.mark.parametrize(
    "text",
    [
        "axes = [",
        "\x00",
        "[axes]\nstages = [1",
        f"max_cycles = {'9' * 5000}",
        f"x = {'[' * 20_000}{']' * 20_000}",
    ],
)
def test_a_file_that_is_no_toml_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(InputError, match="readable TOML"):
        load_sweep(tmp_path / "study.toml")


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    study_file(tmp_path)
    with pytest.raises(InputError, match=r"studi\.toml.*nearest legal value: .*study\.toml"):
        load_sweep(tmp_path / "studi.toml")


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"axes": {"stages": [1]}}, "needs a base"),
        ({"case": Case("unicast")}, "varies at least one"),
        ({"case": {"cluster": 2}, "axes": {"stages": [1]}}, "mode"),
        ({"case": Case("unicast"), "axes": {"stages": [object()]}}, "plain values"),
    ],
)
def test_a_study_made_in_python_is_checked_alike(fields: dict, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        plan_sweep(Sweep("study", preset="tiny", **fields))


def test_a_study_file_and_its_twin_in_python_plan_the_same_points(tmp_path: Path) -> None:
    read = load_sweep(study_file(tmp_path, case="cluster = 2", axes="xbar.gpc_bytes_per_cycle = [80, 160]"))
    made = Sweep(
        "study",
        preset="tiny",
        case=Case("unicast", cluster=2),
        axes={"stages": (1, 2), "xbar.gpc_bytes_per_cycle": [80, 160]},
    )
    assert plan_sweep(read).points == plan_sweep(made).points


def test_files_that_a_study_names_lie_beside_it(tmp_path: Path) -> None:
    save_work(build_case(Case("unicast", iterations=2)), tmp_path / "flow.toml")
    text = 'preset = "tiny"\nflow = "flow.toml"\n[axes]\n"flows[0].launch.seed" = [0, 1]\n'
    (tmp_path / "study.toml").write_text(text)
    plan = plan_sweep(load_sweep(tmp_path / "study.toml"))
    assert [point.work.flows[0].launch.seed for point in plan.points if point.work] == [0, 1]


@pytest.mark.parametrize(
    ("path", "field"),
    [("flows[0].launch.sed", "sed"), ("flows[3].launch.seed", "flows"), ("flows[0].program.name.x", "flows")],
)
def test_a_path_that_leads_nowhere_in_a_flow_file_is_an_error(path: str, field: str, tmp_path: Path) -> None:
    save_work(build_case(Case("unicast", iterations=2)), tmp_path / "flow.toml")
    with pytest.raises(InputError) as caught:
        plan_sweep(Sweep("study", preset="tiny", flow=str(tmp_path / "flow.toml"), axes={path: [1]}))
    assert field in caught.value.field


def test_what_cannot_run_together_is_planned_as_refused_with_its_reason() -> None:
    plan = plan_sweep(Sweep("s", preset="tiny", case=Case("multicast"), axes={"cluster": [2, 16]}))
    assert [point.status for point in plan.points] == ["", "refused"]
    assert "HS-LA-001" in plan.points[1].reason


def test_a_limit_that_is_known_before_keeps_a_point_from_being_simulated() -> None:
    sweep = Sweep(
        "s",
        preset="tiny",
        case=Case("unicast", rows=64),
        axes={"stages": [1, 2, 3]},
        limits={"ring_bytes": {"max": "16KB"}},
    )
    plan = plan_sweep(sweep)
    assert [point.status for point in plan.points] == ["", "", "outside"]
    assert "ring_bytes = 24,576 lies above the limit of 16,384" in plan.points[2].reason
