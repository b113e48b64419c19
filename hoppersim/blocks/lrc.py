"""The L2 request coalescer in front of a slice.

Models: a read of the same sectors by an SM of the same GPC joins one whose response has not left the slice,
up to `max_merged` readers, as long as no more than `entries` lines of that GPC were opened later; the line is
looked up and sent once, passes the port of the GPC once, and is handed to the readers behind it. When an
entry is full or too old, the next read opens a new one. A second read by an SM that reads the line already is
served from the same look-up, but sent by itself. A TMA multicast is merged by program: one request, one
response, a copy for each receiver; it does not join other requests.

Leaves out: holding a line after its response. Counters: lrc.requests, lrc.sectors_out, lrc.sectors_merged.
"""

from __future__ import annotations

from numba.extending import register_jitable


@register_jitable
def may_merge(readers: int, max_merged: int, younger: int, entries: int) -> bool:
    """Say whether an entry with that many readers, and that many entries opened later, takes a reader."""
    return readers < max_merged and younger < entries
