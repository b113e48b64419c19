"""The one door between a dataset and a fit: points that are set aside do not pass it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hoppersim.dataset import Dataset, Point, floorplans
from hoppersim.errors import InputError
from hoppersim.machine.machine import Machine
from hw_validate.compare import Item
from hw_validate.compare_items import items_of
from hw_validate.pair_latency import HALVES, Trips, network_trips, part_of

Where = Mapping[str, Any]
"""What tags of a point must be: a value, or one of a tuple of values; ``case.rows`` is inside ``case``."""
FAMILIES: tuple[Where, ...] = (
    {"cluster": 8},
    {"rows": 48},
    {"stages": 3},
    {"mode": "multicast_slices", "memory": "hbm"},
)
"""Families that the dataset sets aside whole. Other plans hold some of their points, which pass no more."""


class SetAsideError(InputError):
    """Somebody asked a fit's data for a point that is set aside."""

    def __init__(self, label: str, reason: str) -> None:
        super().__init__(label, reason, "is set aside, and no fit may read it")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return (type(self), (self.field, self.value))


class Training:
    """The points of a dataset that a fit may read: of each work the first stable one.

    Parameters
    ----------
    dataset
        The dataset.
    name
        Its name or folder, where latencies between SMs are.
    """

    def __init__(self, dataset: Dataset, name: str) -> None:
        self._dataset, self._name = dataset, name
        self._reasons = {point.hash: point.set_aside for point in dataset.points if point.set_aside}
        self._points: dict[str, Point] = {}
        for point in dataset.finished():
            if point.lowering_is_default and point.stable and not self._reason(point):
                self._points.setdefault(point.hash, point)

    def _reason(self, point: Point) -> str:
        """Say why a fit may not read a point; "" if it may."""
        if point.hash in self._reasons:
            return self._reasons[point.hash]
        fields = point.tags.get("case", point.tags)
        return "family" if any(_matches(fields, family) for family in FAMILIES) else ""

    def point(self, work_hash: str) -> Point:
        """Give the point of a work.

        Raises
        ------
        SetAsideError
            If it is set aside.
        InputError
            If no stable point of the work was measured.
        """
        if work_hash in self._points:
            return self._points[work_hash]
        if work_hash in self._reasons:
            raise SetAsideError(work_hash[:16], self._reasons[work_hash])
        raise InputError("work", work_hash[:16], "must be a point for training that was measured")

    def select(self, where: Where, most: int | None = None) -> list[Point]:
        """List the points whose tags match, by label; of more than `most`, as many evenly spread."""
        found = [point for point in self._points.values() if _matches(point.tags, where)]
        found.sort(key=lambda point: (point.label, point.hash))
        if most is None or len(found) <= most:
            return found
        return [found[place * (len(found) - 1) // (most - 1)] for place in range(most)]

    def items(self, points: Sequence[Point]) -> list[Item]:
        """Join points with their works.

        Raises
        ------
        SetAsideError
            If one of them is set aside, wherever it came from.
        """
        for point in points:
            if reason := point.set_aside or self._reason(point):
                raise SetAsideError(point.label, reason)
        return items_of(self._dataset, points)

    def pairs(self, run: str) -> Trips:
        """Give the round trips between SMs of one run's part, of the fitted half of the pairs."""
        return network_trips(floorplans(self._name).get(run, {}), HALVES[0])

    def run_on(self, machine: Machine) -> str | None:
        """Find the run on the part whose floorplan the machine has; None if no run was."""
        return part_of(machine, self._dataset)


def runs_of(points: Iterable[Point]) -> str:
    """Name the runs of points, in order, for an origin."""
    return " ".join(sorted({point.run for point in points}))


def _matches(tags: Mapping[str, Any], where: Where) -> bool:
    for name, wanted in where.items():
        value: Any = tags
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value not in (wanted if isinstance(wanted, tuple) else (wanted,)):
            return False
    return True
