"""The closed-form bound of a work's traffic, in the form that a Result keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hoppersim.machine.bounds import bound
from hoppersim.program.traffic import traffic_table
from hoppersim.result.schema import Bounds

if TYPE_CHECKING:
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Work


def work_bounds(machine: Machine, work: Work) -> Bounds | None:
    """Bound the time of a work on a machine; None where nothing moves."""
    found = bound(machine, traffic_table(machine, work))
    if not found.cycles:
        return None
    return Bounds(
        merged_cycles=found.cycles,
        merged_link=found.link,
        unmerged_cycles=found.cycles_unmerged,
        unmerged_link=found.link_unmerged,
    )
