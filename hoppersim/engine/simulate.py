"""One simulation: a machine and a work in, raw times and counters out."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Literal

import numpy as np
import simpy

from hoppersim.engine.aftermath import barrier_states, blocked_roles, note_faults
from hoppersim.engine.clockwork import Clockwork
from hoppersim.engine.context import Cta, FlowContext
from hoppersim.engine.findings import Findings
from hoppersim.engine.guests import Extra, Guest
from hoppersim.engine.interface import (
    BETWEEN_SMS,
    DEFAULT_MEMORY_LINES,
    KINDS,
    LOAD,
    MULTICAST,
    STORE,
    Fabric,
)
from hoppersim.engine.launch import FlowRun, cluster_count, place_flow
from hoppersim.engine.observer import Bind, Observer
from hoppersim.engine.output import CtaRun, RunOutput
from hoppersim.engine.steps import bind
from hoppersim.engine.tiles import Tiles
from hoppersim.engine.watch import Watch
from hoppersim.engine.watched import WatchedSteps
from hoppersim.errors import InputError, InternalError
from hoppersim.machine import AddressMap, Machine
from hoppersim.program.footprint import touched_lines
from hoppersim.program.operations import BulkCopy, RemoteLoad, RemoteStore, StAsync, TmaStore
from hoppersim.program.traffic import flow_clusters
from hoppersim.program.walk import walk
from hoppersim.program.work import Flow, Work
from hoppersim.units import LINE_BYTES, TICKS_PER_CYCLE, to_cycles

FEW_COLLECTIONS = 100_000
"""New objects between two looks for garbage while a simulation runs."""
FABRICS = ("compiled", "reference")


class RunTooLongError(InputError):
    """The run passed its limit of simulated cycles, which is the caller's to set."""


def make_fabric(
    machine: Machine,
    name: str,
    granular: bool = False,
    memory_lines: int = DEFAULT_MEMORY_LINES,
    kinds: frozenset[int] = KINDS,
) -> Fabric:
    """Make a fabric by its name, `compiled` or `reference`, for addresses below `memory_lines` lines.

    One that need not take all kinds of transfers can be faster.

    Raises
    ------
    InputError
        If there is no fabric of that name.
    """
    if name == "compiled":
        from hoppersim.engine.compiled.fabric import CompiledFabric  # numba is slow to import

        return CompiledFabric(machine, granular, memory_lines, kinds)
    if name == "reference":
        from hoppersim.engine.reference import ReferenceFabric

        return ReferenceFabric(machine, granular, memory_lines, kinds)
    raise InputError("fabric", name, f"must be one of {', '.join(FABRICS)}", FABRICS[0])


