"""The TMA engine: a box becomes line requests, in box order.

Models: one request for each piece of a row, with the sectors it needs, at a fixed interval. A row is cut
where the source crosses a line of 128 bytes, where the box does in shared memory, and where each part begins
or ends off the grid of 32 bytes (plan `shapes`); boxes of an SM one after the other. Lines in flight are
bounded by the boxes that the program has issued; measured rates need more of them than any other bound that
was tried, so there is none here. A store makes the same pieces; a sector that it covers in part takes two
turns.

Leaves out: the descriptor fetch, L2 promotion to 64 bytes (a miss fetches a line, whatever is promoted).
Counters: tma.lines, tma.multicast_lines.
"""

from __future__ import annotations

from numba.extending import register_jitable

from hoppersim.units import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE

LINE_BITS, SECTOR_BITS = 7, 5
IN_LINE, IN_SECTOR = LINE_BYTES - 1, SECTOR_BYTES - 1
"""Bits of an address that say where it lies in its line and in its sector."""


@register_jitable
def piece_end(address: int, row_bytes: int, at: int, before: int) -> int:
    """Find the end of a request.

    Parameters
    ----------
    address, row_bytes
        First byte and size of its row.
    at
        Where it begins.
    before
        Bytes of the box in front of the row, as far as they are less than a line.
    """
    chunk_end = at + LINE_BYTES - (at - address + before & IN_LINE)
    line_end = at + LINE_BYTES - (at & IN_LINE)
    end = min(chunk_end, line_end, address + row_bytes)
    if at & IN_SECTOR:
        return min(end, at + SECTOR_BYTES - (at & IN_SECTOR))
    grid = end - (end & IN_SECTOR)
    return grid if grid > at else end


@register_jitable
def after_row(before: int, row_bytes: int) -> int:
    """Bytes of the box in front of the next row, as far as they are less than a line."""
    return before + row_bytes & IN_LINE


@register_jitable
def pieces_of_row(address: int, row_bytes: int, before: int) -> int:
    """Count the requests that a row takes."""
    count = 0
    at = address
    while at < address + row_bytes:
        at = piece_end(address, row_bytes, at, before)
        count += 1
    return count


@register_jitable
def sectors_between(start: int, end: int) -> int:
    """Count the sectors that the bytes from `start` up to `end` touch."""
    return (end - 1 >> SECTOR_BITS) - (start >> SECTOR_BITS) + 1


@register_jitable
def written_sectors(sectors: int, data: int) -> int:
    """Turns that a stored piece of `data` bytes takes: one for each sector, one more if one is not full."""
    partial = data < sectors * SECTOR_BYTES
    return min(SECTORS_PER_LINE, sectors + (1 if partial else 0))
