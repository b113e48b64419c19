"""The L2 request coalescer in front of a slice.

Models: while the read of a line is under way in the slice, another read of the same sectors joins it, up to
`max_merged` readers and `entries` open lines; the line is looked up and sent once, passes the port of every
GPC that reads it once, and is handed to the readers behind. When an entry is full, the next read opens a
new one. A second read by an SM that reads the line already is served from the same look-up, but sent by
itself. A TMA multicast is merged by program: one request, one response, a copy for each receiver; it does
not join other requests.

Leaves out: holding a line after its response. Counters: lrc.requests, lrc.sectors_out, lrc.sectors_merged.
"""

from __future__ import annotations

from numba.extending import register_jitable


@register_jitable
def may_merge(readers: int, max_merged: int) -> bool:
    """Say whether an open entry with that many readers takes another."""
    return readers < max_merged


@register_jitable
def may_open(open_entries: int, entries: int) -> bool:
    """Say whether the coalescer can open another entry; if not, the request passes unmerged."""
    return open_entries < entries
