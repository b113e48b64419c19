"""Works by their hash: from the plans of this package, or built again from a point's tags."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import NamedTuple

from hoppersim.dataset import Point as Measured
from hoppersim.dataset import rebuild_work
from hoppersim.errors import InputError
from hoppersim.program.canonical import work_hash
from hoppersim.program.work import Work

PLANS = (
    "dataset",
    "scaling",
    "lrc",
    "costs",
    "structure",
    "streams",
    "one_box",
    "curves",
    "shapes",
    "stores",
    "cluster_fabric",
    "fabric_costs",
    "hbm_depth",
    "latency_map",
    "in_flight",
    "slices",
    "races",
    "fresh",
    "readers",
    "article_steps",
    "unseen",
    "queues",
    "wide",
    "halves",
    "rivals",
    "places",
    "loads",
)
CASES = "cases"
"""What the plan of a point is called that is a case of its own."""


class Planned(NamedTuple):
    """One work of a plan."""

    plan: str
    work: Work


@cache
def plan_works(name: str) -> dict[str, Work]:
    """Give the works of one plan by their hash."""
    return {
        work_hash(point.work): point.work for point in import_module(f"hw_validate.plans.{name}").points()
    }


@cache
def planned_works() -> dict[str, Planned]:
    """Give the works of all plans by their hash; a work of several plans belongs to the first."""
    found: dict[str, Planned] = {}
    for name in PLANS:
        for key, work in plan_works(name).items():
            found.setdefault(key, Planned(name, work))
    return found


def plan_hashes(name: str) -> frozenset[str]:
    """Give the hashes of all works of one plan."""
    return frozenset(plan_works(name))


def works_of(points: Iterable[Measured]) -> dict[str, Work]:
    """Give the works of measured points by their hash.

    Raises
    ------
    InputError
        If a point's tags give another work than the one that was measured, or no plan has it.
    """
    found: dict[str, Work] = {}
    for point in points:
        if point.hash in found:
            continue
        work = rebuild_work(point.tags)
        if work is None and point.plan in PLANS:
            work = plan_works(point.plan).get(point.hash)
        if work is None or work_hash(work) != point.hash:
            raise InputError(point.label, point.hash[:16], "no case and no plan of this version is that work")
        found[point.hash] = work
    return found
