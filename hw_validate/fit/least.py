"""Least squares over simulations: numbers of the machine that bring simulated times to measured ones.

A residual is the logarithm of simulated over measured time. Numbers are fitted as factors of what the machine
has; each derivative is the difference of two simulations, a step of some per cent apart, since a simulation
answers in small jumps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

import numpy as np

from hoppersim.errors import InputError
from hoppersim.machine.machine import Machine
from hw_validate.bench import Request, Simulated, Task, machine_for
from hw_validate.compare import Item
from hw_validate.fit.outcome import Context, Estimate, Outcome
from hw_validate.fit.spread import Spread, Vector
from hw_validate.fit.training import Where, runs_of

MOST_ROUNDS = 12
CLOSE = 1e-3
"""Change of a factor, and of the sum of squares, at which the search ends."""


class Parameter(NamedTuple):
    """A number to fit: patterns of the paths that share it, bounds, and the step of a derivative [ratio]."""

    patterns: tuple[str, ...]
    low: float
    high: float
    step: float = 0.05

    def paths(self, machine: Machine) -> tuple[str, ...]:
        """List the machine's parameters that take the number."""
        return tuple(
            path for path in machine.provenance if any(fnmatchcase(path, item) for item in self.patterns)
        )

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.patterns[0]


class Probe(NamedTuple):
    """Points by their tags; of more than `most`, as many evenly spread over their labels."""

    where: Where
    most: int = 12


@dataclass(frozen=True)
class LeastSquares:
    """One step that simulates.

    Parameters
    ----------
    name, about
        Its name, and what it fits from which points.
    parameters, probes
        The numbers, and the points that isolate them.
    figure
        Time that counts: ``cycles`` of the slowest CTA, or their ``mean``.
    notes
        What the points cannot tell, as far as it is known beforehand.
    """

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    probes: tuple[Probe, ...]
    figure: Literal["cycles", "mean"] = "cycles"
    notes: tuple[str, ...] = ()

    def run(self, context: Context) -> Outcome:
        """Fit the numbers; without points, or on a machine without the parameters, say so and fit none."""
        machine = machine_for(context.request)
        missing = [item.name for item in self.parameters if not item.paths(machine)]
        found = {p.hash: p for probe in self.probes for p in context.training.select(*probe)}
        points = list(found.values())
        if missing:
            return Outcome(self.name, notes=(f"{machine.name} has no parameter {', '.join(missing)}",))
        if len(points) <= len(self.parameters):
            return Outcome(self.name, notes=(f"{len(points)} points are too few to fit from",))
        items = context.training.items(points)
        measured = [
            point.cta_cycles if self.figure == "mean" and point.cta_cycles else point.cycles
            for point in points
        ]
        times = np.array(measured, dtype=np.float64)
        search = _Search(self, context, machine, items, times)
        labels = tuple(point.label for point in points)
        return search.outcome(runs_of(points), labels)


@dataclass
class _Search:
    """The search of one step."""

    step: LeastSquares
    context: Context
    machine: Machine
    items: Sequence[Item]
    times: Vector

    def __post_init__(self) -> None:
        self.paths = [item.paths(self.machine) for item in self.step.parameters]
        self.start = np.array([self._present(paths) for paths in self.paths])
        low = np.array([item.low for item in self.step.parameters])
        high = np.array([item.high for item in self.step.parameters])
        self.bounds = (low / self.start, high / self.start)

    def _present(self, paths: tuple[str, ...]) -> float:
        value = float(np.median([float(self.machine.provenance[path].value) for path in paths]))
        return value or 1.0

    def outcome(self, runs: str, labels: tuple[str, ...]) -> Outcome:
        """Search, and say what came of it."""
        from scipy.optimize import least_squares  # type: ignore[import-untyped]

        first = np.clip(np.ones(len(self.start)), *self.bounds)
        found = least_squares(
            self.residuals, first, jac=self.jacobian, bounds=self.bounds, x_scale="jac",
            ftol=CLOSE, xtol=CLOSE, max_nfev=MOST_ROUNDS,
        )  # fmt: skip
        spread = Spread.of(found.jac, found.fun)
        names = [item.name for item in self.step.parameters]
        estimates = tuple(
            Estimate(name, paths, self._rounded(paths, factor * start), self._present(paths), half * start,
                     self.machine.provenance[paths[0]].unit)
            for name, paths, factor, start, half in zip(
                names, self.paths, found.x, self.start, spread.half_widths, strict=True)
        )  # fmt: skip
        notes = [f"the points do not react to {names[number]}" for number in spread.deaf]
        notes += [
            f"{names[number]} ended at a bound" for number in np.flatnonzero(found.active_mask).tolist()
        ]
        alike = tuple((names[one], names[other], r) for one, other, r in spread.alike())
        return Outcome(
            self.step.name, estimates, runs, labels, _rms(self.residuals(np.ones(len(self.start)))),
            _rms(found.fun), alike, (*self.step.notes, *notes),
        )  # fmt: skip

    def _rounded(self, paths: tuple[str, ...], value: float) -> float:
        """Give a value as the machine can take it."""
        whole = isinstance(self.machine.provenance[paths[0]].value, int)
        return float(round(value)) if whole else float(f"{value:.5g}")

    def residuals(self, factors: Vector) -> Vector:
        """Give log(simulated / measured) of all points."""
        return self._batch([factors])[0]

    def jacobian(self, factors: Vector) -> Vector:
        """Give the residuals' derivatives by the factors, all simulated in one batch."""
        steps = [
            item.step if factor * (1 + item.step) <= high else -item.step
            for item, factor, high in zip(self.step.parameters, factors, self.bounds[1], strict=True)
        ]
        moved = []
        for number, step in enumerate(steps):
            other = factors.copy()
            other[number] *= 1 + step
            moved.append(other)
        here, *there = self._batch([factors, *moved])
        columns = [(one - here) / (factors[n] * steps[n]) for n, one in enumerate(there)]
        return np.column_stack(columns)

    def _batch(self, places: Sequence[Vector]) -> list[Vector]:
        tasks = [Task(item, self._request(place)) for place in places for item in self.items]
        found = iter(self.context.bench.run(tasks, self.context.on_point))
        return [
            np.log(np.array([self._time(item, next(found)) for item in self.items]) / self.times)
            for _ in places
        ]

    def _request(self, factors: Vector) -> Request:
        base = self.context.request
        return Request(base.preset, (*base.settings, *self._settings(factors)))

    def _settings(self, factors: Vector) -> Iterator[str]:
        for paths, factor, start in zip(self.paths, factors, self.start, strict=True):
            value = self._rounded(paths, float(factor * start))
            text = f"{value:.0f}" if value == int(value) else repr(value)
            yield from (f"{path}={text}" for path in paths)

    def _time(self, item: Item, found: Simulated) -> float:
        time = found.cycles if self.step.figure == "cycles" else found.mean
        if not time:
            raise InputError(item.label, found.error or "no time", "must be a point that can be simulated")
        return time


def _rms(residuals: Vector) -> float:
    return float(np.sqrt(np.mean(residuals**2)))
