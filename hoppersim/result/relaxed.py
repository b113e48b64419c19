"""What would change the time: the work again with shortened loops, one thing relaxed at a time.

Both sides run the same shortened works (see `hoppersim.result.pace`). Only what matters is tried: bandwidths
of resources that the run kept busy, latencies on the way of its transfers, what operations cost the threads,
and what these compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from hoppersim.errors import InputError
from hoppersim.program.operations import (
    Arrive,
    BulkCopy,
    Compute,
    ExpectTx,
    Operation,
    RemoteLoad,
    RemoteStore,
    StAsync,
)
from hoppersim.program.walk import walk
from hoppersim.result.pace import carried_on, effort_of, first_trips, half_computing, main_trips
from hoppersim.result.schema import Relaxation, Result, WhatIf
from hoppersim.result.source import relaxed_machine

if TYPE_CHECKING:
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Work

BUSY = 0.30
"""Use of its busiest unit above which the bandwidth of a resource is relaxed."""
MOST_BANDWIDTHS = 3
"""Resources whose bandwidth is relaxed alone, the busiest first."""
NOTABLE = 1.02
"""Gain from which on a change is said to help, and its parts are tried one by one."""

TOGETHER, WAYS = "all busy resources", "all ways of the data"
THREADS, COMPUTING = "all operations of the threads", "all computing"
TWICE, HALF_TIME, HALF_COST, HALF_WORK = (
    "twice the bandwidth", "half the latency", "half the cost", "half the time",
)  # fmt: skip


class Knob(NamedTuple):
    """One thing that can be relaxed: parameters of the machine, and the factor that each of them takes.

    Without any, it is what the work computes.
    """

    name: str
    change: str
    factors: dict[str, float]


class Group(NamedTuple):
    """Things of a kind, relaxed together; one by one only if that helps."""

    whole: Knob
    parts: tuple[Knob, ...] = ()


BANDWIDTHS = (
    Knob("TMA engine", TWICE, {"tma.line_interval": 0.5, "tma.box_interval": 0.5}),
    Knob("L2 slice", TWICE, {"l2.slice_bytes_per_l2_cycle": 2.0, "l2.look_up_interval": 0.5}),
    Knob("L2 partition fabric", TWICE, {"l2.fabric_bytes_per_cycle": 2.0}),
    Knob("HBM", TWICE, {"hbm.bytes_per_second": 2.0}),
    Knob("GPC port", TWICE, {"xbar.gpc_bytes_per_cycle": 2.0}),
    Knob("SM ingress", TWICE, {"xbar.sm_bytes_per_cycle": 2.0}),
    Knob("SM-to-SM port", TWICE, {"fabric.sm_bytes_per_cycle": 2.0, "fabric.cpc_bytes_per_cycle": 2.0}),
)
"""Bandwidths by the names of resources (see `hoppersim.result.limiter`)."""
L2_LATENCY = Knob(
    "way to the L2 and back",
    HALF_TIME,
    {
        "tma.launch_latency": 0.5,
        "xbar.request_latency": 0.5,
        "l2.latency": 0.5,
        "xbar.response_latency": 0.5,
        "tma.completion_latency": 0.5,
    },
)
"""TMA engine, crossbar, slice, and back to the barrier."""
HBM_LATENCY = Knob("HBM", HALF_TIME, {"hbm.latency": 0.5})
PEER_LATENCY = Knob("SM-to-SM network", HALF_TIME, {"fabric.latency": 0.5})


def relax(machine: Machine, work: Work, result: Result) -> WhatIf:
    """Rerun a work with shortened loops, each time with one thing relaxed.

    Parameters
    ----------
    machine, work
        What ran.
    result
        What the run said: it decides what is worth relaxing.

    Returns
    -------
    WhatIf
        The reruns by their gain; none, with a note, where the work hangs or takes no time, or its loops
        cannot be shortened and it is too long to be rerun whole.
    """
    trips, waves = main_trips(work), result.waves > 1
    if result.hung:
        return not_tried("the work hangs", trips)
    if not result.cycles:
        return not_tried("the work takes no time", trips)
    runs = first_trips(work, effort_of(work, result.speed.lines, result.ctas))
    if not runs:
        return not_tried("its loops cannot be shortened without changing what it does", trips)
    base = carried_on(machine, work, runs, waves=waves)
    if base is None:
        return not_tried("with shortened loops it does not end", trips)
    found: list[Relaxation] = []

    def gains(knob: Knob) -> bool:
        """Rerun with one thing relaxed, and tell whether it helps."""
        settings = _settings(machine, knob)
        changed = _changed(machine, settings)
        tried = runs if knob.factors else [half_computing(run) for run in runs]
        cycles = carried_on(changed, work, tried, waves=waves) if changed is not None else None
        if not cycles:
            return False
        speedup = base / cycles
        found.append(
            Relaxation(name=knob.name, change=knob.change, settings=settings, cycles=cycles, speedup=speedup)
        )
        return speedup >= NOTABLE

    for group in groups(machine, work, result):
        if gains(group.whole):
            for part in group.parts:
                gains(part)
    found.sort(key=lambda item: -item.speedup)
    return WhatIf(trips=main_trips(runs[-1]), of_trips=trips, base_cycles=base, relaxations=tuple(found))


def groups(machine: Machine, work: Work, result: Result) -> Iterator[Group]:
    """Give what is worth relaxing for a run: bandwidths, latencies, and what operations cost the threads."""
    peaks = {link.resource: link.peak for link in result.links}
    busy = [knob for knob in BANDWIDTHS if peaks.get(knob.name, 0.0) > BUSY]
    busy.sort(key=lambda knob: -peaks[knob.name])
    yield from _group(TOGETHER, TWICE, busy, MOST_BANDWIDTHS)
    ways = [L2_LATENCY] if "L2 slice" in peaks else []
    ways += [HBM_LATENCY] if "HBM" in peaks else []
    if any(_reaches_peers(visit.operation) for flow in work.flows for visit in walk(flow.program)):
        ways.append(PEER_LATENCY)
    yield from _group(WAYS, HALF_TIME, ways, len(ways))
    costs = dict.fromkeys((path for path in machine.provenance if path.startswith("costs.")), 0.5)
    issue = {path: factor for path, factor in costs.items() if path.startswith(_ISSUE)}
    yield Group(Knob(THREADS, HALF_COST, costs), (Knob("TMA issue", HALF_COST, issue),))
    if any(isinstance(visit.operation, Compute) for flow in work.flows for visit in walk(flow.program)):
        yield Group(Knob(COMPUTING, HALF_WORK, {}))


_ISSUE = ("costs.tma_", "costs.bulk_copy", "costs.st_async")


def _group(name: str, change: str, parts: list[Knob], most: int) -> Iterator[Group]:
    """Put things of a kind together; one alone needs no group, and none gives none."""
    if len(parts) == 1:
        yield Group(parts[0])
    elif parts:
        factors = {path: factor for part in parts for path, factor in part.factors.items()}
        yield Group(Knob(name, change, factors), tuple(parts[:most]))


def _reaches_peers(operation: Operation) -> bool:
    """Tell whether an operation goes over the SM-to-SM network."""
    match operation:
        case Arrive(to=to) | ExpectTx(to=to):
            return to is not None
        case _:
            return isinstance(operation, BulkCopy | StAsync | RemoteLoad | RemoteStore)


def not_tried(note: str, trips: int = 0) -> WhatIf:
    """Say why there are no reruns of a work whose main loop has that many trips."""
    return WhatIf(trips=0, of_trips=trips, base_cycles=0.0, relaxations=(), note=note)


def _settings(machine: Machine, knob: Knob) -> dict[str, float]:
    """Give the relaxed values of the parameters, those that stay at zero left out."""
    values = {path: float(machine.provenance[path].value) for path in knob.factors}
    return {path: value * knob.factors[path] for path, value in values.items() if value}


def _changed(machine: Machine, settings: Mapping[str, float]) -> Machine | None:
    """Change parameters of a machine; None where one would pass what its rule allows."""
    try:
        return relaxed_machine(machine, [f"{path}={value!r}" for path, value in settings.items()])
    except InputError:
        return None
