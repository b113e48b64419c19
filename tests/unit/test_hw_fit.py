"""Calibration: what a fit may read, what each kind of step finds, and what it writes."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace as with_fields
from numpy.typing import NDArray

import hw_validate.fit.command as command
from hoppersim.dataset import dataset_folder, floorplans, load_dataset, tables
from hoppersim.errors import InputError
from hoppersim.machine.floorplan import Floorplan, Gpc
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.pool import MachineRequest, machine_for
from hoppersim.program.case_spec import Case
from hw_validate.bench import Bench, OnPoint, Simulated, Task
from hw_validate.cli import main
from hw_validate.fit.calibration import Calibration, calibrate
from hw_validate.fit.least import LeastSquares, Parameter
from hw_validate.fit.outcome import Context, Estimate, Outcome
from hw_validate.fit.pair_table import PairTable, by_analogy, make_table, solve
from hw_validate.fit.residuals import Probe, Residuals
from hw_validate.fit.slopes import Slopes
from hw_validate.fit.spread import Spread
from hw_validate.fit.training import FAMILIES, SetAsideError, Training
from hw_validate.fit.writing import fitted_machine, provisional_left, write_machine
from hw_validate.pair_latency import is_fitted, network_trips, pair_score
from hw_validate.plans.dataset import aside_of

RUN = "2026-11-30-70077900"
PORT = LeastSquares(
    "gpc_port",
    "the port of a GPC, from points that their tags rebuild",
    (Parameter(("xbar.gpc_bytes_per_cycle",), 200, 2000),),
    (Probe({"experiment": "gpc_port", "group": 1}, 6),),
)
PORT_RUN = load_dataset().manifest.runs[0].run


class LinearBench(Bench):
    """Answers without simulating: the larger the rate of the port, the shorter the measured time."""

    def run(self, tasks: Sequence[Task], on_point: OnPoint | None = None) -> list[Simulated]:
        """Give a time that is right at 500 B/cycle."""
        rates = [machine_for(task.request).spec.xbar.gpc_bytes_per_cycle for task in tasks]
        times = (task.item.measured * 500 / rate for task, rate in zip(tasks, rates, strict=True))
        return [Simulated(time, time) for time in times]


def context(training: Training, folder: Path, **changes: Any) -> Context:
    return replace(Context(training, MachineRequest(), LinearBench(), folder), **changes)


@pytest.fixture(scope="module")
def training() -> Training:
    return Training(load_dataset(), "h200")


def poisoned(folder: Path) -> Training:
    """Copy the dataset with nonsense in everything that is set aside."""
    shutil.copytree(dataset_folder(), folder)
    dataset = load_dataset()
    aside = {point.hash for point in dataset.points if point.set_aside}
    points = [
        with_fields(point, cycles=7 * (point.cycles or 0) + 1, spread=0.0, tags={**point.tags, "cluster": 2})
        if point.hash in aside
        else point
        for point in dataset.points
    ]
    (folder / tables.POINTS).write_text(tables.points_text(points))
    counters = [
        with_fields(row, counters=dict.fromkeys(row.counters, 1.0)) if row.hash in aside else row
        for row in dataset.counters
    ]
    (folder / tables.COUNTERS).write_text(tables.counters_text(counters))
    plans = tables.unpack((folder / tables.FLOORPLANS).read_bytes())
    for cluster in plans[RUN]["pair_latency"]["clusters"]:
        for row, one in enumerate(cluster["sms"]):
            for column, other in enumerate(cluster["sms"]):
                if one != other and not is_fitted(one, other):
                    cluster["cycles"][row][column] += 500 + 10 * row * column
    (folder / tables.FLOORPLANS).write_bytes(tables.pack(plans))
    return Training(load_dataset(str(folder)), str(folder))


def test_what_is_set_aside_changes_no_fit(tmp_path: Path, training: Training, monkeypatch) -> None:
    other = poisoned(tmp_path / "poisoned")
    steps = (Slopes(), PairTable(), PORT)
    pushes = LeastSquares("port", "", PORT.parameters, (Probe({"dsmem": "push"}),))

    def found(data: Training) -> tuple[Outcome, ...]:
        return calibrate([*steps, pushes], context(data, tmp_path)).outcomes

    assert all(outcome.estimates for outcome in found(training))
    assert found(other) == found(training)
    monkeypatch.setattr(Training, "_reason", lambda self, point: "")
    monkeypatch.setattr("hw_validate.fit.training.HALVES", ("set aside", "training"))
    open_door = Training(load_dataset(str(tmp_path / "poisoned")), str(tmp_path / "poisoned"))
    assert open_door.select({"dsmem": "push"}) != training.select({"dsmem": "push"})
    assert open_door.pairs(RUN) != training.pairs(RUN)


def test_reading_a_point_that_is_set_aside_raises(training: Training) -> None:
    dataset = load_dataset()
    aside = next(point for point in dataset.points if point.set_aside == "random")
    with pytest.raises(SetAsideError, match="no fit may read it"):
        training.point(aside.hash)
    with pytest.raises(SetAsideError):
        training.items([aside])
    with pytest.raises(SetAsideError):
        training.items([with_fields(aside, set_aside="")])
    with pytest.raises(InputError, match="training"):
        training.point("0" * 64)
    known = training.select({"kind": "slope"})[0]
    assert training.point(known.hash) == known


def test_families_that_are_set_aside_pass_from_no_plan(training: Training) -> None:
    selected = training.select({})
    assert selected
    for point in selected:
        case = point.tags.get("case", {})
        assert case.get("cluster") != 8
        assert case.get("stages") != 3
    for family in FAMILIES:
        fields = {"mode": "unicast", "rows": 64} | dict(family)
        assert aside_of(Case(**fields), drawn=False).startswith("family")


def test_selections_are_spread_over_the_labels(training: Training) -> None:
    every = training.select({"kind": "latency"})
    some = training.select({"kind": "latency"}, 3)
    assert some == [every[0], every[(len(every) - 1) // 2], every[-1]]
    assert training.select({"case.rows": (16,), "case.mode": "multicast"})
    assert training.select({"case.rows": 17}) == []


def test_offsets_of_sms_are_recovered() -> None:
    offsets = {0: 4.0, 1: -1.0, 2: -3.0, 5: 0.0}
    trips = {(a, b): 200 + offsets[a] + offsets[b] for a in offsets for b in offsets if a != b}
    mean, found, spread = solve(trips)
    assert mean == pytest.approx(200)
    assert found == pytest.approx(offsets, abs=1e-9)
    assert spread == pytest.approx(0, abs=1e-9)


def test_a_pair_table_fits_its_half_better(training: Training, tmp_path: Path) -> None:
    found = calibrate([PairTable()], context(training, tmp_path))
    trips = training.pairs(RUN)
    before, after = (pair_score(machine_for(item), trips) for item in (MachineRequest(), found.request))
    assert after["points"] == before["points"] == len(trips)
    assert after["rms"] == pytest.approx(before["rms"], abs=0.01)  # the preset ships this table
    assert after["rms"] < 1.0


def test_sms_of_no_probed_cluster_go_by_analogy() -> None:
    cpc = ((0, 1), (2, 3), (4, 5))
    other = tuple((one + 6, two + 6) for one, two in cpc)
    plan = Floorplan("plan", "assumed: a test", (Gpc(0, (cpc,)), Gpc(0, (other,))))
    found = by_analogy(plan, {0: 9.0, 1: 5.0, 2: 4.0, 3: 0.0})
    assert found == pytest.approx({0: 9, 1: 5, 2: 4, 3: 0, 4: -1, 5: -5, 6: 9, 7: 5, 8: 4, 9: 0})


def test_the_shipped_pair_table_is_that_of_the_fitted_half(
    tmp_path: Path, training: Training, monkeypatch
) -> None:
    machine = load_machine()

    def shipped(data: Training) -> tuple[float, NDArray[np.float64]]:
        mean, offsets, _ = solve(data.pairs(RUN))
        return round(mean / 2, 2), make_table(machine, by_analogy(machine.floorplan, offsets))

    mean, table = shipped(training)
    assert mean == machine.spec.fabric.latency
    np.testing.assert_allclose(table, machine.pair_latency, atol=0.011)
    other = poisoned(tmp_path / "poisoned")
    assert network_trips(floorplans(str(tmp_path / "poisoned"))[RUN], "set aside") != network_trips(
        floorplans()[RUN], "set aside"
    )
    np.testing.assert_array_equal(shipped(other)[1], table)
    monkeypatch.setattr("hw_validate.fit.training.HALVES", ("set aside", "training"))
    assert not np.allclose(shipped(other)[1], table, atol=1)


def test_both_directions_of_a_pair_are_in_one_half() -> None:
    cluster = {"sms": [3, 9, 11], "cycles": [[30, 210, 220], [211, 31, 205], [219, 204, 33]]}
    plan = {"pair_latency": {"clusters": [cluster]}}
    halves = [network_trips(plan, half) for half in ("training", "set aside")]
    assert {pair for half in halves for pair in half} == set(permutations((3, 9, 11), 2))
    assert all((b, a) in half for half in halves for a, b in half)
    assert {**halves[0], **halves[1]}[9, 3] == 211 - 31
    assert network_trips({}, "training") == {}


def test_least_squares_finds_the_number_and_its_interval(training: Training, tmp_path: Path) -> None:
    outcome = PORT.run(context(training, tmp_path))
    (estimate,) = outcome.estimates
    assert estimate.value == pytest.approx(500, rel=0.01)
    assert estimate.before == load_machine().spec.xbar.gpc_bytes_per_cycle
    assert estimate.half_width < 5
    assert outcome.error_after < outcome.error_before
    assert estimate.settings == (f"xbar.gpc_bytes_per_cycle={estimate.value:.6g}",)
    assert PORT_RUN in outcome.runs


def test_a_number_that_nothing_reacts_to_has_no_interval(training: Training, tmp_path: Path) -> None:
    deaf = replace(PORT, parameters=(*PORT.parameters, Parameter(("hbm.latency",), 20, 1500)))
    outcome = deaf.run(context(training, tmp_path))
    assert outcome.estimates[1].half_width == math.inf
    assert any("do not react to hbm.latency" in note for note in outcome.notes)


def test_steps_without_points_or_parameters_say_so(training: Training, tmp_path: Path) -> None:
    unknown = replace(PORT, parameters=(Parameter(("xbar.no_such_rate",), 1, 2),))
    assert "no parameter xbar.no_such_rate" in unknown.run(context(training, tmp_path)).notes[0]
    empty = replace(PORT, probes=(Probe({"kind": "never"}),))
    assert "too few" in empty.run(context(training, tmp_path)).notes[0]
    tiny = context(training, tmp_path, request=MachineRequest("tiny"))
    assert PairTable().run(tiny).estimates == ()


def test_bounds_hold(training: Training, tmp_path: Path) -> None:
    narrow = replace(PORT, parameters=(Parameter(PORT.parameters[0].patterns, 600, 700),))
    outcome = narrow.run(context(training, tmp_path))
    assert outcome.estimates[0].value == pytest.approx(600, rel=1e-3)
    assert any("bound" in note for note in outcome.notes)


def test_correlated_numbers_are_named() -> None:
    jacobian = np.array([[1.0, 1.0], [2.0, 2.1], [3.0, 2.9], [4.0, 4.0]])
    spread = Spread.of(jacobian, np.array([0.1, -0.1, 0.1, -0.1]))
    ((one, other, r),) = spread.alike()
    assert (one, other) == (0, 1)
    assert r < -0.99
    apart = Spread.of(np.eye(3)[:, :2], np.array([0.1, -0.1, 0.1]))
    assert apart.alike() == []
    assert apart.half_widths[0] == pytest.approx(apart.half_widths[1])


def test_a_point_that_cannot_be_simulated_is_left_out_with_its_reason(
    training: Training, tmp_path: Path
) -> None:
    class OneHangs(LinearBench):
        def run(self, tasks: Sequence[Task], on_point: OnPoint | None = None) -> list[Simulated]:
            first = training.select(*PORT.probes[0])[0].hash
            found = super().run(tasks, on_point)
            return [
                Simulated(error="hangs") if task.item.hash == first else one
                for task, one in zip(tasks, found, strict=True)
            ]

    outcome = PORT.run(context(training, tmp_path, bench=OneHangs()))
    assert outcome.estimates[0].value == pytest.approx(500, rel=0.01)
    assert len(outcome.points) == 5
    assert outcome.notes[-1].endswith("left out: hangs")
    with pytest.raises(InputError, match="hangs"):
        Residuals(PORT, context(training, tmp_path, bench=OneHangs())).of([()])


class Interrupted:
    """A step at which somebody presses Ctrl-C."""

    name = about = "interrupted"

    def paths(self, machine: Machine) -> tuple[str, ...]:
        """Find nothing."""
        return ()

    def run(self, context: Context) -> Outcome:
        """Be interrupted."""
        raise KeyboardInterrupt


def test_an_interrupt_keeps_the_steps_that_were_done(training: Training, tmp_path: Path) -> None:
    found = calibrate([PORT, Interrupted(), Slopes()], context(training, tmp_path))
    assert [outcome.step for outcome in found.outcomes] == ["gpc_port"]
    assert found.todo == ("interrupted", "operations")
    assert machine_for(found.request).spec.xbar.gpc_bytes_per_cycle == pytest.approx(500, rel=0.01)


def test_an_interrupted_command_says_what_is_left(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(command, "chosen_steps", lambda names: [Slopes(), Interrupted()])
    assert main(["calibrate", "-j", "1", "--write", str(tmp_path / "a.toml")]) == command.EXIT_INTERRUPTED
    shown = capsys.readouterr()
    assert "goes on with: interrupted" in shown.err
    assert "costs.wait.lane.try.hit" in shown.out
    assert list(tmp_path.iterdir()) == []


def test_a_written_machine_loads_with_fitted_origins(training: Training, tmp_path: Path) -> None:
    found = calibrate([PairTable(), PORT], context(training, tmp_path / "cache"))
    path = tmp_path / "mine.toml"
    assert write_machine(found, path) == [path, tmp_path / "mine.pair_latency.csv"]
    machine = load_machine(path)
    assert machine.name == "mine"
    assert machine.hash == machine_for(found.request).hash
    origin = machine.provenance["xbar.gpc_bytes_per_cycle"].origin
    assert origin.startswith("fitted: ")
    assert f"{PORT_RUN}, step gpc_port of calibrate, 6 points, ±" in origin
    assert machine.provenance["tables.pair_latency"].kind == "fitted"
    assert len(provisional_left(found)) == fitted_machine(found).provisional_count
    with pytest.raises(InputError, match=r"\.toml"):
        write_machine(found, tmp_path / "mine.json")


def test_a_fitted_number_is_no_longer_provisional() -> None:
    stamp = "costs.stamp.issue"
    estimate = Estimate(stamp, (stamp,), 12.0, 10.0, 1.0, "cycle")
    outcome = Outcome("step", (estimate,), "run", ("a", "b"))
    found = Calibration((outcome,), MachineRequest("h200_sxm", estimate.settings))
    assert stamp not in provisional_left(found)
    assert (
        fitted_machine(found).provenance[stamp].origin == "fitted: run, step step of calibrate, 2 points, ± 1"
    )


def test_json_of_a_calibration_is_plain(monkeypatch, capsys) -> None:
    monkeypatch.setattr(command, "chosen_steps", lambda names: [Slopes()])
    assert main(["calibrate", "--json", "-j", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"][0]["step"] == "operations"
    assert found["steps"][0]["estimates"][0]["unit"] == "cycle"
    assert found["todo"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--only", "no_such_step"],
        ["--write", "machine.json", "--only", "operations"],
        ["--dataset", "no_such_dataset"],
        ["--preset", "h300", "--only", "operations"],
        ["--jobs", "0"],
        ["--floorplan-only", "missing.jsonl"],
    ],
)
def test_bad_options_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", *arguments]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize("place", ["folder.toml", "file/fitted.toml"])
def test_a_machine_that_cannot_be_written_is_found_before_the_fit(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(command, "work_out", None)
    assert main(["calibrate", "--write", str(tmp_path / place)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: --write = '{tmp_path / place}': must ")
    assert len(error.splitlines()) == 1
