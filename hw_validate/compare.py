"""Measured against simulated, joined by the work's hash."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hoppersim.errors import InputError
from hoppersim.program.work import Work

Simulation = Callable[[Work], float]
"""Gives the simulated cycles of the slowest CTA of a work."""


@dataclass(frozen=True)
class Pair:
    """One point on both sides; times are SM cycles of the slowest CTA."""

    id: str
    label: str
    measured: float
    simulated: float
    spread: float
    tags: dict[str, Any]

    @property
    def error(self) -> float:
        """Relative error: (simulated - measured) / the smaller of both."""
        return (self.simulated - self.measured) / min(self.simulated, self.measured)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read the runner's rows.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError("measurements", str(path), f"must be a readable file ({error.strerror})") from error
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:  # the last line of an interrupted run
            continue
    return rows


def read_works(plan: Path) -> dict[str, Work]:
    """Read the works of a plan, by the id of their points.

    Raises
    ------
    InputError
        If the plan cannot be read.
    """
    try:
        points = json.loads(plan.read_text(encoding="utf-8"))["points"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError("plan", str(plan), "must be the plan.json of a bundle") from error
    return {point["id"]: msgspec.convert(point["work"], Work) for point in points}


def pairs(rows: Iterable[dict[str, Any]], works: dict[str, Work], simulate: Simulation) -> Iterator[Pair]:
    """Simulate every measured point of one flow that ran to its end, and pair both times."""
    for row in rows:
        if row.get("row") != "point" or row.get("status") != "ok" or row["id"] not in works:
            continue
        flow = row["flows"][0]
        simulated = simulate(works[row["id"]])
        yield Pair(row["id"], row["label"], flow["cycles"], simulated, flow["spread"], row.get("tags", {}))


def score(found: Iterable[Pair]) -> dict[str, float]:
    """Sum errors up: median, mean, 90th percentile and worst of their sizes, and the bias."""
    errors = sorted((pair.error for pair in found), key=abs)
    if not errors:
        return {"points": 0}
    sizes = [abs(error) for error in errors]
    return {
        "points": len(errors),
        "median": statistics.median(sizes),
        "mean": statistics.fmean(sizes),
        "p90": sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))],
        "worst": sizes[-1],
        "bias": statistics.fmean(errors),
    }
