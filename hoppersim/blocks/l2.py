"""The L2 slices: tags with exact least-recently-used replacement inside a set.

Models: 128-byte lines in sets of `ways`; a set is kept in order of use, so a hit moves its line to the
front and a fill drops the last. A slice of the reader's partition keeps copies of lines whose home is in the
other one, so read-shared data is held twice. A slice delivers sectors at its own rate; a miss occupies it only
when its data comes back.

Leaves out: sector validity (a miss fetches the whole line), write-back state, replacement policies other than
LRU. Counters: l2.sectors, l2.hits, l2.misses, l2.fabric_sectors.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from hoppersim.blocks.addresses import mix

Tags = NDArray[np.int64]


def empty_tags(slices: int, capacity_bytes: int, ways: int, line_bytes: int) -> Tags:
    """Make the tags of all slices, shape (slices, sets, ways); -1 is an empty way."""
    sets = max(1, capacity_bytes // (slices * ways * line_bytes))
    return np.full((slices, sets, ways), -1, dtype=np.int64)


@register_jitable
def look_up(tags: Tags, piece: int, line: int) -> bool:
    """Say whether slice `piece` holds the line, and make it the most recently used if so."""
    ways = tags[piece, mix(line) % tags.shape[1]]
    for position in range(ways.shape[0]):
        if ways[position] == line:
            for back in range(position, 0, -1):
                ways[back] = ways[back - 1]
            ways[0] = line
            return True
    return False


@register_jitable
def install(tags: Tags, piece: int, line: int) -> None:
    """Put the line into slice `piece` as most recently used; the least recently used one leaves."""
    if look_up(tags, piece, line):
        return
    ways = tags[piece, mix(line) % tags.shape[1]]
    for back in range(ways.shape[0] - 1, 0, -1):
        ways[back] = ways[back - 1]
    ways[0] = line
