"""Latency between SMs in closed form: a mean, and an offset for each SM, from half of the pairs.

The round trip of a pair is the mean plus the offsets of both SMs: on silicon that leaves less than a cycle.
The table of one-way offsets takes half of both, within GPCs; other pairs never meet. SMs that were in no
probed cluster get their offset by analogy (see `by_analogy`).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoppersim.machine.floorplan import Floorplan
from hoppersim.machine.machine import Machine
from hoppersim.machine.tables import digest
from hoppersim.pool import machine_for
from hoppersim.result.files import write_whole
from hw_validate.fit.outcome import Context, Estimate, Outcome
from hw_validate.pair_latency import Trips

MEAN, TABLE = "fabric.latency", "tables.pair_latency"
SIGMAS = 1.96
Offsets = dict[int, float]
"""Offset of a round trip by SM [cycle]."""


@dataclass(frozen=True)
class PairTable:
    """The step that finds the latency of the cluster fabric, by pair of SMs."""

    name: str = "pairs"
    about: str = "latency of the cluster fabric and its table by pair, from half of the pairs of the probe"

    def paths(self, machine: Machine) -> tuple[str, ...]:
        """List the machine's parameters that the step finds."""
        return (MEAN, TABLE)

    def run(self, context: Context) -> Outcome:
        """Work mean and table out; nothing is simulated."""
        machine = machine_for(context.request)
        run = context.training.run_on(machine)
        trips = context.training.pairs(run) if run is not None else {}
        if run is None or not trips:
            return Outcome(self.name, notes=("the part of the machine's floorplan was not probed",))
        mean, offsets, spread = solve(trips)
        table = make_table(machine, by_analogy(machine.floorplan, offsets))
        path = context.folder / f"pair_latency-{digest(table)}.csv"
        write_whole(path, lambda file: np.savetxt(file, table, fmt="%.2f", delimiter=","))
        before, half = float(machine.provenance[MEAN].value), SIGMAS * spread / 2
        widths = (float(np.ptp(table)), float(np.ptp(machine.pair_latency)))
        estimates = (
            Estimate(MEAN, (MEAN,), round(mean / 2, 2), before, half, "cycle"),
            Estimate(TABLE, (TABLE,), *widths, half, "cycle", path),
        )
        notes = (
            f"the value of {TABLE} is the width of its offsets",
            f"{machine.sm_count - len(offsets)} SMs were in no probed cluster: their offsets are by analogy",
            "only round trips are measured: how one divides into the two ways is assumed",
        )
        return Outcome(self.name, estimates, run, (f"{len(trips)} pairs",), notes=notes)


def solve(trips: Trips) -> tuple[float, Offsets, float]:
    """Solve for the mean round trip, the offset of each SM in it, and what is left over [cycle].

    Parameters
    ----------
    trips
        Round trips by pair of SMs.
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
    offsets = dict(zip(seen, solved[1:].tolist(), strict=True))
    return float(solved[0]), offsets, float(left.std())


def make_table(machine: Machine, offsets: Offsets) -> NDArray[np.float64]:
    """Make the table of one-way offsets, SM by SM [cycle]; 0 between GPCs and where no offset is known."""
    column = np.array([offsets.get(sm, 0.0) for sm in range(machine.sm_count)])
    gpc_of = np.asarray(machine.gpc_of)
    meets = (gpc_of[:, None] == gpc_of[None, :]) & ~np.eye(machine.sm_count, dtype=bool)
    return np.where(meets, np.round((column[:, None] + column[None, :]) / 2, 2), 0.0)


class _Place(NamedTuple):
    """Where an SM is: number of its GPC, of its CPC in that, of its TPC in that, of the SM in that."""

    gpc: int
    cpc: int
    tpc: int
    sm: int


def by_analogy(plan: Floorplan, offsets: Offsets) -> Offsets:
    """Add offsets of the SMs that have none.

    One takes the line through the SMs of its CPC that have its number in their TPCs, where two TPCs are
    known, since offsets fall by the same from TPC to TPC; otherwise the mean over the SMs at its place in
    other GPCs. An SM without either stays without an offset.
    """
    places = dict(_places(plan))
    found = dict(offsets)
    for sm, place in places.items():
        if sm in offsets:
            continue
        known = {places[other]: value for other, value in offsets.items()}
        line = {other.tpc: value for other, value in known.items() if other == place._replace(tpc=other.tpc)}
        alike = [value for other, value in known.items() if other == place._replace(gpc=other.gpc)]
        if len(line) > 1:
            found[sm] = float(np.polyval(np.polyfit([*line], [*line.values()], 1), place.tpc))
        elif alike:
            found[sm] = statistics.fmean(alike)
    return found


def _places(plan: Floorplan) -> Iterator[tuple[int, _Place]]:
    for g, gpc in enumerate(plan.gpcs):
        for c, cpc in enumerate(gpc.cpcs):
            for t, tpc in enumerate(cpc):
                yield from ((sm, _Place(g, c, t, number)) for number, sm in enumerate(tpc))
