"""Loops by which a cluster shares tiles, of all other plans, measured anew on a GPU that has just started.

Multicasts had been measured behind responses to one SM of a TPC, which slow some of them for good (plans
`wide` and `halves`). The points are those of the plans that have them, with their tags, so what was set aside
stays so. The largest clusters come first, then odd ones, which cut a TPC in half, and then the unicast loops
that multicasts are compared with, whose merged reads do that too. Give the plan a run of its own, on a GPU
that has run nothing else since its reset.

Loops of one tile are left out where at most 12 SMs receive it: a run of its own has other addresses, and what
they take depends on where the tile lies (20 to 50 % more in this run than in the first).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from hw_validate.bundle import Point

PLANS = ("dataset", "scaling", "structure", "in_flight", "races", "fresh", "unseen", "again")
NARROW = 12
MODES = ("multicast", "multicast_slices", "unicast")


def points() -> list[Point]:
    """List the points, each work once."""
    found: dict[str, Point] = {}
    for name in PLANS:
        for point in import_module(f"hw_validate.plans.{name}").points():
            case = point.tags.get("case", {})
            if case.get("mode") in MODES and _matters(case):
                found.setdefault(point.id, point)
    return sorted(found.values(), key=_order)


def _matters(case: Mapping[str, Any]) -> bool:
    """Whether a case is of several SMs, and does not hang on the address of a single tile."""
    wide = case["cluster"] > NARROW and case["mode"] != "unicast"
    return bool(case["cluster"] > 1 and (case["pattern"] != "one" or wide))


def _order(point: Point) -> tuple[bool, int, int]:
    """Multicasts first; of these odd clusters last, among the others the largest first."""
    case = point.tags["case"]
    return case["mode"] == "unicast", case["cluster"] % 2, -case["cluster"]
