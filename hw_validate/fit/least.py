"""Least squares over simulations: numbers of the machine that bring simulated times to measured ones.

Numbers are fitted as factors of what the machine has; each derivative is the difference of two simulations, a
step of some per cent apart, since a simulation answers in small jumps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hoppersim.machine.machine import Machine
from hw_validate.fit.outcome import Context, Estimate, Outcome
from hw_validate.fit.residuals import Figure, Probe, Residuals, matching, rms, rounded, settings_of
from hw_validate.fit.spread import Spread, Vector

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
        return matching(machine, self.patterns)

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.patterns[0]


@dataclass(frozen=True)
class LeastSquares:
    """One step that simulates, for numbers that times follow smoothly.

    Parameters
    ----------
    name, about
        Its name, and what it fits from which points.
    parameters, probes
        The numbers, and the points that isolate them.
    figure
        Time that counts.
    notes
        What the points cannot tell, as far as it is known beforehand.
    """

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    probes: tuple[Probe, ...]
    figure: Figure = "cycles"
    notes: tuple[str, ...] = ()

    def paths(self, machine: Machine) -> tuple[str, ...]:
        """List the machine's parameters that the step finds."""
        return tuple(path for item in self.parameters for path in item.paths(machine))

    def run(self, context: Context) -> Outcome:
        """Fit the numbers; without points, or on a machine without the parameters, say so and fit none."""
        residuals = Residuals(self, context)
        machine = residuals.machine
        missing = [item.name for item in self.parameters if not item.paths(machine)]
        if missing:
            return Outcome(self.name, notes=(f"{machine.name} has no parameter {', '.join(missing)}",))
        residuals.leave_out_what_fails()
        if len(residuals.points) <= len(self.parameters):
            few = f"{len(residuals.points)} points are too few to fit from"
            return Outcome(self.name, notes=(few, *residuals.notes))
        return _Search(self, residuals).outcome()


@dataclass
class _Search:
    """The search of one step."""

    step: LeastSquares
    data: Residuals

    def __post_init__(self) -> None:
        self.machine = self.data.machine
        self.paths = [item.paths(self.machine) for item in self.step.parameters]
        self.start = np.array([self._present(paths) or 1.0 for paths in self.paths])
        low = np.array([item.low for item in self.step.parameters])
        high = np.array([item.high for item in self.step.parameters])
        self.bounds = (low / self.start, high / self.start)

    def _present(self, paths: tuple[str, ...]) -> float:
        return float(np.median([float(self.machine.provenance[path].value) for path in paths]))

    def outcome(self) -> Outcome:
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
            Estimate(name, paths, rounded(self.machine, paths[0], factor * start), self._present(paths),
                     half * start, self.machine.provenance[paths[0]].unit)
            for name, paths, factor, start, half in zip(
                names, self.paths, found.x, self.start, spread.half_widths, strict=True)
        )  # fmt: skip
        notes = [f"the points do not react to {names[number]}" for number in spread.deaf]
        notes += [
            f"{names[number]} ended at a bound" for number in np.flatnonzero(found.active_mask).tolist()
        ]
        alike = tuple((names[one], names[other], r) for one, other, r in spread.alike())
        return Outcome(
            self.step.name, estimates, self.data.runs, self.data.labels, rms(self.data.of([()])[0]),
            rms(found.fun), alike, (*self.step.notes, *notes, *self.data.notes),
        )  # fmt: skip

    def residuals(self, factors: Vector) -> Vector:
        """Give log(simulated / measured) of all points."""
        return self.data.of([list(self._settings(factors))])[0]

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
        here, *there = self.data.of([list(self._settings(place)) for place in (factors, *moved)])
        columns = [(one - here) / (factors[n] * steps[n]) for n, one in enumerate(there)]
        return np.column_stack(columns)

    def _settings(self, factors: Vector) -> Iterator[str]:
        for paths, factor, start in zip(self.paths, factors, self.start, strict=True):
            yield from settings_of(paths, rounded(self.machine, paths[0], float(factor * start)))
