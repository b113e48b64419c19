"""The L2 request coalescer in front of a slice.

Models: reads of one line by SMs of one GPC meet in the slice. Requests wait for their look-up, `entries` of
them where the coalescer sees them and the others before that; up to `held` lines that are looked up wait for
their way out. A read that finds one of the same sectors still waiting for its look-up, or for its data,
merges with it: the line is looked up and sent once, passes the port of the GPC once, and is handed to the
readers behind it. One that finds the line waiting for its way out shares the look-up, but is sent by itself,
and so is a second read by the same SM. `max_merged` reads share a look-up; the next one begins anew. A TMA
multicast is merged by program: one request, one response, a copy for each receiver; it joins nothing.

Leaves out: holding a line after its response. Counters: lrc.requests, lrc.sectors_out, lrc.sectors_merged.
"""

from __future__ import annotations

from numba.extending import register_jitable

ALONE, SHARES, MERGES = range(3)
"""A read is looked up itself, shares a look-up but is sent itself, or shares the response as well."""


@register_jitable
def meeting(waiting: int, between: int, entries: int, held: int) -> int:
    """Say how a read meets an earlier one of the same line whose response waits at the slice.

    Parameters
    ----------
    waiting
        Responses that wait at the slice.
    between
        How many places behind the earlier one the read would wait.
    entries, held
        Lines that the coalescer sees before their look-up, and that wait after it.
    """
    place = min(waiting, held + entries) - between
    if place >= held:
        return MERGES
    return SHARES if place >= 0 else ALONE
