"""The L2 request coalescer in front of a slice.

Models: reads of one line by SMs of one GPC meet in front of the slice. For each GPC the slice keeps the
latest `held` lines that were asked for; a read meets the latest of them with the same sectors that has room
for it. If the response of that line still waits for its look-up, or its data are on their way, the read
merges with it: one response passes the port of the GPC once, and is handed to the readers behind it. Else
it shares the look-up, once, but is sent by itself, and so is a second read by an SM that read the line
alone. Of the responses that wait at a slice, the first `answers` are looked up; with one behind them a read
merges as long as the slice was asked for fewer than `entries` other lines since, by whatever GPC: a line
that is asked for again takes no further place. `max_merged` reads share a look-up; the next one begins anew.
A TMA multicast is merged by program: one request, one response, a copy for each receiver; it joins nothing.

Leaves out: what a line that is held costs. Counters: lrc.requests, lrc.sectors_out, lrc.sectors_merged.
"""

from __future__ import annotations

from numba.extending import register_jitable

ALONE, SHARES, MERGES = range(3)
"""A read is looked up itself, shares a look-up but is sent itself, or shares the response as well."""


@register_jitable
def still_merges(before: int, since: int, entries: int, answers: int) -> bool:
    """Say whether a read may share the response of an earlier one that waits at the slice with its data.

    Parameters
    ----------
    before
        Responses that wait at the slice before it.
    since
        Different lines that the slice was asked for since.
    entries, answers
        Different lines that the coalescer sees before their look-up, and responses that wait after it.
    """
    return before >= answers and since < entries
