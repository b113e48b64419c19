"""From a study to its points: all of them known and checked before anything is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hoppersim.errors import InputError
from hoppersim.pool import OnCount
from hoppersim.sweep.axes import factors, settings_of_points
from hoppersim.sweep.columns import Columns, plan_columns
from hoppersim.sweep.files import plain_sweep
from hoppersim.sweep.points import Point, PointBuilder
from hoppersim.sweep.study import Sweep


@dataclass(frozen=True)
class Plan:
    """A study whose points are all known.

    Attributes
    ----------
    sweep
        The study.
    groups
        Names that vary together: random samples, linked groups, axes.
    columns
        Columns of its table.
    points
        All points, in the order of their rows.
    """

    sweep: Sweep
    groups: tuple[tuple[str, ...], ...]
    columns: Columns
    points: tuple[Point, ...]

    @property
    def runnable(self) -> dict[str, Point]:
        """Points to simulate by their key; points that say the same are simulated once."""
        return {point.key: point for point in self.points if point.key}


def plan_sweep(sweep: Sweep, on_count: OnCount | None = None) -> Plan:
    """List and check all points of a study.

    A point that cannot run, or that lies outside a limit, is planned as such; what is illegal by itself is
    an error of the study.

    Parameters
    ----------
    sweep
        The study.
    on_count
        Called after each point.

    Raises
    ------
    InputError
        If the study asks for what does not exist or is illegal, or none of its points can run.
    """
    sweep = plain_sweep(sweep)
    builder = PointBuilder(sweep)
    found = factors(sweep, builder.parameters)
    columns = plan_columns(sweep, found, builder.parameters)
    count = prod(map(len, found))
    points = []
    for settings in settings_of_points(found):
        points.append(builder.build(settings, columns))
        if on_count is not None:
            on_count(len(points), count)
    if not any(point.key for point in points):
        rule = f"none of them can run; the first: {points[0].reason}"
        raise InputError("study", f"{count:,} points", rule)
    return Plan(sweep, tuple(tuple(factor[0]) for factor in found), columns, tuple(points))
