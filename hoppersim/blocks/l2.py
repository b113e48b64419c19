"""The L2 slices: which lines they hold, and which line leaves when one comes in.

Models: each slice holds a fixed number of 128-byte lines, any line in any place; when it is full, a fill
drops a line drawn by a hash of the slice's count of fills, so a working set above the capacity loses its
hits gradually, as measured, and not all at once, as with LRU. A slice of the reader's partition keeps
copies of lines whose home is in the other one, so read-shared data is held twice. A look-up's data are
read by one of the `banks` of the slice, each at its share of the slice's rate, and handed on in order: those
that meet at a bank wait while others are idle (docs/hypotheses.md). A slice sends sectors at its own rate, in
order; while the port of a GPC that its next response goes to is full, it sends nothing at
all, which is how one GPC slows its neighbours. A request with promotion to 256 bytes has the other line of
its pair looked up as well, hit or miss, and fetched where that is missing (plan `shapes`).

Leaves out: sector validity (a miss fetches the whole line), write-back, what chooses a bank: not the address
alone, since one line comes at the full rate again and again; the model draws one for each read.
Counters: l2.sectors, l2.hits, l2.misses, l2.fabric_sectors.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from hoppersim.blocks.addresses import mix

Places = NDArray[np.int32]
Present = NDArray[np.uint8]

EMPTY = -1
HASH_BITS, BANK_STRIDE = 31, 128


@register_jitable
def bank_of(piece: int, turn: int, banks: int) -> int:
    """Bank that reads the data of a slice's response of this number."""
    return mix(turn * BANK_STRIDE + piece) * banks >> HASH_BITS


def empty_places(slices: int, capacity_bytes: int, line_bytes: int) -> Places:
    """Make the places of all slices, shape (slices, places + 1); the last column counts fills."""
    places = np.full((slices, max(1, capacity_bytes // (slices * line_bytes)) + 1), EMPTY, dtype=np.int32)
    places[:, -1] = 0
    return places


def nothing_present(partitions: int, lines: int) -> Present:
    """Say that no line is held by any partition, shape (partitions, lines), in whole pairs of lines."""
    return np.zeros((partitions, lines + lines % 2), dtype=np.uint8)


@register_jitable
def look_up(present: Present, partition: int, line: int) -> bool:
    """Say whether the line is held by its slice of the partition."""
    return bool(present[partition, line])


@register_jitable
def other_of_pair(line: int) -> int:
    """Give the other line of the aligned 256 bytes, which lies in the same slice."""
    return line ^ 1


@register_jitable
def install(places: Places, present: Present, piece: int, partition: int, line: int) -> None:
    """Put the line into slice `piece` of the partition; another one may have to leave."""
    if present[partition, line]:
        return
    size = places.shape[1] - 1
    fills = int(places[piece, size])
    at = fills if fills < size else mix(fills + (piece << 20)) % size
    if places[piece, at] != EMPTY:
        present[partition, places[piece, at]] = 0
    places[piece, at] = line
    places[piece, size] = fills + 1
    present[partition, line] = 1
