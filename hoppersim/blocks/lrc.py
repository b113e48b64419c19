"""The L2 request coalescer in front of a slice.

Models: reads of one line by SMs of one GPC meet in front of the slice. For each GPC the slice keeps the
latest `held` lines that were asked for, each until some cycles, `linger`, after its response has left; a
read meets the latest of them with the same sectors that has room for it. As long as the data of that line
are not read, the read merges with it: one response passes the port of the GPC once, and is handed to the
readers behind it. Else it shares the look-up and what that has read, once, but is sent by itself, and so is a
second read by an SM that read the line alone. Data are read at the slice's rate, but only while fewer
than `answers` responses wait for a port; and the coalescer sees no more than `entries` different lines that
wait for that, of all GPCs: a line that is asked for again takes no further place. `max_merged` reads share a
look-up; the next one begins anew. A TMA multicast is merged by program: one request, one response, a copy for
each receiver; it joins nothing.

Leaves out: what a line that is held costs. Counters: lrc.requests, lrc.sectors_out, lrc.sectors_merged.
"""

from __future__ import annotations

from numba.extending import register_jitable

ALONE, SHARES, MERGES = range(3)
"""A read is looked up itself, shares a look-up but is sent itself, or shares the response as well."""


@register_jitable
def still_merges(unread: bool, before: int, since: int, entries: int, answers: int) -> bool:
    """Say whether a read may share the response of an earlier one that has not left the slice.

    Parameters
    ----------
    unread
        Whether its data are not read yet.
    before
        Responses that are to leave the slice before it.
    since
        Different lines that the slice was asked for since.
    entries, answers
        Different lines that the coalescer sees before their data are read, and responses that wait after it.
    """
    return (unread or before >= answers) and since < entries
