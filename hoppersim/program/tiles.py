"""Which tiles the loads of a program touch, and how often, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, lcm, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoppersim.program.operands import evaluate
from hoppersim.program.operations import Affine, For, Operand
from hoppersim.program.work import TensorMap
from hoppersim.units import LINE_BYTES

Ints = NDArray[np.int64]


class Steps(NamedTuple):
    """What loops add to operands: a column for each operand, and how often each row comes."""

    columns: tuple[Ints, ...]
    counts: Ints


class Shape(NamedTuple):
    """How the bytes of a box lie: `run_bytes` without a gap, repeated over up to four dimensions."""

    run_bytes: int
    counts: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def offsets(self) -> Ints:
        """Where the runs start, counted from the first byte of the box."""
        found = np.zeros(1, np.int64)
        for count, stride in zip(self.counts, self.strides, strict=True):
            found = (found[:, None] + stride * np.arange(count, dtype=np.int64)).ravel()
        return found


class Tiles(NamedTuple):
    """Boxes: the address of each one's first in-bounds byte, its in-bounds bytes and lines, and its shape.

    `shape` is the place of the box's shape in `shapes`.
    """

    address: Ints
    bytes: Ints
    lines: Ints
    shape: Ints
    shapes: tuple[Shape, ...]

    def only(self, chosen: NDArray[np.bool_]) -> Tiles:
        """Give the chosen boxes."""
        address, size, lines, shape = (
            field[chosen] for field in (self.address, self.bytes, self.lines, self.shape)
        )
        return Tiles(address, size, lines, shape, self.shapes)


def loop_steps(operands: Sequence[Operand], loops: Sequence[For]) -> Steps:
    """Find what the loops add to operands, over all their trips.

    Parameters
    ----------
    operands
        Operands of one operation.
    loops
        Its enclosing loops, outermost first.
    """
    by_name = {loop.name: loop for loop in loops}
    used = [name for name in by_name if any(_step(operand, name) for operand in operands)]
    repeats = prod(loop.n for loop in loops) // max(1, prod(by_name[name].n for name in used))
    columns = [np.zeros(1, np.int64) for _ in operands]
    weights = np.full(1, repeats, np.int64)
    for name in used:
        count = by_name[name].n
        trips = np.arange(_period(operands, name, count), dtype=np.int64)
        weights = (weights[:, None] * ((count - 1 - trips) // len(trips) + 1)).ravel()
        columns = [
            (column[:, None] + _step(operand, name) * trips).ravel()
            for column, operand in zip(columns, operands, strict=True)
        ]
    columns = [_wrapped(column, operand) for column, operand in zip(columns, operands, strict=True)]
    _, first, place = np.unique(_packed(columns), return_index=True, return_inverse=True)
    counts = np.zeros(len(first), np.int64)
    np.add.at(counts, place, weights)
    return Steps(tuple(column[first] for column in columns), counts)


def operand_values(operand: Operand, steps: Ints, cluster: int, rank: int) -> Ints:
    """Give the values of an operand in one CTA, one for each row of its steps."""
    if isinstance(operand, int):
        return np.full(len(steps), operand, np.int64)
    loops = dict.fromkeys(operand.loops, 0)
    return _wrapped(evaluate(operand, cluster, rank, loops) + steps, operand)


def box_tiles(tensor_map: TensorMap, base_address: int, coordinates: Sequence[Ints]) -> Tiles:
    """Lay many boxes over a tensor at once; `hoppersim.program.boxes.box_lines` does it for one.

    Parameters
    ----------
    tensor_map
        The tensor map.
    base_address
        Byte address of its allocation.
    coordinates
        First element of every box, an array for each dimension, innermost first.
    """
    address = np.full(len(coordinates[0]), base_address + tensor_map.base, np.int64)
    rows = np.ones_like(address)
    row_bytes = np.zeros_like(address)
    counts = []
    strides = tensor_map.byte_strides
    for dim, start in enumerate(coordinates):
        step = tensor_map.element_strides[dim] if tensor_map.element_strides and dim else 1
        skipped = np.where(start < 0, -(start // step), 0)
        end = np.minimum(tensor_map.box_elements[dim], -((start - tensor_map.dims[dim]) // step))
        count = np.maximum(0, end - skipped)
        counts.append(count)
        address += (start + skipped * step) * strides[dim]
        if dim == 0:
            row_bytes = count * tensor_map.element_bytes
        else:
            rows *= count
    # Rows of a pitch that is no multiple of a line lie differently; the fewest lines are counted then.
    lead = address % LINE_BYTES if all(stride % LINE_BYTES == 0 for stride in strides[1:]) else 0
    row_lines = np.where(row_bytes > 0, -(-(lead + row_bytes) // LINE_BYTES), 0)
    return Tiles(address, rows * row_bytes, rows * row_lines, *_shapes(tensor_map, counts))


def _shapes(tensor_map: TensorMap, counts: Sequence[Ints]) -> tuple[Ints, tuple[Shape, ...]]:
    """Give the shape of every box, by its in-bounds elements in each dimension, and the distinct shapes."""
    _, first, place = np.unique(_packed(counts), return_index=True, return_inverse=True)
    steps = tensor_map.element_strides or (1,) * tensor_map.rank
    strides = [step * stride for step, stride in zip(steps, tensor_map.byte_strides, strict=True)][1:]
    shapes = []
    for number in first:
        width, *outer = (int(count[number]) for count in counts)
        run = width * tensor_map.element_bytes
        left = list(strides)
        while left and run == left[0]:
            run *= outer.pop(0)
            del left[0]
        shapes.append(Shape(run, tuple(outer), tuple(left)))
    return place, tuple(shapes)


def _step(operand: Operand, name: str) -> int:
    return operand.loops.get(name, 0) if isinstance(operand, Affine) else 0


def _period(operands: Sequence[Operand], name: str, trips: int) -> int:
    """Give the trips after which a loop repeats what it adds to all operands, at most all of them."""
    period = 1
    for operand in operands:
        if isinstance(operand, Affine) and operand.loops.get(name):
            if not operand.wrap:
                return trips
            period = lcm(period, operand.wrap // gcd(operand.loops[name], operand.wrap))
    return min(period, trips)


def _wrapped(values: Ints, operand: Operand) -> Ints:
    return values % operand.wrap if isinstance(operand, Affine) and operand.wrap else values


def _packed(columns: Sequence[Ints]) -> Ints:
    """Give equal rows equal numbers."""
    packed = np.zeros(len(columns[0]), np.int64) if columns else np.zeros(1, np.int64)
    for column in columns:
        low = int(column.min())
        packed = packed * (int(column.max()) - low + 1) + (column - low)
    return packed
