"""The tables of a dataset, row by row: what was measured on a real GPU, and under which conditions.

Times are SM cycles of the slowest CTA, from its earliest start stamp to its latest end stamp; "cycle" is an
SM cycle.
"""

from __future__ import annotations

from typing import Any

import msgspec

SCHEMA = "hoppersim.dataset/1"
STABLE_SPREAD = 0.05
"""Largest spread of the repeats, (greatest - least) / median, with which a point counts as stable."""


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Common shape of all rows."""


class Run(_Row, frozen=True, kw_only=True):
    """One session with one part.

    Attributes
    ----------
    run
        Name of the run, as in the tables.
    uuid, device, driver, sms, l2_bytes, bus_bits
        The part: UUID, product, version of CUDA that the driver speaks, SMs, L2 [B], width of the memory bus.
    clock_khz, memory_clock_khz
        Highest clocks of SMs and of the memory [kHz].
    state
        Clocks, power and temperature when the run began, as ``nvidia-smi`` says them.
    first, last
        When the first and the last point were measured [UTC].
    compiler
        What compiled the kernels.
    groups
        SMs that share a GPC, largest GPCs first as found by probes; a lone TPC is a group of its own.
    plans
        Points by the plan that they come from.
    repeats
        Points by the timed launches of each.
    statuses
        Points by how they ended.
    """

    run: str
    uuid: str
    device: str
    driver: int
    sms: int
    l2_bytes: int
    bus_bits: int
    clock_khz: int
    memory_clock_khz: int
    state: dict[str, str]
    first: str
    last: str
    compiler: str
    groups: list[list[int]]
    plans: dict[str, int]
    repeats: dict[str, int]
    statuses: dict[str, int]


class File(_Row, frozen=True, kw_only=True):
    """One table: rows, and SHA-256 of the file."""

    rows: int
    sha256: str


class Manifest(_Row, frozen=True, kw_only=True):
    """What a dataset holds: runs, points by why they are set aside ("" for training), and files by name."""

    schema: str = SCHEMA
    name: str
    runs: list[Run]
    set_aside: dict[str, int]
    files: dict[str, File]


class Point(_Row, frozen=True, kw_only=True):
    """One work as one run measured it.

    Attributes
    ----------
    run, id, label, hash
        Run; identity there (the work's hash, and the lowering if it is not the default); name; hash.
    plan, tags
        Plan that the point comes from, and the fields that say which of its points it is: ``case`` has those
        of `hoppersim.Case`.
    status, error
        ``ok``, ``hang`` or ``error``, and the reason.
    cycles, repeats, spread
        Median time [cycle]; all times [cycle]; (greatest - least) / median.
    event_ms, sm_ghz
        Median time between two events around the launch [ms]; SM clock seen in the run [GHz].
    clusters, ctas, cta_cycles
        Clusters launched; CTAs that took part (those outside the point's set of SMs leave at once); mean time
        of a CTA in the median repeat [cycle].
    set_aside
        Why the point is kept from every fit, decided when it was planned; "" for training.
    verified
        Whether the received data were right; None where they were not checked.
    kernel
        Hash of the kernel that ran.
    when
        When it was measured [UTC].
    """

    run: str
    id: str
    label: str
    hash: str
    plan: str
    tags: dict[str, Any]
    status: str
    error: str = ""
    cycles: float | None = None
    repeats: list[int] = []
    spread: float | None = None
    event_ms: float | None = None
    sm_ghz: float | None = None
    clusters: int | None = None
    ctas: int | None = None
    cta_cycles: float | None = None
    set_aside: str = ""
    verified: bool | None = None
    kernel: str = ""
    when: str = ""

    @property
    def stable(self) -> bool:
        """Whether the repeats agree within `STABLE_SPREAD`."""
        return self.spread is not None and self.spread <= STABLE_SPREAD

    @property
    def lowering_is_default(self) -> bool:
        """Whether the kernel was lowered as the work's hash alone says."""
        return self.hash.startswith(self.id)


class Counters(_Row, frozen=True, kw_only=True):
    """Counters of one launch of a point, by Nsight Compute's names."""

    run: str
    id: str
    hash: str
    label: str
    counters: dict[str, float]


class Litmus(_Row, frozen=True, kw_only=True):
    """One litmus flow: verdict of the rules, outcome that silicon had to show, and the one that it showed."""

    run: str
    flow: str
    row: str
    verdict: str
    required: str
    observed: str
    agrees: bool
    where: str


class Dataset(_Row, frozen=True, kw_only=True):
    """All tables of a dataset."""

    manifest: Manifest
    points: tuple[Point, ...]
    counters: tuple[Counters, ...]
    litmus: tuple[Litmus, ...]

    def finished(self) -> list[Point]:
        """List the points that ran to their end."""
        return [point for point in self.points if point.status == "ok"]

    def counters_of(self, point: Point) -> dict[str, float]:
        """Give the counters of a point by name; empty where none were read."""
        return next((row.counters for row in self.counters if (row.run, row.id) == (point.run, point.id)), {})


class Look(_Row, frozen=True, kw_only=True):
    """One look at the set-aside score: date, preset and model seen, stable points scored, median, p90.

    `new` says how many of the points are of the plans that were made for this score alone.
    """

    date: str
    preset: str
    preset_hash: str
    model_hash: str
    points: int
    median: float
    p90: float
    new: int = 0


class WorstPoint(_Row, frozen=True, kw_only=True):
    """A point set aside whose error is among the largest: times [SM cycle], error, and what limits it.

    `deviation` is the number of the known deviation that it falls under; "" where none is known.
    """

    label: str
    measured: float
    simulated: float
    error: float
    limiter: str
    deviation: str = ""


class ErrorSummary(_Row, frozen=True, kw_only=True):
    """How wrong the simulator is on a dataset.

    Errors are (simulated - measured) / the smaller of both, against the median of the repeats.

    Attributes
    ----------
    date, preset, preset_hash, model_hash, points_sha256
        When, with which machine and model, on which table of points; None of them before a first comparison.
    groups
        Scores of the simulator by group of points: points, median, p90, worst, mean and bias.
    baseline
        The same for the closed-form bound.
    faster
        Pairs in which one way of loading is measurably faster than the other, and how often the simulator
        says the same.
    counters
        Scores of counters by name.
    scaling
        The cluster-scaling comparison, one row a point.
    worst
        The points set aside with the largest errors, the largest first.
    looks
        Every look at the set-aside score.
    """

    date: str = ""
    preset: str = ""
    preset_hash: str = ""
    model_hash: str = ""
    points_sha256: str = ""
    groups: dict[str, dict[str, float]] = {}
    baseline: dict[str, dict[str, float]] = {}
    faster: dict[str, dict[str, int]] = {}
    counters: dict[str, dict[str, float]] = {}
    scaling: list[dict[str, Any]] = []
    worst: list[WorstPoint] = []
    looks: list[Look] = []
