"""The fields of a study case, and what makes one meaningless."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from hoppersim.errors import InputError
from hoppersim.program.work import SmSet, Width

Mode = Literal["unicast", "unicast_distinct", "multicast", "multicast_slices"]
MODES: tuple[Mode, ...] = ("unicast", "unicast_distinct", "multicast", "multicast_slices")

ALONE_ON_SM = 120 * 1024
"""Shared memory that leaves room for one CTA on an SM of 164 to 228 KiB."""

MOST_BOXES = 2**14
"""Boxes of a stage: more of the smallest, 16 bytes each, fit no SM."""

MOST_PARTS = 8
"""Boxes that a box too large is said to make."""


class Case(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One point of a study. In every mode each CTA receives ``iterations * tile_bytes``.

    Parameters
    ----------
    mode
        ``unicast``: every CTA of a cluster loads the same tile for itself. ``unicast_distinct``: every
        CTA loads a tile of its own. ``multicast``: rank 0 loads the tile into all. ``multicast_slices``:
        each CTA loads its share of the rows into all.
    cluster
        CTAs of a cluster.
    rows, row_bytes
        One box: rows of `row_bytes` bytes (a multiple of 16, at most 512).
    boxes
        Boxes of a stage, all counted by one barrier phase.
    stages
        Stages of the ring.
    iterations
        Tiles that each CTA receives; a tile fills one stage.
    pattern
        ``hot``: each cluster (CTA, when distinct) reads one tile of its own again and again. ``sweep``:
        tiles of an allocation in turn, a stretch of it for each cluster. ``one``: one tile for all.
    memory
        ``l2``: the tiles fit in the L2, and are in it after `warm` untimed launches. ``hbm``: a sweep that
        reads every tile once, from a cold L2.
    footprint
        Bytes of the allocation that a sweep covers; 0 takes enough for `memory`.
    consumer, consumer_warps
        Width of the consumer role, and its warps.
    compute
        SM cycles that the consumer computes on each tile.
    reads
        Times that the consumer reads each tile from shared memory.
    grid
        CTAs, or ``fill``.
    sms
        Which SMs take part.
    skew
        SM cycles by which the last CTA of a cluster starts after the first; the others lie between.
    warm
        Untimed launches before the timed one; None takes 1 for ``l2`` and 0 for ``hbm``.
    shared_bytes
        Least dynamic shared memory of a CTA [B]; the default leaves one CTA on an SM.
    """

    mode: Mode
    cluster: int = 1
    rows: int = 64
    row_bytes: int = 128
    boxes: int = 1
    stages: int = 4
    iterations: int = 64
    pattern: Literal["hot", "sweep", "one"] = "hot"
    memory: Literal["l2", "hbm"] = "l2"
    footprint: int = 0
    consumer: Width = "lane"
    consumer_warps: int = 1
    compute: int = 0
    reads: int = 0
    grid: int | Literal["fill"] = "fill"
    sms: SmSet = SmSet()
    skew: int = 0
    warm: int | None = None
    shared_bytes: int = ALONE_ON_SM

    @property
    def box_bytes(self) -> int:
        """Bytes of one box of the tile [B]."""
        return self.rows * self.row_bytes

    @property
    def tile_bytes(self) -> int:
        """Bytes of one tile, which fill one stage [B]."""
        return self.boxes * self.box_bytes

    @property
    def bytes_per_cta(self) -> int:
        """Bytes that each CTA receives in the run [B]."""
        return self.iterations * self.tile_bytes

    @property
    def label(self) -> str:
        """Short name, for tables and program names."""
        tile = f"{self.rows}x{self.row_bytes}x{self.boxes}"
        return f"{self.mode}_c{self.cluster}_{tile}_s{self.stages}_{self.pattern}"


def check_case(case: Case) -> None:
    """Refuse a case that has no meaning.

    Raises
    ------
    InputError
        With the field, its value, the rule and the nearest legal value.
    """
    _check_range("cluster", case.cluster, 1, 16)
    _check_extent(case, "rows", 1, 256)
    _check_extent(case, "row_bytes", 16, 512)
    _check_range("boxes", case.boxes, 1, MOST_BOXES)
    for field in ("stages", "iterations", "consumer_warps"):
        _check_range(field, getattr(case, field), 1, 2**20)
    for field in ("compute", "reads", "footprint", "skew", "shared_bytes"):
        _check_range(field, getattr(case, field), 0, 2**42)
    if case.row_bytes % 16:
        nearest = case.row_bytes // 16 * 16
        raise InputError("row_bytes", case.row_bytes, "a row is a multiple of 16 bytes", nearest)
    if case.mode == "multicast_slices":
        _check_slices(case)
    if case.mode == "unicast_distinct" and case.pattern == "one":
        raise InputError("pattern", case.pattern, "distinct tiles cannot all be one tile", "hot")
    if case.memory == "hbm" and case.pattern != "sweep":
        raise InputError("pattern", case.pattern, "only a sweep reads from HBM", "sweep")
    if case.skew and case.cluster == 1:
        raise InputError("skew", case.skew, "a cluster of one CTA has none that starts later", 0)
    if isinstance(case.grid, int) and (case.grid < 1 or case.grid % case.cluster):
        nearest = max(1, case.grid // case.cluster) * case.cluster
        raise InputError("grid", case.grid, f"a grid is a multiple of the cluster of {case.cluster}", nearest)
    if case.consumer == "lane" and case.reads:
        raise InputError("consumer", case.consumer, "a tile is read by whole warps", "warps")
    if case.consumer != "warps" and case.consumer_warps != 1:
        rule = f"a consumer of width {case.consumer} is one warp"
        raise InputError("consumer_warps", case.consumer_warps, rule, 1)


def _check_range(field: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InputError(field, value, f"must lie from {low} to {high}", min(max(value, low), high))


def _check_extent(case: Case, field: str, low: int, high: int) -> None:
    """Refuse an extent of a box; name a legal case of more boxes and the same bytes, if there is one."""
    value = getattr(case, field)
    for parts in range(-(-value // high), MOST_PARTS + 1) if value > high else ():
        split = replace(case, **{field: value // parts, "boxes": parts * case.boxes})
        if split.tile_bytes == case.tile_bytes and _is_legal(split):
            nearest = f"{value // parts} with boxes = {split.boxes}, the same bytes"
            raise InputError(field, value, f"must lie from {low} to {high}", nearest)
    _check_range(field, value, low, high)


def _is_legal(case: Case) -> bool:
    try:
        check_case(case)
    except InputError:
        return False
    return True


def _check_slices(case: Case) -> None:
    """Every slice is a whole number of rows, and lands on a 128-byte boundary."""
    unit = case.cluster
    while unit // case.cluster * case.row_bytes % 128:
        unit += case.cluster
    if case.rows % unit:
        rule = f"{case.cluster} slices that each land on 128 bytes need a multiple of {unit} rows"
        nearest = max(unit, case.rows // unit * unit)
        raise InputError("rows", case.rows, rule, nearest if nearest <= 256 else None)
