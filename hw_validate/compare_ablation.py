"""Ablations: the same points on machines from which one block has been taken, to see what it earns.

A sample of the points is enough: it is drawn evenly from all kinds of points, and the whole machine is scored
on the same sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from hoppersim.machine.machine import Machine
from hoppersim.pool import MachineRequest, machine_for
from hw_validate.bench import Bench, OnPoint
from hw_validate.compare import Item, Pair
from hw_validate.compare_run import pair_items
from hw_validate.compare_targets import COMPLETE


class Ablation(NamedTuple):
    """What is taken away: patterns of the machine's parameters, and the value that takes each away."""

    name: str
    about: str
    changes: tuple[tuple[str, str], ...]

    def settings(self, machine: Machine) -> tuple[str, ...]:
        """Write the changes for one machine; empty if it has none of the parameters."""
        return tuple(
            f"{path}={value}"
            for pattern, value in self.changes
            for path in machine.provenance
            if fnmatchcase(path, pattern)
        )


ABLATIONS = (
    Ablation("no LRC", "reads of one line are never merged", (("lrc.enabled", "0"),)),
    Ablation("early branch", "copies of a multicast part in front of the GPC port",
             (("xbar.branch_behind_port", "0"),)),
    Ablation("one bank", "a slice reads its data one after the other", (("l2.banks", "1"),)),
    Ablation("no skew", "CTAs start together, nothing drifts by chance",
             (("launch.start_spread", "0"), ("*jitter*", "0"))),
    Ablation("one latency", "every SM, slice, pair and page has the mean latency",
             (("tables.*_latency", "zero"),)),
    Ablation("no operation costs", "threads issue in no time", (("costs.*", "0"),)),
    Ablation("one clock", "L2 and HBM run at the SM clock", (("clocks.*_ratio", "1"),)),
)  # fmt: skip


class Ablated(NamedTuple):
    """Pairs by the ablation's name, the whole machine first; ablations the machine has no parameter for."""

    pairs: dict[str, list[Pair]]
    impossible: tuple[str, ...]


def sample(items: Sequence[Item], count: int) -> list[Item]:
    """Draw stable points, as many as asked, evenly spread over their labels; all if there are fewer."""
    found = sorted((item for item in items if item.stable), key=lambda item: (item.label, item.id))
    if len(found) <= count:
        return found
    return [found[place * len(found) // count] for place in range(count)]


def possible(machine: Machine) -> list[Ablation]:
    """List the ablations that a machine's parameters can express."""
    return [item for item in ABLATIONS if item.settings(machine)]


def ablate(
    bench: Bench, items: Sequence[Item], request: MachineRequest, on_point: OnPoint | None = None
) -> Ablated:
    """Simulate points with one block after the other taken away; points that then cannot run are left out."""
    machine = machine_for(request)
    chosen = possible(machine)
    changes: dict[str, tuple[str, ...]] = {COMPLETE: ()}
    changes |= {item.name: item.settings(machine) for item in chosen}
    found = {}
    for name, change in changes.items():
        pairs = pair_items(
            bench, items, MachineRequest(request.preset, (*request.overrides, *change)), on_point
        )
        found[name] = [pair for pair in pairs if isinstance(pair, Pair)]
    return Ablated(found, tuple(item.name for item in ABLATIONS if item not in chosen))
