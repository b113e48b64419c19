"""What the builders share: padding, a tensor of rows, launches, range checks."""

from __future__ import annotations

from typing import Literal

from hoppersim.errors import InputError
from hoppersim.program.work import Buffer, TensorMap

Grid = int | Literal["fill"]

ROW_BYTES = 128
TENSOR_ROWS = 2**16
ALONE_ON_SM = 120 * 1024
"""Shared memory that leaves room for one CTA on an SM of 164 to 228 KiB."""


def padding(*rings: tuple[int, int]) -> tuple[Buffer, ...]:
    """Give a buffer that leaves room for one CTA on an SM, if rings of (bytes, stages) do not already."""
    used = sum(-(-size // 1024) * 1024 * stages for size, stages in rings)
    return () if used >= ALONE_ON_SM else (Buffer("padding", ALONE_ON_SM - used),)


def rows_map(tile_bytes: int) -> TensorMap:
    """Describe a tensor of 128-byte rows whose box is one tile of `tile_bytes`.

    Raises
    ------
    InputError
        If the tile is not 1 to 256 whole rows.
    """
    if tile_bytes % ROW_BYTES or not ROW_BYTES <= tile_bytes <= 256 * ROW_BYTES:
        nearest = min(max(tile_bytes // ROW_BYTES, 1), 256) * ROW_BYTES
        raise InputError("tile_bytes", tile_bytes, "a tile is 1 to 256 rows of 128 bytes", nearest)
    return TensorMap(
        "tiles", "data", (ROW_BYTES // 2, TENSOR_ROWS), (ROW_BYTES // 2, tile_bytes // ROW_BYTES)
    )


def check_range(field: str, value: int, low: int, high: int) -> None:
    """Refuse a value outside a range.

    Raises
    ------
    InputError
        With the nearest value inside.
    """
    if not low <= value <= high:
        raise InputError(field, value, f"must lie from {low} to {high}", min(max(value, low), high))
