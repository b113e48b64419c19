"""The steps of a calibration: their parameters, slopes in closed form, and scans of whole numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hoppersim.dataset import load_dataset
from hoppersim.errors import InputError
from hoppersim.machine.loading import load_machine
from hoppersim.pool import MachineRequest, machine_for
from hw_validate.bench import Bench, OnPoint, Simulated, Task
from hw_validate.fit.calibration import Calibration
from hw_validate.fit.least import LeastSquares
from hw_validate.fit.outcome import Context
from hw_validate.fit.residuals import Probe
from hw_validate.fit.scan import Scan, Values
from hw_validate.fit.slopes import Slopes
from hw_validate.fit.steps import STEPS, chosen_steps
from hw_validate.fit.training import Training
from hw_validate.fit.writing import fitted_machine


@pytest.fixture(scope="module")
def training() -> Training:
    return Training(load_dataset(), "h200")


def test_slopes_count_between_the_two_largest_numbers_of_copies(training: Training, tmp_path: Path) -> None:
    outcome = Slopes().run(Context(training, MachineRequest(), Bench(), tmp_path))
    found = {item.name: item for item in outcome.estimates}
    points = {
        point.tags["copies"]: point
        for point in training.select({"operation": "arrive.local.cluster", "width": "lane"})
    }
    slope = (points[8].cycles - points[4].cycles) / 4 / points[8].tags["trips"]
    assert found["costs.arrive.lane.local.cluster.issue"].value == pytest.approx(slope, abs=0.01)
    assert found["costs.sync.cluster.acq_rel.per_warp"].value > 0
    assert set(found) <= set(load_machine().provenance)
    assert outcome.error_after is None


def test_every_step_names_parameters_of_the_preset_and_few_points(training: Training) -> None:
    machine = load_machine()
    names = [step.name for step in STEPS]
    assert len(set(names)) == len(names)
    for step in STEPS:
        assert step.paths(machine), step.name
        if isinstance(step, LeastSquares | Scan):
            points = {point.hash for probe in step.probes for point in training.select(*probe)}
            assert len(step.parameters) < len(points) <= 14, step.name
    assert [step.name for step in chosen_steps(("dsmem", "pairs"))] == ["pairs", "dsmem"]
    with pytest.raises(InputError, match="gpc_port"):
        chosen_steps(("gpc_prot",))


def test_every_fitted_number_of_the_preset_names_the_step_that_finds_it() -> None:
    machine = load_machine()
    finds = {step.name: step.paths(machine) for step in STEPS}
    paths = [path for found in finds.values() for path in found]
    assert len(set(paths)) == len(paths)
    for path, origin in machine.provenance.items():
        if origin.kind == "fitted":
            named = re.search(r"step (\w+) of calibrate", origin.origin)
            assert named is not None, path
            assert path in finds[named[1]], path


LANES = Scan(
    "lanes", "whole numbers, from points that their tags rebuild",
    (Values("xbar.cpc_lanes", (2, 4, 8)), Values("xbar.ingress_lines", (1, 2))),
    (Probe({"experiment": "gpc_port", "group": 1}, 6),),
)  # fmt: skip


class SteppedBench(Bench):
    """Answers without simulating: right at four lanes and two lines, further off at all other values."""

    def run(self, tasks: Sequence[Task], on_point: OnPoint | None = None) -> list[Simulated]:
        """Give a time that is too long by what the numbers are off."""
        specs = [machine_for(task.request).spec.xbar for task in tasks]
        off = [abs(spec.cpc_lanes - 4) + abs(spec.ingress_lines - 2) for spec in specs]
        return [Simulated(task.item.measured * (1 + 0.1 * by)) for task, by in zip(tasks, off, strict=True)]


def test_a_scan_takes_the_best_values_and_says_what_their_neighbours_cost(
    training: Training, tmp_path: Path
) -> None:
    outcome = LANES.run(Context(training, MachineRequest(), SteppedBench(), tmp_path))
    assert [item.value for item in outcome.estimates] == [4, 2]
    assert outcome.estimates[0].settings == ("xbar.cpc_lanes=4",)
    assert math.isnan(outcome.estimates[0].half_width)
    assert outcome.error_after == pytest.approx(0)
    lanes, lines, end = outcome.notes
    assert lanes == "xbar.cpc_lanes: error 0.00% at 4, 18.23% at 2, 33.65% at 8"
    assert lines == "xbar.ingress_lines: error 0.00% at 2, 9.53% at 1"
    assert "xbar.ingress_lines ended at the end" in end
    found = Calibration((outcome,), MachineRequest("h200_sxm", ("xbar.cpc_lanes=4", "xbar.ingress_lines=2")))
    origin = fitted_machine(found).provenance["xbar.cpc_lanes"].origin
    assert origin.endswith("step lanes of calibrate, 6 points, best of the values tried, error 0.0%")
    assert (
        "no_such"
        in replace(LANES, parameters=(Values("xbar.no_such", (1,)),))
        .run(Context(training, MachineRequest(), Bench(), tmp_path))
        .notes[0]
    )
