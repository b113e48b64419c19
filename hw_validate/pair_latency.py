"""Latency between the SMs of a cluster, as the floorplan probe measured it: half to fit, half to score.

What counts is what the network adds to a load: the round trip of a remote load less that of a local one by
the same SM.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from typing import Any

from hoppersim.dataset import Dataset
from hoppersim.machine.machine import Machine

Trips = dict[tuple[int, int], float]
"""Round trip [cycle] by the SM that loads and the SM that owns the data."""
HALVES = ("training", "set aside")


def is_fitted(one: int, other: int) -> bool:
    """Whether a pair of SMs belongs to the fitted half; both directions do, or none."""
    text = f"{min(one, other)} {max(one, other)}"
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 0


def network_trips(floorplan: dict[str, Any], half: str) -> Trips:
    """Give the measured round trips of one half of the pairs, local loads taken off.

    Parameters
    ----------
    floorplan
        What the probe found on one part; empty where it did not measure pairs.
    half
        One of `HALVES`.
    """
    found: Trips = {}
    for cluster in floorplan.get("pair_latency", {}).get("clusters", []):
        for row, loader in enumerate(cluster["sms"]):
            local = cluster["cycles"][row][row]
            for column, owner in enumerate(cluster["sms"]):
                if loader != owner and is_fitted(loader, owner) == (half == HALVES[0]):
                    found[loader, owner] = cluster["cycles"][row][column] - local
    return found


def part_of(machine: Machine, dataset: Dataset) -> str | None:
    """Find the run on the part whose floorplan the machine has; None if no run was."""
    origin = machine.floorplan.origin
    return next((run.run for run in dataset.manifest.runs if run.uuid in origin), None)


def simulated_trip(machine: Machine, loader: int, owner: int) -> float:
    """Give the round trip that the machine states [cycle]."""
    ways = machine.pair_latency[loader, owner] + machine.pair_latency[owner, loader]
    return 2 * machine.spec.fabric.latency + float(ways)


def pair_score(machine: Machine, trips: Trips) -> dict[str, float]:
    """Score a machine: pairs, root of the mean squared gap, largest gap and mean gap [cycle]."""
    gaps = [simulated_trip(machine, *pair) - cycles for pair, cycles in trips.items()]
    if not gaps:
        return {"points": 0}
    return {
        "points": len(gaps),
        "rms": math.sqrt(statistics.fmean(gap * gap for gap in gaps)),
        "worst": max(map(abs, gaps)),
        "bias": statistics.fmean(gaps),
    }
