"""The L2 request coalescer of a GPC.

Models: while a line read is under way for one SM of the GPC, another read of the same sectors of the line joins
it instead of going to the L2, up to `max_merged` readers and `entries` open lines; the response passes the GPC's
port once and is handed to every reader behind it. A TMA multicast is the same thing by program: one request, one
response through the port, a copy for each receiver; it does not merge with other requests.

Leaves out: holding a line after its response, merging across GPCs. Counters: lrc.requests, lrc.sectors_out,
lrc.sectors_merged.
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
