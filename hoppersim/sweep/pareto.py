"""The Pareto set: points that no other one beats in everything that counts."""

from __future__ import annotations

from collections.abc import Sequence

from hoppersim.sweep.study import Aim


def pareto_set(points: Sequence[Sequence[float]], aims: Sequence[Aim]) -> list[bool]:
    """Mark the points that no other one dominates.

    A point dominates another if it is at least as good in every objective and better in one; of equal
    points none dominates the other.

    Parameters
    ----------
    points
        For each point its objectives, in the order of `aims`.
    aims
        For each objective whether less or more is better.

    Returns
    -------
    list of bool
        A mark for each point.

    Examples
    --------
    >>> pareto_set([(1, 5), (2, 7), (3, 6)], ["min", "max"])
    [True, True, False]
    """
    signs = [1.0 if aim == "min" else -1.0 for aim in aims]
    costs = [tuple(sign * value for sign, value in zip(signs, point, strict=True)) for point in points]
    front: list[tuple[float, ...]] = []
    # In this order whatever dominates a point comes before it.
    for cost in sorted(set(costs)):
        if not any(all(a <= b for a, b in zip(best, cost, strict=True)) for best in front):
            front.append(cost)
    members = set(front)
    return [cost in members for cost in costs]
