"""A scan over simulations, for whole numbers and for numbers that may be nothing: no derivative exists there.

Every combination of the values is simulated; the one with the least error is taken, and the error at its
neighbours says how sharply the points tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from hoppersim.machine.machine import Machine
from hw_validate.fit.outcome import Context, Estimate, Outcome
from hw_validate.fit.residuals import Figure, Probe, Residuals, matching, rms, settings_of

Place = tuple[float, ...]


class Values(NamedTuple):
    """A number to scan: its path, and the values to try, in order."""

    path: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Scan:
    """One step that tries values.

    Parameters
    ----------
    name, about, probes, figure, notes
        As for `LeastSquares`.
    parameters
        The numbers, and the values of each.
    """

    name: str
    about: str
    parameters: tuple[Values, ...]
    probes: tuple[Probe, ...]
    figure: Figure = "cycles"
    notes: tuple[str, ...] = ()

    def paths(self, machine: Machine) -> tuple[str, ...]:
        """List the machine's parameters that the step finds."""
        return matching(machine, [item.path for item in self.parameters])

    def run(self, context: Context) -> Outcome:
        """Try all combinations and take the best; without points or parameters, say so and take none."""
        residuals = Residuals(self, context)
        machine = residuals.machine
        if len(self.paths(machine)) < len(self.parameters):
            named = ", ".join(item.path for item in self.parameters)
            return Outcome(self.name, notes=(f"{machine.name} does not have all of {named}",))
        residuals.leave_out_what_fails()
        if not residuals.points:
            return Outcome(self.name, notes=("no points to choose by", *residuals.notes))
        places = list(product(*(item.values for item in self.parameters)))
        found = residuals.of([(), *(self._settings(place) for place in places)])
        before, *errors = (rms(one) for one in found)
        cost = dict(zip(places, errors, strict=True))
        best = min(places, key=lambda place: cost[place])
        notes = (*self.notes, *self._neighbours(best, cost), *residuals.notes)
        return Outcome(
            self.name, tuple(self._estimates(machine, best)), residuals.runs, residuals.labels, before,
            cost[best], notes=notes,
        )  # fmt: skip

    def _settings(self, place: Place) -> list[str]:
        pairs = zip(self.parameters, place, strict=True)
        return [text for item, value in pairs for text in settings_of((item.path,), value)]

    def _estimates(self, machine: Machine, best: Place) -> Iterator[Estimate]:
        for item, value in zip(self.parameters, best, strict=True):
            entry = machine.provenance[item.path]
            before = float(entry.value)
            yield Estimate(item.path, (item.path,), value, before, math.nan, entry.unit)

    def _neighbours(self, best: Place, cost: dict[Place, float]) -> Iterator[str]:
        """Say the error at the values beside the best, and where the best ends the scan."""
        for number, item in enumerate(self.parameters):
            at = item.values.index(best[number])
            beside = [item.values[place] for place in (at - 1, at + 1) if 0 <= place < len(item.values)]
            errors = [cost[_moved(best, number, value)] for value in beside]
            texts = [f"{error:.2%} at {value:g}" for value, error in zip(beside, errors, strict=True)]
            yield f"{item.path}: error {cost[best]:.2%} at {best[number]:g}, {', '.join(texts)}"
            if len(beside) < 2:
                yield f"{item.path} ended at the end of the scan"


def _moved(place: Sequence[float], number: int, value: float) -> Place:
    return (*place[:number], value, *place[number + 1 :])
