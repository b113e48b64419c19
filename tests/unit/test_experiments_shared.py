"""What studies share: rows of cases, the model's error in words, and points that are legal and short."""

from __future__ import annotations

from types import ModuleType

import pytest

from hoppersim.dataset import ErrorSummary
from hoppersim.experiments import (
    cluster_scaling,
    multicast_vs_unicast,
    pipeline_depth,
    study,
    working_set,
)
from hoppersim.experiments.registry import study_names
from hoppersim.experiments.runner import run_study
from hoppersim.experiments.study import (
    MODE_NAMES,
    Column,
    against_silicon,
    case_row,
    model_error,
    within_error,
)
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.pool import MachineRequest
from hoppersim.program.case_spec import MODES, Case
from hoppersim.program.cases import build_case
from hoppersim.program.rules import check
from hoppersim.result.verdict import UNCALIBRATED_ERROR

STUDIES = (cluster_scaling, multicast_vs_unicast, pipeline_depth, working_set)
MOST_QUICK_LINES = 25e6
"""Line requests that a quick study may make in all: what two cores simulate in well under half a minute."""


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


@pytest.mark.parametrize("module", STUDIES, ids=lambda module: module.STUDY.name)
@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_every_point_is_legal_on_the_h200(module: ModuleType, quick: bool, h200: Machine) -> None:
    cases = {point.case for point in module.STUDY.points(h200, quick)}
    assert cases
    assert [case for case in cases if check(build_case(case), h200)] == []


@pytest.mark.parametrize("module", STUDIES, ids=lambda module: module.STUDY.name)
def test_quick_points_move_few_lines(module: ModuleType, h200: Machine) -> None:
    def lines(quick: bool) -> float:
        cases = [point.case for point in module.STUDY.points(h200, quick)]
        ways = len(MODES) - 1 if module is multicast_vs_unicast else 1
        return ways * sum(case.bytes_per_cta / 128 * (case.grid != "fill" or h200.sm_count) for case in cases)

    assert lines(quick=True) < min(MOST_QUICK_LINES, lines(quick=False) / 3)


def test_every_way_has_one_name() -> None:
    assert set(MODE_NAMES) == set(MODES)
    assert len(set(MODE_NAMES.values())) == len(MODES)


def test_studies_are_found_by_name() -> None:
    assert {module.STUDY.name for module in STUDIES} <= set(study_names())


SCORES = {
    "training": 0.3,
    "training: memory hbm": 0.4,
    "set aside": 0.2,
    "set aside: memory hbm": 0.1,
    "set aside: memory one": 0.5,
}


@pytest.mark.parametrize(
    ("scores", "kind", "error"),
    [
        (SCORES, "", 0.2),
        (SCORES, "memory hbm", 0.2),
        (SCORES, "memory one", 0.5),
        ({"training": 0.3, "training: memory hbm": 0.4}, "memory hbm", 0.4),
        ({}, "memory hbm", UNCALIBRATED_ERROR),
    ],
    ids=["all", "narrower kind", "wider kind", "training only", "no score"],
)
def test_the_models_error_is_the_wider_p90_of_the_best_score_there_is(
    scores: dict[str, float], kind: str, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = ErrorSummary(groups={name: {"p90": value} for name, value in scores.items()})
    monkeypatch.setattr(study, "error_summary", lambda: summary)
    assert model_error.__wrapped__(kind) == error


@pytest.mark.parametrize(("ratio", "within"), [(1.05, True), (0.95, True), (1.2, False), (0.8, False)])
def test_a_ratio_within_the_error_says_so_on_both_sides(ratio: float, within: bool) -> None:
    assert bool(within_error(ratio, {"model_error": 0.1})) is within


def test_silicon_counts_each_work_once_and_says_nothing_without_any() -> None:
    row = {"work_hash": "a", "cycles": 110.0, "silicon_cycles": 100.0}
    other = {"work_hash": "b", "cycles": 50.0, "silicon_cycles": 100.0}
    (text,) = against_silicon([row, row, other, {"work_hash": "c", "cycles": 1.0, "silicon_cycles": None}])
    assert "at 2 of these points" in text
    assert "by -100% at worst" in text
    assert against_silicon([row | {"silicon_cycles": None}]) == []


def test_a_run_much_shorter_than_the_measured_one_says_so() -> None:
    row = {"work_hash": "a", "cycles": 110.0, "silicon_cycles": 100.0, "silicon_iterations": 64}
    (text,) = against_silicon([row | {"iterations": 8}, row | {"iterations": 32}])
    assert "1 of them run as few as 8 iterations beside measured ones of 64" in text
    (text,) = against_silicon([row | {"iterations": 16}])
    assert "as few as" not in text


def test_a_time_in_proportion_from_other_iterations_is_marked() -> None:
    column = Column("silicon_cycles", "H200 cycles", ",.0f")
    row = {"work_hash": "a", "cycles": 110.0, "silicon_cycles": 100.0, "silicon_iterations": 64}
    assert column.text(row | {"iterations": 16}) == "~100"
    assert column.text(row | {"iterations": 64}) == "100"
    (text,) = against_silicon([row | {"iterations": 16}])
    assert text.endswith("A time behind ~ is in proportion from another number of iterations.")
    (text,) = against_silicon([row | {"iterations": 64}])
    assert "~" not in text


def test_a_small_machine_has_no_silicon_beside_it(tiny: Machine) -> None:
    row = case_row(tiny, Case("multicast", cluster=2, rows=256, iterations=2, pattern="sweep"))
    assert row["status"] == "ok"
    assert row["silicon_cycles"] is None
    assert row["way"] == MODE_NAMES["multicast"]


def test_the_h200_has_silicon_where_the_dataset_has_the_case(h200: Machine) -> None:
    row = case_row(h200, Case("unicast", cluster=2, rows=256, iterations=2, pattern="sweep"))
    assert row["silicon_cycles"] > 0
    assert case_row(h200, Case("unicast", cluster=2, rows=40, iterations=2))["silicon_cycles"] is None


def test_a_message_names_a_row_by_its_group_and_its_keys() -> None:
    scaling = cluster_scaling.STUDY
    row = {"table": "clusters, L2-resident", "way": MODE_NAMES["unicast"], "cluster": 16, "ring": "4 x 1"}
    assert scaling.row_name(row) == (
        "view clusters, L2-resident, way unicast, shared tile, CTAs 16, stages x boxes 4 x 1"
    )


@pytest.mark.parametrize("module", STUDIES[1:], ids=lambda module: module.STUDY.name)
def test_rows_do_not_depend_on_the_number_of_processes(module: ModuleType, tiny: Machine) -> None:
    request, points = MachineRequest("tiny"), module.STUDY.points(tiny, True)[:2]
    rows = run_study(module.STUDY, request, points, jobs=1)
    assert rows == run_study(module.STUDY, request, points, jobs=2)
    assert all(row["status"] == "ok" for row in rows)
