"""Which lines of its memory a flow's loads touch, without running it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hoppersim.program.operations import TmaLoad, TmaStore
from hoppersim.program.tiles import Ints, Shape
from hoppersim.program.traffic import load_readers
from hoppersim.program.walk import walk, walk_performed
from hoppersim.program.work import Flow
from hoppersim.units import LINE_BYTES


def touched_lines(
    flow: Flow, clusters: Sequence[tuple[int, ...]], allocation: str, address: int
) -> NDArray[np.bool_]:
    """Say of each line of an allocation whether a load of the flow touches it.

    Parameters
    ----------
    flow
        The flow.
    clusters
        SMs by rank of each of its clusters.
    allocation, address
        Name of the memory, and the address of its first byte.

    Returns
    -------
    numpy.ndarray
        Shape (lines,); all true for memory that stores go to as well.
    """
    size = next(item.bytes for item in flow.launch.allocations if item.name == allocation)
    first = address // LINE_BYTES
    changes = np.zeros(-(-(address + size) // LINE_BYTES) - first + 1, np.int64)
    if _is_stored_to(flow, allocation):
        return np.ones(len(changes) - 1, np.bool_)
    for shape, addresses in _boxes(flow, clusters, allocation, address - first * LINE_BYTES):
        starts = (addresses[:, None] + shape.offsets).ravel()
        np.add.at(changes, starts // LINE_BYTES, 1)
        np.add.at(changes, (starts + shape.run_bytes - 1) // LINE_BYTES + 1, -1)
    return np.cumsum(changes)[:-1] > 0


def _is_stored_to(flow: Flow, allocation: str) -> bool:
    stores = (visit.operation for visit in walk(flow.program))
    return any(
        isinstance(store, TmaStore) and flow.program.map(store.map).allocation == allocation
        for store in stores
    )


def _boxes(
    flow: Flow, clusters: Sequence[tuple[int, ...]], allocation: str, base: int
) -> Iterator[tuple[Shape, Ints]]:
    """Give the shapes of boxes of an allocation, each with the addresses at which such boxes lie."""
    found: dict[Shape, list[Ints]] = defaultdict(list)
    for visit in walk_performed(flow.program):
        load = visit.operation
        if not isinstance(load, TmaLoad) or flow.program.map(load.map).allocation != allocation:
            continue
        for reader in load_readers(flow, visit, clusters, {allocation: base}):
            for number, shape in enumerate(reader.tiles.shapes):
                if shape.run_bytes == 0 or not len(shape.offsets):  # wholly out of bounds
                    continue
                found[shape].append(np.unique(reader.tiles.address[reader.tiles.shape == number]))
    for shape, addresses in found.items():
        yield shape, np.unique(np.concatenate(addresses))
