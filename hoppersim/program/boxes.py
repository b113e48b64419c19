"""Which bytes of global memory a box touches, with the out-of-bounds part clipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hoppersim.errors import InputError
from hoppersim.program.work import TensorMap

MAX_RANK = 5


class BoxLines(NamedTuple):
    """The in-bounds rows of a box: `row_bytes` from `address`, repeated over four outer dimensions.

    A box that lies wholly out of bounds has no rows: `row_bytes` and all `counts` are 0.
    """

    address: int
    row_bytes: int
    counts: tuple[int, int, int, int]
    strides: tuple[int, int, int, int]
    oob_bytes: int
    """Bytes that are filled, not read; the barrier counts them all the same."""


def box_lines(tensor_map: TensorMap, base_address: int, coordinates: Sequence[int]) -> BoxLines:
    """Lay one box over its tensor.

    Parameters
    ----------
    tensor_map
        A tensor map of rank 1 to 5.
    base_address
        Byte address of the map's allocation; the map's own `base` is added.
    coordinates
        First element of the box in each dimension, innermost first; may lie outside the tensor.

    Raises
    ------
    InputError
        If the number of coordinates is not the rank, or the rank is not 1 to 5.
    """
    rank = tensor_map.rank
    if not 1 <= rank <= MAX_RANK:
        raise InputError(f"{tensor_map.name}.dims", tensor_map.dims, "a tensor has 1 to 5 dimensions")
    if len(coordinates) != rank:
        raise InputError(
            "coordinates", tuple(coordinates), f"a box of {tensor_map.name} has {rank} coordinates", None
        )
    address = base_address + tensor_map.base
    counts, strides = [1] * MAX_RANK, [0] * MAX_RANK
    for dim in range(rank):
        step = _element_stride(tensor_map, dim)
        first, counts[dim] = _clip(coordinates[dim], tensor_map.box_elements[dim], step, tensor_map.dims[dim])
        address += first * tensor_map.byte_strides[dim]
        strides[dim] = step * tensor_map.byte_strides[dim]
    if 0 in counts:
        return BoxLines(base_address + tensor_map.base, 0, (0, 0, 0, 0), (0, 0, 0, 0), tensor_map.box_bytes)
    row_bytes = counts[0] * tensor_map.element_bytes
    inside = row_bytes * counts[1] * counts[2] * counts[3] * counts[4]
    return BoxLines(
        address,
        row_bytes,
        (counts[1], counts[2], counts[3], counts[4]),
        (strides[1], strides[2], strides[3], strides[4]),
        tensor_map.box_bytes - inside,
    )


def _element_stride(tensor_map: TensorMap, dim: int) -> int:
    """Give the element stride of a dimension; dimension 0 is dense."""
    return tensor_map.element_strides[dim] if tensor_map.element_strides and dim else 1


def _clip(start: int, count: int, step: int, extent: int) -> tuple[int, int]:
    """Give the first in-bounds coordinate, and how many of `count` from `start` by `step` lie in bounds."""
    skipped = max(0, -(start // step)) if start < 0 else 0
    end = min(count, -(-(extent - start) // step))
    return start + skipped * step, max(0, end - skipped)