def simulate_raw(  # noqa: PLR0913, PLR0917 - the one place where all that a run takes comes together
    machine: Machine,
    work: Work,
    fabric: str = "compiled",
    max_cycles: float | None = None,
    granular: bool = False,
    extras: tuple[Extra, ...] = (),
    watch: bool | Literal["all"] = True,
    observer: Observer | None = None,
    tiles: Tiles | None = None,
    warm_by: Work | None = None,
) -> RunOutput:
    """Run a work on a machine.

    Parameters
    ----------
    machine
        The machine.
    work
        Flows that start together; their programs are taken as they are (see `hoppersim.program.rules`).
    fabric
        ``compiled`` or ``reference``; both give identical results.
    max_cycles
        Give up after that many SM cycles.
    granular
        Count the bytes of every line at its barrier as it lands. Silicon counts those of a box in one piece,
        as is the default here.
    extras
        Functions that start processes of the caller's own; each is called with a `Guest`.
    watch
        Look for races while the program runs, in a few clusters of each flow or in all; changes no time.
    observer
        Notes what happens, for a trace; changes no time either.
    tiles
        Follows tiles and keeps where their time went.
    warm_by
        What runs in the untimed launches before; None is the work itself.

    Returns
    -------
    RunOutput
        Times, counters, and, if the program hung, the state of all that waits.

    Raises
    ------
    InputError
        If the work cannot be launched.
    RunTooLongError
        If `max_cycles` passed.
    InternalError
        If the simulator broke an invariant of its own.
    """
    began = perf_counter()
    addresses = _lay_out(work)
    kinds = KINDS if extras else _kinds(work)
    carrier = make_fabric(machine, fabric, granular, -(-addresses.end // LINE_BYTES), kinds)
    clockwork = observer.clockwork(carrier) if observer else Clockwork(carrier)
    clockwork.tiles = tiles or clockwork.tiles
    findings = Findings()
    steps = WatchedSteps(Watch(findings, whole=watch == "all")) if watch else None
    binder: Bind = steps.bind if steps else bind
    if observer:
        binder = observer.bind(binder)
    contexts = [
        FlowContext(index, flow, machine, clockwork, addresses, findings, binder)
        for index, flow in enumerate(work.flows)
    ]
    for context, flow in zip(contexts, (warm_by or work).flows, strict=True):
        _warm(context, flow)
    runs = [_prepare(context, steps, tiles) for context in contexts]
    for extra in extras:
        extra(Guest(machine, clockwork, addresses))
    processes = [clockwork.env.process(process) for run in runs for process in run.start()]
    with _rare_collections():
        hung = _run(clockwork, processes, max_cycles)
    if hung and not carrier.idle:
        raise InternalError("the fabric stopped while lines were under way")
    clockwork.drain()
    ctas = [cta for run in runs for cta in run.ctas]
    note_faults(findings, clockwork, ctas)
    found = findings.all()
    busiest = max((role for run in runs for role in run.roles), key=lambda role: role.busy, default=None)
    return RunOutput(
        ctas=tuple(_cta_run(cta) for cta in ctas),
        ticks=max([_last_progress(clockwork, runs) if hung else 0, *(cta.end for cta in ctas)]),
        counters=carrier.counters(),
        lines=carrier.lines,
        landed=clockwork.landed,
        wall_seconds=perf_counter() - began,
        busy=busiest.busy if busiest else 0,
        busiest=busiest.role.name if busiest else "",
        hung=hung,
        roles=tuple(blocked_roles(runs, ctas)) if hung else (),
        barriers=tuple(barrier_states(clockwork, ctas)) if hung else (),
        findings=found,
        hazards=tuple(map(str, found)),
    )


def _kinds(work: Work) -> frozenset[int]:
    """Give the kinds of transfers that a work may start."""
    used = {type(visit.operation) for flow in work.flows for visit in walk(flow.program)}
    stores = {STORE} if TmaStore in used else set()
    between = BETWEEN_SMS if used & {BulkCopy, RemoteLoad, RemoteStore, StAsync} else ()
    return frozenset({LOAD, MULTICAST, *stores, *between})


def _lay_out(work: Work) -> AddressMap:
    """Give every flow's allocations addresses of their own."""
    return AddressMap.place(
        (f"{index}:{item.name}", item.bytes, item.base)
        for index, flow in enumerate(work.flows)
        for item in flow.launch.allocations
    )


def _prepare(context: FlowContext, steps: WatchedSteps | None, tiles: Tiles | None) -> FlowRun:
    placement = place_flow(context)
    flow = context.flow
    if tiles:
        tiles.plan(context.index, flow, cluster_count(flow, placement))
    if steps:
        steps.watch.plan(context.index, flow, cluster_count(flow, placement))
        context = replace(context, barrier_type=partial(steps.barrier_type, context.index))
    return FlowRun(context, placement)


def _warm(context: FlowContext, flow: Flow) -> None:
    """Leave the L2 as reading once in order what a flow loads would; what is far out of reach is skipped.

    Where it holds all of the memory anyhow, it is left holding all.
    """
    if not flow.launch.warm:
        return
    l2 = context.machine.spec.l2
    fits = sum(item.bytes for item in flow.launch.allocations) <= l2.bytes // l2.partitions
    for item in flow.launch.allocations:
        address = context.address(item.name)
        first, last = address // LINE_BYTES, -(-(address + item.bytes) // LINE_BYTES)
        runs = np.array([[0, last - first]])
        if not fits:
            clusters = flow_clusters(flow, place_flow(replace(context, flow=flow)))
            touched = touched_lines(flow, clusters, item.name, address)
            runs = np.flatnonzero(np.diff(touched, prepend=False, append=False)).reshape(-1, 2)
        skip = int(np.diff(runs).sum()) - 2 * l2.bytes // LINE_BYTES
        for begin, end in runs.tolist():
            if skip < end - begin:
                context.clockwork.fabric.warm(first + begin + max(0, skip), first + end)
            skip -= end - begin


def _run(clockwork: Clockwork, processes: list[simpy.Process], max_cycles: float | None) -> bool:
    """Run until all processes are done; return whether nothing could move before that."""
    env = clockwork.env
    finished: list[simpy.Event] = []
    env.all_of(processes).callbacks.append(finished.append)
    if max_cycles:
        clockwork.limit = min(clockwork.limit, round(max_cycles * TICKS_PER_CYCLE))
    try:
        while not finished:
            env.step()
            if env._now > clockwork.limit:
                most = to_cycles(clockwork.limit)
                raise RunTooLongError("max_cycles", most, "the run must end within so many SM cycles")
    except simpy.core.EmptySchedule:
        return True
    return False


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for cyclic garbage rarely: a run makes hardly any, and keeps much to walk."""
    before = gc.get_threshold()
    gc.set_threshold(FEW_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _last_progress(clockwork: Clockwork, runs: list[FlowRun]) -> int:
    """Give the tick at which the last role came to the wait that it does not get past."""
    return max([int(clockwork.env.now), *(role.since for run in runs for role in run.roles)])


def _cta_run(cta: Cta) -> CtaRun:
    stamps = tuple(sorted(cta.stamps, key=lambda stamp: (stamp[2], stamp[0])))
    return CtaRun(cta.flow.index, cta.cluster, cta.rank, cta.sm, cta.start, cta.end, stamps)
