"""Shapes of boxes at equal bytes: narrow rows, places off the line grid, L2 promotion.

Hypothesis A: the TMA engine takes a line in a fixed time, so bytes per line touched give the rate.
Hypothesis B: it takes a row of the box in a fixed time, so narrow rows are slow even where several share a
line. Rows of 16 to 256 bytes, dense (rows share lines) and one to a line, with the same bytes in a box, tell
them apart; a row that begins 16, 32 or 64 bytes off a line touches one line more. Promotion: it changes what
a miss fetches (DRAM bytes of a cold sweep over rows of 32 bytes), or nothing.

Answer: B. The engine makes a request a cycle, and a request is a piece of a row: each 128 bytes of the row
in shared memory, cut where the source crosses a line and where it begins off the grid of 32 bytes. A slice
takes one request an L2 cycle, up to 64 bytes. Promotion to 256 bytes looks the neighbouring line up too, hit
or miss, and doubles the DRAM bytes; to 64 it changes nothing, to 128 only what narrow rows fetch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hoppersim.program.operations import Affine, TmaLoad
from hoppersim.program.work import Launch, TensorMap, Work
from hw_validate.bundle import Point
from hw_validate.plans.parts import box_ring, marked

BOX_BYTES = 4096
SHIFTS = {32: (16, 112), 64: (32, 96), 128: (0, 16, 32, 64), 256: (0, 16, 64)}
CUTS = {48: (0, 16, 32, 96, 112), 64: (16, 48, 80, 112), 96: (0, 16, 48, 112), 128: (80, 112)}
"""Bytes of a row, and how far off the line grid rows begin."""
TILES = 64
Depth = tuple[int, int, int]
"""Boxes in a stage, stages, and tiles of a region."""
DEEP: dict[int, Depth] = {1: (4, 6, 8), 132: (2, 4, 4)}
"""By CTAs: enough in flight, and every line that is touched in the L2."""
SINGLE: Depth = (1, 1, 4)


@dataclass(frozen=True)
class Shape:
    """Boxes of 3 or 4 KB: `width` bytes a row, rows `pitch` bytes apart, `shift` bytes off the line grid."""

    width: int
    pitch: int
    shift: int = 0
    promotion: int = 0
    boxes: int = 2
    stages: int = 4
    region: int = 4
    ctas: int = 132
    hbm: bool = False

    @property
    def box_bytes(self) -> int:
        """Bytes of a box [B]: 4 KB, or 3 KB where rows do not fill that."""
        return BOX_BYTES if BOX_BYTES % self.width == 0 else BOX_BYTES * 3 // 4

    @property
    def rows(self) -> int:
        """Rows of a box."""
        return self.box_bytes // self.width


def points() -> list[Point]:
    """List the points; those that showed where rows are cut are not set aside."""
    return [*marked([*_widths(), *_shifts(SHIFTS), *_promotions()]), *_shifts(CUTS)]


def _point(shape: Shape, experiment: str) -> Point:
    fields = {name: getattr(shape, name) for name in Shape.__dataclass_fields__}
    name = "_".join(str(value) for value in (shape.width, shape.pitch, shape.shift, shape.promotion,
                                             shape.boxes, shape.stages, shape.ctas))  # fmt: skip
    label = f"{experiment}_{name}{'_hbm' if shape.hbm else ''}"
    return Point(shape_work(shape), label, 5, tags={"experiment": experiment, **fields})


def _widths() -> Iterator[Point]:
    """Dense rows, and rows with a line (or two) of their own; at depth, and one box at a time."""
    for width in (16, 32, 64, 128, 256):
        for pitch in sorted({width, max(128, width)}):
            for ctas in (1, 132):
                for depth in (DEEP[ctas], SINGLE):
                    yield _point(Shape(width, pitch, 0, 0, *depth, ctas), "width")


def _shifts(rows: Mapping[int, tuple[int, ...]]) -> Iterator[Point]:
    for width, shifts in rows.items():
        for shift in shifts:
            for ctas, depth in ((1, DEEP[1]), (132, DEEP[132]), (1, SINGLE)):
                yield _point(Shape(width, 512, shift, 0, *depth, ctas), "shift")


def _promotions() -> Iterator[Point]:
    for hbm in (False, True):
        for width in (32, 128):
            for promotion in (0, 64, 128, 256):
                if hbm or promotion:
                    yield _point(Shape(width, 512, 0, promotion, hbm=hbm), "promotion")


def shape_work(shape: Shape) -> Work:
    """Write a ring of boxes of a shape: each CTA a region of its own, once from HBM or again and again."""
    tile_rows = shape.boxes * shape.rows
    rounds = TILES // shape.region
    span = shape.region * tile_rows * (rounds if shape.hbm else 1)
    loops = {"tile": tile_rows, "round": shape.region * tile_rows if shape.hbm else 0}
    loads = tuple(
        TmaLoad(
            "boxes",
            (shape.shift // 2, Affine(base=box * shape.rows, cluster=span, loops=loops)),
            "tile",
            "full",
            box * shape.box_bytes,
        )
        for box in range(shape.boxes)
    )
    elements = 2
    boxes = TensorMap(
        "boxes", "data", (shape.pitch // elements, shape.ctas * span), (shape.width // elements, shape.rows),
        elements, l2_promotion=shape.promotion,  # type: ignore[arg-type]
    )  # fmt: skip
    ring = (shape.boxes * shape.box_bytes, shape.stages, shape.region)
    launch = Launch((), shape.ctas, warm=int(not shape.hbm))
    return box_ring("shapes", loads, boxes, ring, ((rounds, False),), launch)
