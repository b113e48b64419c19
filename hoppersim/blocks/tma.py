"""The TMA engine: a box becomes line requests, in box order.

Models: one request for each 128-byte line that a row of the box touches, with the sectors it needs, at a
fixed interval; boxes of an SM one after the other. Lines in flight are bounded by the boxes that the program
has issued; measured rates need more of them than any other bound that was tried, so there is none here.

Leaves out: the descriptor fetch, L2 promotion. Counters: tma.lines, tma.multicast_lines.
"""

from __future__ import annotations

from numba.extending import register_jitable

from hoppersim.units import LINE_BYTES, SECTOR_BYTES


@register_jitable
def lines_of_row(address: int, row_bytes: int) -> int:
    """Count the lines that a row touches."""
    return (address + row_bytes - 1) // LINE_BYTES - address // LINE_BYTES + 1


@register_jitable
def bytes_in_line(address: int, row_bytes: int, line: int) -> int:
    """Bytes of the row that lie in the line."""
    first = max(address, line * LINE_BYTES)
    last = min(address + row_bytes, (line + 1) * LINE_BYTES)
    return last - first


@register_jitable
def sectors_in_line(address: int, row_bytes: int, line: int) -> int:
    """Sectors of the line that the row needs."""
    first = max(address, line * LINE_BYTES)
    last = min(address + row_bytes, (line + 1) * LINE_BYTES)
    return (last - 1) // SECTOR_BYTES - first // SECTOR_BYTES + 1
