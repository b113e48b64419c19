"""What would change the time: the work again with shortened loops, one thing relaxed at a time.

Both sides run the same two shortened works; what the longer takes more than the shorter is the pace of the
loop, at which the longer is carried on to the whole work. Only what matters is tried: bandwidths of resources
that the run kept busy, latencies on the way of its transfers, and what operations cost the threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from hoppersim.errors import InputError
from hoppersim.program.operations import (
    Arrive,
    BulkCopy,
    ExpectTx,
    For,
    Operation,
    RemoteLoad,
    RemoteStore,
    StAsync,
)
from hoppersim.program.rules.shorten import matters
from hoppersim.program.walk import walk
from hoppersim.result.schema import Relaxation, Result, WhatIf
from hoppersim.result.source import relaxed_machine
from hoppersim.units import to_cycles

if TYPE_CHECKING:
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Flow, Program, Work

BUSY = 0.30
"""Use of its busiest unit above which the bandwidth of a resource is relaxed."""
MOST_EFFORT = 200_000
"""Line requests of the runs for one figure, about; what CTAs do counts beside them."""
LINES_A_TRIP = 30
"""Line requests that take as long to simulate as what a role does in one trip of its loop."""
LEAST_ROUNDS = 3
"""Rounds of the ring in the longer of two shortened works."""
RUN_IN = 0.4
"""Share of those rounds in the shorter one."""

MOST_BANDWIDTHS = 3
"""Resources whose bandwidth is relaxed alone, the busiest first."""
NOTABLE = 1.02
"""Gain from which on a change is said to help, and its parts are tried one by one."""

TOGETHER, WAYS = "all busy resources", "all ways of the data"
THREADS = "all operations of the threads"
TWICE, HALF_TIME, HALF_COST = "twice the bandwidth", "half the latency", "half the cost"


class Knob(NamedTuple):
    """One thing that can be relaxed: parameters of the machine, and the factor that each of them takes."""

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
        The reruns by their gain; none, with a note, where the work hangs or its loops cannot be shortened
        and it is too long to be rerun whole.
    """
    trips = _trips(work)
    if result.hung:
        return not_tried("the work hangs", trips)
    runs = _runs(work, result)
    if not runs:
        return not_tried("its loops cannot be shortened without changing what it does", trips)
    base = _carried_on(machine, runs, trips)
    if base is None:
        return not_tried("with shortened loops it does not end", trips)
    found: list[Relaxation] = []

    def gains(knob: Knob) -> bool:
        """Rerun with one thing relaxed, and tell whether it helps."""
        settings = _settings(machine, knob)
        changed = _changed(machine, settings)
        cycles = _carried_on(changed, runs, trips) if changed is not None else None
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
    return WhatIf(trips=_trips(runs[-1]), of_trips=trips, base_cycles=base, relaxations=tuple(found))


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


def _runs(work: Work, result: Result) -> list[Work]:
    """Give what is rerun: the whole work if it is short, else two shortened ones; none if that cannot be."""
    trips = max((_every_trip(flow.program) for flow in work.flows), default=0)
    effort = result.speed.lines + LINES_A_TRIP * result.ctas * trips
    share = MOST_EFFORT / ((1 + RUN_IN) * max(1, effort))
    if share >= 1:
        return [work]
    if len(work.flows) > 1:  # shortened, they would overlap in another way
        return []
    rounds = [_rounds(flow.program, share) for flow in work.flows]
    longer = shortened_work(work, rounds)
    run_in = shortened_work(work, [max(1, round(RUN_IN * number)) for number in rounds])
    if longer is None or run_in is None:
        return []
    return [work] if _trips(longer) in (_trips(work), _trips(run_in)) else [run_in, longer]


def _rounds(program: Program, share: float) -> int:
    """Give the rounds of a ring that a share of the trips is."""
    trips, stages = _main_loop(program) or (1, 1)
    return max(LEAST_ROUNDS, round(share * trips / stages))


def shortened_work(work: Work, rounds: Sequence[int]) -> Work | None:
    """Keep some rounds of the ring of every main loop, and what is left over behind its last whole round.

    Parameters
    ----------
    work
        The work.
    rounds
        Rounds to keep, flow by flow.

    Returns
    -------
    Work | None
        None where that could change what the work does: where a role has several loops that others notice,
        or the loops of its roles differ in trips or stages.
    """
    flows = []
    for flow, kept in zip(work.flows, rounds, strict=True):
        shape = _main_loop(flow.program)
        if shape is None:
            return None
        trips, stages = shape
        flows.append(_with_trips(flow, min(trips, kept * stages + trips % stages)))
    return replace(work, flows=tuple(flows))


def _main_loops(program: Program) -> list[list[For]]:
    """List, role by role, the outermost loops that others notice."""
    return [[item for item in role.body if isinstance(item, For) and matters(item)] for role in program.roles]


def _main_loop(program: Program) -> tuple[int, int] | None:
    """Give trips and stages of the one loop that every role of a program runs; None if there is no such."""
    loops = _main_loops(program)
    shapes = {(loop.n, loop.stages) for found in loops for loop in found}
    return shapes.pop() if len(shapes) == 1 and all(len(found) <= 1 for found in loops) else None


def _with_trips(flow: Flow, trips: int) -> Flow:
    main = [loop for found in _main_loops(flow.program) for loop in found]
    roles = tuple(
        replace(
            role,
            body=tuple(
                replace(item, n=trips) if any(item is loop for loop in main) else item for item in role.body
            ),
        )
        for role in flow.program.roles
    )
    return replace(flow, program=replace(flow.program, roles=roles))


def _trips(work: Work) -> int:
    shape = _main_loop(work.flows[0].program) if work.flows else None
    return shape[0] if shape else 0


def _every_trip(program: Program) -> int:
    """Count the trips of all roles of a CTA, those of nested loops included."""

    def trips(body: tuple[Operation, ...]) -> int:
        return sum(item.n * max(1, trips(item.body)) for item in body if isinstance(item, For))

    return sum(trips(role.body) for role in program.roles)


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


def _carried_on(machine: Machine, runs: list[Work], trips: int) -> float | None:
    """Give the time of the whole work [cycle], from the pace of its first trips; None if one does not end."""
    times = [_run(machine, run) for run in runs]
    if any(time is None for time in times):
        return None
    longer = times[-1]
    assert longer is not None
    if len(times) == 1 or times[0] is None:
        return longer
    first, last = _trips(runs[0]), _trips(runs[-1])
    return longer + (trips - last) * (longer - times[0]) / (last - first)


def _run(machine: Machine, work: Work) -> float | None:
    """Give the time of the slowest CTA [cycle]; None if the work does not end."""
    from hoppersim.engine.simulate import simulate_raw

    output = simulate_raw(machine, work, watch=False)
    if output.hung or not output.ctas:
        return None
    return to_cycles(max(cta.end - cta.start for cta in output.ctas))
