"""What simulated steps share: their points, the numbers that they vary, and how far simulations are off.

A residual is the logarithm of simulated over measured time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, Protocol

import numpy as np

from hoppersim.dataset import Point
from hoppersim.errors import InputError
from hoppersim.machine.machine import Machine
from hoppersim.pool import MachineRequest, machine_for
from hw_validate.bench import Simulated, Task
from hw_validate.compare import Item
from hw_validate.fit.outcome import Context
from hw_validate.fit.spread import Vector
from hw_validate.fit.training import Where, runs_of

Figure = Literal["cycles", "mean"]
"""Time that counts: of the slowest CTA, or the mean over the CTAs."""


class Probe(NamedTuple):
    """Points by their tags; of more than `most`, as many evenly spread over their labels."""

    where: Where
    most: int = 12


class Simulating(Protocol):
    """A step that simulates: its name, the points that isolate its numbers, and the time that counts."""

    @property
    def name(self) -> str:
        """What ``--only`` calls it."""

    @property
    def probes(self) -> tuple[Probe, ...]:
        """The points."""

    @property
    def figure(self) -> Figure:
        """The time."""


def matching(machine: Machine, patterns: Sequence[str]) -> tuple[str, ...]:
    """List the machine's parameters that match one of some patterns."""
    return tuple(path for path in machine.provenance if any(fnmatchcase(path, item) for item in patterns))


def rounded(machine: Machine, path: str, value: float) -> float:
    """Give a value as the machine's parameter can take it."""
    whole = isinstance(machine.provenance[path].value, int)
    return float(round(value)) if whole else float(f"{value:.5g}")


def settings_of(paths: Sequence[str], value: float) -> Iterator[str]:
    """Write the change of parameters to one value."""
    text = f"{value:.0f}" if value == int(value) else repr(value)
    return (f"{path}={text}" for path in paths)


def rms(residuals: Vector) -> float:
    """Give the root of the mean of the squares."""
    return float(np.sqrt(np.mean(residuals**2)))


@dataclass
class Residuals:
    """Simulates the points of a step on changed machines.

    Parameters
    ----------
    step, context
        The step, and what it works with.

    Attributes
    ----------
    points
        The points, those left out that the machine cannot simulate.
    notes
        Which were left out, and why.
    """

    step: Simulating
    context: Context

    def __post_init__(self) -> None:
        found = {p.hash: p for probe in self.step.probes for p in self.context.training.select(*probe)}
        self._take(list(found.values()))
        self.notes: list[str] = []

    def _take(self, points: list[Point]) -> None:
        self.points = points
        self.items: list[Item] = self.context.training.items(points)
        measured = [
            point.cta_cycles if self.step.figure == "mean" and point.cta_cycles else point.cycles
            for point in points
        ]
        self.times: Vector = np.array(measured, dtype=np.float64)

    @property
    def machine(self) -> Machine:
        """The machine that the steps before left."""
        return machine_for(self.context.request)

    @property
    def runs(self) -> str:
        """The runs of the points."""
        return runs_of(self.points)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the points."""
        return tuple(point.label for point in self.points)

    def leave_out_what_fails(self) -> None:
        """Leave out the points that the machine cannot simulate as it is, and note why."""
        found = self._simulated([()])[0]
        failed = [number for number, one in enumerate(found) if not self._time(one)]
        self.notes += [f"{self.items[number].label} left out: {found[number].error}" for number in failed]
        if failed:
            self._take([point for number, point in enumerate(self.points) if number not in failed])

    def of(self, changes: Sequence[Sequence[str]]) -> list[Vector]:
        """Give log(simulated / measured) of all points for each set of ``path=value``, in one batch.

        Raises
        ------
        InputError
            If a point has no simulated time.
        """
        return [self._logs(found) for found in self._simulated(changes)]

    def _simulated(self, changes: Sequence[Sequence[str]]) -> list[list[Simulated]]:
        base = self.context.request
        requests = [MachineRequest(base.preset, (*base.overrides, *change)) for change in changes]
        tasks = [Task(item, request) for request in requests for item in self.items]
        found = iter(self.context.bench.run(tasks, self.context.on_point))
        return [[next(found) for _ in self.items] for _ in changes]

    def _logs(self, found: Sequence[Simulated]) -> Vector:
        times = []
        for item, one in zip(self.items, found, strict=True):
            time = self._time(one)
            if not time:
                raise InputError(item.label, one.error or "no time", "must be a point that can be simulated")
            times.append(time)
        return np.log(np.array(times) / self.times)

    def _time(self, found: Simulated) -> float | None:
        return found.cycles if self.step.figure == "cycles" else found.mean
