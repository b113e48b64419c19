"""Use of links over time, from the fabric's counters at successive ticks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoppersim.result.limiter import RESOURCES
from hoppersim.units import TICKS_PER_CYCLE

FLOWS = {
    "gpc.bytes_in": "into the GPCs",
    "sm.bytes_loaded": "loaded into shared memory",
    "sm.bytes_in_dsmem": "copied into shared memory from peers",
    "sm.bytes_in_remote": "loaded from peers and stored to them by threads",
    "hbm.bytes_read": "read from HBM",
}
"""Counters of bytes that a trace shows as rates, and what it calls them."""


class Reading(NamedTuple):
    """What was going on from a tick on: values by (name, unit), the unit being ``%`` or ``B/cycle``."""

    tick: int
    values: dict[tuple[str, str], float]


class Meter:
    """Turns counters into rates between two readings.

    The fabric books the service of a line when the line arrives, which may be before it is served: what a
    unit cannot have done in the time that has passed is left for the next reading.
    """

    def __init__(self) -> None:
        self._tick = 0
        self._last: Mapping[str, NDArray[np.int64]] = {}
        self._booked: dict[str, NDArray[np.int64]] = {}

    def read(self, tick: int, counters: Mapping[str, NDArray[np.int64]]) -> Reading | None:
        """Give the rates since the reading before; None for the first, or if no time has passed."""
        since, last = self._tick, self._last
        self._tick, self._last = tick, counters
        if not last or tick <= since:
            return None
        passed = tick - since
        values: dict[tuple[str, str], float] = {}
        for key, name in RESOURCES.items():
            busy = self._busy(key, counters[f"busy.{key}"] - last[f"busy.{key}"], passed)
            values[f"{name}, busiest of {busy.size}", "%"] = 100 * float(busy.max()) / passed
            values[f"{name}, mean of {busy.size}", "%"] = 100 * float(busy.mean()) / passed
        for counter, name in FLOWS.items():
            count = int((counters[counter] - last[counter]).sum())
            values[name, "B/cycle"] = count * TICKS_PER_CYCLE / passed
        return Reading(since, values)

    def _busy(self, key: str, booked: NDArray[np.int64], passed: int) -> NDArray[np.int64]:
        """Give the ticks that the units of a resource were busy, of those that are booked."""
        waiting = self._booked.get(key, 0) + booked
        busy = np.minimum(waiting, passed)
        self._booked[key] = waiting - busy
        return busy
