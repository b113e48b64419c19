"""Measured points beside their simulation: what is compared, and the error of each."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from hoppersim.dataset import Dataset, Point
from hoppersim.dataset.schema import STABLE_SPREAD
from hoppersim.errors import InputError
from hoppersim.program.canonical import work_hash
from hoppersim.program.work import Work
from hw_validate.works import plan_hashes, works_of

Simulation = Callable[[Work], float]
"""Gives the simulated cycles of the slowest CTA of a work."""
SELECTIONS = ("set-aside", "training", "scaling", "all")


@dataclass(frozen=True)
class Item:
    """One measured point with its work; times are SM cycles of the slowest CTA.

    Parameters
    ----------
    id, label, hash
        Identity of the row, its name, hash of the work.
    work
        What ran.
    measured, repeats, spread
        Median time [cycle], all times [cycle], (greatest - least) / median.
    tags
        Which point of its plan it is.
    set_aside
        Why no fit may read it; "" for training.
    counters
        What was counted, by Nsight Compute's names.
    """

    id: str
    label: str
    hash: str
    work: Work
    measured: float
    repeats: tuple[int, ...]
    spread: float
    tags: dict[str, Any]
    set_aside: str = ""
    counters: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """One point on both sides; times are SM cycles of the slowest CTA.

    Parameters
    ----------
    id, label, measured, simulated, spread, tags
        Identity, name, both times [cycle], spread of the repeats, fields of the point.
    bound
        Closed-form bound, reads merged [cycle]; None where nothing moves.
    limiter
        What the simulator says sets the time.
    repeats, set_aside, counters
        As in `Item`.
    simulated_counters, delivered
        What the simulator counts, and the bytes that it delivers to shared memory [B].
    """

    id: str
    label: str
    measured: float
    simulated: float
    spread: float
    tags: dict[str, Any]
    bound: float | None = None
    limiter: str = ""
    repeats: tuple[int, ...] = ()
    set_aside: str = ""
    counters: dict[str, float] = field(default_factory=dict)
    simulated_counters: dict[str, int] = field(default_factory=dict)
    delivered: int = 0

    @property
    def error(self) -> float:
        """Relative error: (simulated - measured) / the smaller of both."""
        return relative(self.simulated, self.measured)

    @property
    def bound_error(self) -> float | None:
        """The same for the closed-form bound; None where there is none."""
        return None if self.bound is None else relative(self.bound, self.measured)

    @property
    def stable(self) -> bool:
        """Whether the repeats agree well enough to score the point."""
        return self.spread <= STABLE_SPREAD

    @property
    def mode(self) -> str:
        """How data move: the case's mode, or the kind of the point."""
        case = self.tags.get("case", {})
        if case:
            return str(case["mode"])
        for name in ("article", "dsmem"):
            if name in self.tags:
                return f"{name} {self.tags[name]}"
        return str(self.tags.get("kind") or self.tags.get("experiment") or "flow")

    @property
    def memory(self) -> str:
        """Where tiles come from: ``hot``, ``sweep``, ``one`` lie in the L2, ``hbm``, ``stream`` do not."""
        case = self.tags.get("case", {})
        if not case:
            return str(self.tags.get("memory") or self.tags.get("pattern") or "none")
        return "hbm" if case.get("memory") == "hbm" else str(case.get("pattern", "sweep"))


def relative(simulated: float, measured: float) -> float:
    """Give (simulated - measured) / the smaller of both; 0 where both are 0."""
    if simulated == measured:
        return 0.0
    smaller = min(simulated, measured)
    return (simulated - measured) / smaller if smaller > 0 else float("inf")


def dataset_items(dataset: Dataset, selection: str, run: str = "") -> list[Item]:
    """List the finished points of a dataset that a selection names.

    Parameters
    ----------
    dataset
        The dataset.
    selection
        ``set-aside``, ``training``, ``scaling`` (the cluster-scaling study) or ``all``.
    run
        Run to take them from; "" is the first of the manifest.

    Raises
    ------
    InputError
        If there is no such selection or run.
    """
    if selection not in SELECTIONS:
        raise InputError("--points", selection, f"must be one of {', '.join(SELECTIONS)}", SELECTIONS[0])
    runs = [item.run for item in dataset.manifest.runs]
    if run and run not in runs:
        raise InputError("--run", run, f"must be one of {', '.join(runs)}", runs[0])
    points = [
        point
        for point in dataset.finished()
        if point.run == (run or runs[0]) and point.lowering_is_default and _chosen(point, selection)
    ]
    works = works_of(points)
    return [
        Item(
            p.id, p.label, p.hash, works[p.hash], p.cycles or 0.0, tuple(p.repeats), p.spread or 0.0,
            p.tags, p.set_aside, dataset.counters_of(p),
        )
        for p in points
    ]  # fmt: skip


def _chosen(point: Point, selection: str) -> bool:
    if selection == "scaling":  # a work of the study may belong to another plan too
        return point.hash in plan_hashes("scaling") and not point.set_aside
    return selection == "all" or bool(point.set_aside) == (selection == "set-aside")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read the runner's rows.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
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


def row_items(rows: Iterable[dict[str, Any]], works: dict[str, Work]) -> Iterator[Item]:
    """List every measured point of one flow that ran to its end and whose work is known."""
    for row in rows:
        if row.get("row") != "point" or row.get("status") != "ok" or row["id"] not in works:
            continue
        flow, work, tags = row["flows"][0], works[row["id"]], row.get("tags", {})
        repeats = tuple(flow.get("repeats", ()))
        key = row.get("hash") or work_hash(work)
        yield Item(
            row["id"], row["label"], key, work, flow["cycles"], repeats, flow["spread"], tags,
            tags.get("set_aside", ""),
        )  # fmt: skip


def pairs(rows: Iterable[dict[str, Any]], works: dict[str, Work], simulate: Simulation) -> Iterator[Pair]:
    """Simulate every measured point of one flow that ran to its end, and pair both times."""
    for item in row_items(rows, works):
        yield Pair(item.id, item.label, item.measured, simulate(item.work), item.spread, item.tags)


def score(found: Iterable[Pair]) -> dict[str, float]:
    """Sum errors up: median, mean, 90th percentile and worst of their sizes, and the bias."""
    return score_of([pair.error for pair in found])


def score_of(values: Iterable[float]) -> dict[str, float]:
    """Sum up signed errors as `score` does."""
    errors = sorted(values, key=abs)
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
