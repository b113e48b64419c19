"""Multicasts to more than 12 SMs of all other plans, measured anew on a GPU that has just started.

They had been measured behind multicasts to one SM each, which slow them for good (plan `wide`). The points
are those of the plans that have them, with their tags, so what was set aside stays so. Give the plan a run of
its own, on a GPU that has run nothing else since its reset.
"""

from __future__ import annotations

from importlib import import_module

from hw_validate.bundle import Point

PLANS = ("dataset", "scaling", "structure", "in_flight", "races", "fresh", "unseen")
NARROW = 12


def points() -> list[Point]:
    """List the points, each work once."""
    found: dict[str, Point] = {}
    for name in PLANS:
        for point in import_module(f"hw_validate.plans.{name}").points():
            case = point.tags.get("case", {})
            if str(case.get("mode")).startswith("multicast") and case["cluster"] > NARROW:
                found.setdefault(point.id, point)
    return list(found.values())
