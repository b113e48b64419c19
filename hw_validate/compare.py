"""Measured points beside their simulation: what is compared, and the error of each."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hoppersim.dataset.schema import STABLE_SPREAD
from hoppersim.errors import InputError
from hoppersim.program.canonical import work_hash
from hoppersim.program.work import Work
from hw_validate.compare_curves import Pace

Simulation = Callable[[Work], float]
"""Gives the simulated cycles of the slowest CTA of a work."""


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
    counters, counted
        What was counted first, by Nsight Compute's names, and every time.
    pace
        Interval and latency of its boxes, where the work stamps them.
    state
        Settings of the machine that tell the state of the GPU when the point was measured.
    counted_ctas
        CTAs that ran where `counters` were read; 0 where that is not known.
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
    counted: tuple[dict[str, float], ...] = ()
    pace: Pace | None = None
    state: tuple[str, ...] = ()
    counted_ctas: int = 0

    @property
    def stable(self) -> bool:
        """Whether the repeats agree well enough to score the point."""
        return self.spread <= STABLE_SPREAD


class Seeded(NamedTuple):
    """One point under one more seed: time of the slowest CTA [cycle], and counters."""

    cycles: float
    counters: dict[str, int]


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
    repeats, set_aside, counters, counted
        As in `Item`.
    simulated_counters, delivered
        What the simulator counts, and the bytes that it delivers to shared memory [B].
    floor
        What the operations of the busiest thread add up to, waiting left out [cycle].
    share, in_flight
        How busy the limiter was [0..1]; bytes that a CTA can have in flight at most [B].
    seeds
        The same point under other seeds, where it was simulated with several.
    paces
        Interval and latency of its boxes, measured and simulated, where both are known.
    warm
        Whether untimed launches go before, so that the L2 may hold what is read.
    ctas
        CTAs that ran where `counters` were read, and in the simulation; 0 where that is not known.
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
    floor: float = 0.0
    share: float = 0.0
    in_flight: int = 0
    counted: tuple[dict[str, float], ...] = ()
    seeds: tuple[Seeded, ...] = ()
    paces: tuple[Pace | None, Pace | None] = (None, None)
    warm: bool = False
    ctas: tuple[int, int] = (0, 0)

    @property
    def error(self) -> float:
        """Relative error: (simulated - measured) / the smaller of both."""
        return relative(self.simulated, self.measured)

    @property
    def closed_form(self) -> float | None:
        """The closed-form baseline: the larger of bound and software floor [cycle]; None without either."""
        return max(self.bound or 0.0, self.floor) or None

    @property
    def closed_form_error(self) -> float | None:
        """The same error for the closed-form baseline; None where there is none."""
        return None if self.closed_form is None else relative(self.closed_form, self.measured)

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
            row = json.loads(line)
        except (ValueError, RecursionError):  # the last line of an interrupted run, or no row at all
            continue
        if isinstance(row, dict):
            rows.append(row)
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
