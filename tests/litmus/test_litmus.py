"""Every litmus flow gets its verdict, with the names of those to blame."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hoppersim.engine.output import RunOutput
from hoppersim.engine.simulate import simulate_raw
from hoppersim.machine import Machine, floorplan_from_groups, load_machine, resident
from hoppersim.program.files import load_work
from hoppersim.program.rules import Violation, check
from hoppersim.program.work import Work
from hoppersim.result.hang import report_hang

FILES = sorted(Path(__file__).parent.glob("*.toml"))
VERDICTS = ("ok", "hang", "race", "illegal")


@dataclass(frozen=True)
class Case:
    """A flow on its machine: what the checks say, and the run where there is one."""

    about: dict[str, Any]
    machine: Machine
    work: Work
    violations: list[Violation]
    output: RunOutput | None


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def case(request: pytest.FixtureRequest) -> Case:
    about = tomllib.loads(request.param.read_text(encoding="utf-8"))["about"]
    machine, work = load_machine(about.get("machine", "tiny")), load_work(request.param)
    # What the rules refuse is simulated all the same: the report must find what the rules may miss.
    fabric = "compiled" if "machine" in about else "reference"
    output = None if about["verdict"] == "illegal" else simulate_raw(machine, work, fabric)
    return Case(about, machine, work, check(work, machine), output)


def test_every_row_about_hangs_races_and_legality_has_a_flow() -> None:
    rows = {tomllib.loads(path.read_text(encoding="utf-8"))["about"]["row"] for path in FILES}
    assert {f"L{number}" for number in (1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13, 15, 17, 18, 19)} <= rows


def test_the_notes_say_what_is_required_and_why(case: Case) -> None:
    assert case.about["verdict"] in VERDICTS
    for note in ("what", "source", "silicon"):
        assert case.about[note]


def test_the_run_ends_as_required(case: Case) -> None:
    if case.output is None:
        assert case.violations
        return
    verdict = "hang" if case.output.hung else "race" if case.output.findings else "ok"
    assert verdict == case.about["verdict"], case.output.hazards


def test_the_findings_are_those_required(case: Case) -> None:
    found = {finding.code for finding in case.output.findings} if case.output else set()
    assert set(case.about.get("findings", ())) <= found
    if case.about["verdict"] == "ok":
        assert found == set()


def test_the_rules_find_what_they_can_find(case: Case) -> None:
    assert {violation.code for violation in case.violations} == set(case.about.get("violations", ()))


def test_the_report_names_those_to_blame_and_the_fix(case: Case) -> None:
    text = "\n".join(str(violation) for violation in case.violations)
    if case.output is not None:
        text += "\n".join(case.output.hazards)
        if case.output.hung:
            text += report_hang(case.machine, case.work, case.output).text()
    missing = [name for name in case.about["names"] if name not in text]
    assert not missing, text


def _flow(name: str) -> tuple[dict[str, Any], Work]:
    path = Path(__file__).with_name(f"{name}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))["about"], load_work(path)


def test_clusters_of_eight_strand_sms_by_the_sizes_of_the_gpcs() -> None:
    about, work = _flow("l18_cluster_of_eight")
    program, size = work.flows[0].program, work.flows[0].launch.cluster_size
    for sizes, clusters, idle in zip(about["gpcs"], about["clusters"], about["idle_sms"], strict=True):
        starts = [sum(sizes[:number]) for number in range(len(sizes))]
        groups = [list(range(start, start + count)) for start, count in zip(starts, sizes, strict=True)]
        plan = floorplan_from_groups(groups, [0, 1] * 4, "assumed: a part of 132 SMs")
        machine = load_machine("h200_sxm", floorplan=plan)
        placement = resident(machine, size, program.shared_bytes, program.threads)
        assert (placement.max_active_clusters, len(placement.stranded)) == (clusters, idle)


def test_clusters_of_sixteen_are_refused_where_no_gpc_holds_them(tiny: Machine) -> None:
    _, work = _flow("l19_cluster_of_sixteen")
    refused = check(work, tiny)
    assert {violation.code for violation in refused} >= {"HS-LA-001"}
    assert all(violation.nearest is not None for violation in refused)


def test_six_broken_maps_are_reported_at_once() -> None:
    about, work = _flow("l17_tensor_maps")
    assert [violation.code for violation in check(work)] == about["violations"]
