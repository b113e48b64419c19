"""What a work's traffic says before any simulation: bytes to deliver, and the closed-form bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hoppersim.machine.bounds import bound
from hoppersim.program.traffic import traffic_table
from hoppersim.result.schema import Bounds

if TYPE_CHECKING:
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Work


class Forecast(NamedTuple):
    """Bytes that loads deliver to shared memory [B], and the bound; None where nothing moves."""

    loaded_bytes: int
    bounds: Bounds | None


def forecast(machine: Machine, work: Work) -> Forecast:
    """Add up and bound the traffic of a work on a machine."""
    rows = traffic_table(machine, work)
    loaded = sum(row.bytes * len(row.destinations) for row in rows if row.source != "sm")
    found = bound(machine, rows)
    if not found.cycles:
        return Forecast(loaded, None)
    bounds = Bounds(
        merged_cycles=found.cycles,
        merged_link=found.link,
        unmerged_cycles=found.cycles_unmerged,
        unmerged_link=found.link_unmerged,
    )
    return Forecast(loaded, bounds)
