"""Interval and latency of paced boxes: what a point of a bandwidth-latency curve says, by its stamps."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec

ENDS = (("issued", "arrived"), ("issued", "credited"))
"""Names of the stamps at the issue of a box and at its end."""
Stamps = Mapping[str, Sequence[Sequence[float]]]
"""Times by ``role.name``, CTA by CTA, in order [cycle]."""


class Pace(msgspec.Struct, frozen=True):
    """Mean time between two issues, median over the CTAs, and median time from issue to end [cycle].

    The mean, since boxes of a full ring are issued in bursts; it gives the rate.
    """

    interval: float
    latency: float


def pace_of(stamps: Stamps) -> Pace | None:
    """Work out pace and latency.

    Parameters
    ----------
    stamps
        What a run stamped; the stamps at both ends may be of different roles.

    Returns
    -------
    Pace | None
        None where boxes are not stamped at both ends, or no CTA issues two.
    """
    by_name = {name.rpartition(".")[2]: times for name, times in stamps.items()}
    for begin, end in ENDS:
        if begin in by_name and end in by_name:
            return _pace(by_name[begin], by_name[end])
    return None


def _pace(issued: Sequence[Sequence[float]], ended: Sequence[Sequence[float]]) -> Pace | None:
    intervals: list[float] = []
    latencies: list[float] = []
    for here, there in zip(issued, ended, strict=False):
        if len(here) > 1:
            intervals.append((here[-1] - here[0]) / (len(here) - 1))
        latencies += [end - begin for begin, end in zip(here, there, strict=False)]
    if not intervals or not latencies:
        return None
    return Pace(statistics.median(intervals), statistics.median(latencies))
