"""What of a run a trace shows: which clusters, which stretch of time, and how large it may become."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hoppersim.engine.context import Cta
from hoppersim.errors import InputError
from hoppersim.units import to_ticks

DEFAULT_CTAS = 8
"""CTAs of each flow that a trace shows unless told otherwise, in whole clusters, one cluster at least."""
DEFAULT_MEGABYTES = 32
MOST_MEGABYTES = 4096
NEVER = 1 << 62
"""A tick that no run reaches."""


@dataclass(frozen=True)
class Selection:
    """What a trace shows. A cluster is shown whole: its barriers wait for all of its CTAs.

    Parameters
    ----------
    clusters, sms
        Numbers of clusters of every flow, and SMs whose clusters are shown; with neither, the first clusters
        up to `DEFAULT_CTAS` CTAs.
    begin, end
        Window [tick]; what began before it or ends after it is shown clipped.
    megabytes
        Largest size of the file, about [MB]; the trace ends where it is reached.
    """

    clusters: frozenset[int] = frozenset()
    sms: frozenset[int] = frozenset()
    begin: int = 0
    end: int = NEVER
    megabytes: int = DEFAULT_MEGABYTES

    def follows(self, cta: Cta) -> bool:
        """Tell whether a CTA is shown."""
        if not self.clusters and not self.sms:
            return cta.cluster < max(1, DEFAULT_CTAS // len(cta.peers))
        return cta.cluster in self.clusters or any(peer.sm in self.sms for peer in cta.peers)


def make_selection(
    window: str | None = None,
    clusters: str | None = None,
    sms: str | None = None,
    megabytes: int = DEFAULT_MEGABYTES,
    prefix: str = "--",
) -> Selection:
    """Read a selection as users write it.

    Parameters
    ----------
    window
        ``START:LENGTH`` [cycle].
    clusters, sms
        Numbers and ranges, ``0-3,8``.
    megabytes
        Largest size of the file [MB].
    prefix
        What stands before the names of the options in errors.

    Raises
    ------
    InputError
        If one of them cannot be read, or the size is out of range.
    """
    if not 1 <= megabytes <= MOST_MEGABYTES:
        nearest = min(max(megabytes, 1), MOST_MEGABYTES)
        raise InputError(f"{prefix}limit", megabytes, f"must lie from 1 to {MOST_MEGABYTES} MB", nearest)
    begin, end = _window(window, f"{prefix}window")
    return Selection(
        clusters=_numbers(clusters, f"{prefix}clusters"),
        sms=_numbers(sms, f"{prefix}sms"),
        begin=begin,
        end=end,
        megabytes=megabytes,
    )


def _window(text: str | None, field: str) -> tuple[int, int]:
    if text is None:
        return 0, NEVER
    match = re.fullmatch(r"\s*(\d{1,12})\s*:\s*(\d{1,12})\s*", text)
    if match is None or not int(match[2]):
        rule = "must read START:LENGTH in SM cycles, the length being at least 1"
        raise InputError(field, text, rule, "2000:500")
    begin = int(match[1])
    return (to_ticks(begin) if begin else 0), to_ticks(begin + int(match[2]))


def _numbers(text: str | None, field: str) -> frozenset[int]:
    """Read numbers and ranges of them; nothing stands for none."""
    if text is None:
        return frozenset()
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6}))?\s*", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise InputError(field, text, "must list numbers and ranges", "0-3,8")
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found)
