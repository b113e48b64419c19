"""Latency between SMs in closed form: a mean, and an offset for each SM, from half of the pairs.

The round trip of a pair is the mean plus the offsets of both SMs: on silicon that leaves less than a cycle.
The table of one-way offsets takes half of both; SMs that were in no probed cluster keep the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoppersim.machine.tables import digest
from hoppersim.result.export import write_whole
from hw_validate.bench import machine_for
from hw_validate.fit.outcome import Context, Estimate, Outcome
from hw_validate.pair_latency import Trips

MEAN, TABLE = "fabric.latency", "tables.pair_latency"
SIGMAS = 1.96


@dataclass(frozen=True)
class PairTable:
    """The step that finds the latency of the cluster fabric, by pair of SMs."""

    name: str = "pairs"
    about: str = "latency of the cluster fabric and its table by pair, from half of the pairs of the probe"

    def run(self, context: Context) -> Outcome:
        """Work mean and table out; nothing is simulated."""
        machine = machine_for(context.request)
        run = context.training.run_on(machine)
        trips = context.training.pairs(run) if run is not None else {}
        if run is None or not trips:
            return Outcome(self.name, notes=("the part of the machine's floorplan was not probed",))
        mean, offsets, spread = solve(trips, machine.sm_count)
        table = np.round((offsets[:, None] + offsets[None, :]) / 2, 2)
        path = context.folder / f"pair_latency-{digest(table)}.csv"
        write_whole(path, lambda file: np.savetxt(file, table, fmt="%.2f", delimiter=","))
        seen = sorted({sm for pair in trips for sm in pair})
        before, half = float(machine.provenance[MEAN].value), SIGMAS * spread / 2
        widths = (np.ptp(table[np.ix_(seen, seen)]), np.ptp(machine.pair_latency))
        estimates = (
            Estimate(MEAN, (MEAN,), round(mean / 2, 2), before, half, "cycle"),
            Estimate(TABLE, (TABLE,), float(widths[0]), float(widths[1]), half, "cycle", path),
        )
        notes = (
            f"the value of {TABLE} is the width of its offsets",
            f"{machine.sm_count - len(seen)} SMs were in no probed cluster and keep the mean",
            "only round trips are measured: how one divides into the two ways is assumed",
        )
        return Outcome(self.name, estimates, run, (f"{len(trips)} pairs",), notes=notes)


def solve(trips: Trips, sms: int) -> tuple[float, NDArray[np.float64], float]:
    """Solve for the mean round trip, the offset of each SM and what is left over [cycle].

    Parameters
    ----------
    trips
        Round trips by pair of SMs.
    sms
        SMs of the chip; those in no pair have the offset 0.
    """
    seen = sorted({sm for pair in trips for sm in pair})
    place = {sm: number for number, sm in enumerate(seen)}
    rows = np.zeros((len(trips) + 1, len(seen) + 1))
    for row, (loader, owner) in enumerate(trips):
        rows[row, [0, 1 + place[loader], 1 + place[owner]]] = 1
    rows[-1, 1:] = 1  # offsets add up to nothing
    cycles = np.array([*trips.values(), 0.0])
    solved, *_ = np.linalg.lstsq(rows, cycles, rcond=None)
    left = cycles - rows @ solved
    offsets = np.zeros(sms)
    offsets[seen] = solved[1:]
    return float(solved[0]), offsets, float(left.std())
