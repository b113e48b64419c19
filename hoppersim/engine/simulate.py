"""One simulation: a machine and a work in, raw times and counters out."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import simpy

from hoppersim.engine.clockwork import Clockwork
from hoppersim.engine.context import Cta, FlowContext
from hoppersim.engine.interface import Fabric
from hoppersim.engine.launch import FlowRun, place_flow
from hoppersim.engine.output import BarrierState, CtaRun, RoleState, RunOutput
from hoppersim.errors import HopperSimError, InputError, InternalError
from hoppersim.machine import AddressMap, Machine
from hoppersim.program.work import Flow, Work
from hoppersim.units import LINE_BYTES, TICKS_PER_CYCLE

FABRICS = ("compiled", "reference")
Extra = Callable[[simpy.Environment], object]
"""A user's monitor or traffic source: called with the environment before the run starts."""


class RunTooLongError(HopperSimError):
    """The run passed its limit of simulated cycles."""


def make_fabric(machine: Machine, name: str, granular: bool = False) -> Fabric:
    """Make a fabric by its name, `compiled` or `reference`.

    Raises
    ------
    InputError
        If there is no fabric of that name.
    """
    if name == "compiled":
        from hoppersim.engine.compiled.fabric import CompiledFabric  # noqa: PLC0415  (numba is slow to import)

        return CompiledFabric(machine, granular)
    if name == "reference":
        from hoppersim.engine.reference import ReferenceFabric  # noqa: PLC0415

        return ReferenceFabric(machine, granular)
    raise InputError("fabric", name, f"must be one of {', '.join(FABRICS)}", FABRICS[0])


def simulate_raw(
    machine: Machine,
    work: Work,
    fabric: str = "compiled",
    max_cycles: float | None = None,
    granular: bool = False,
    extras: tuple[Extra, ...] = (),
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
        Count the bytes of every line at its barrier, which matters only to programs whose byte totals are wrong.
    extras
        Functions that add processes of the caller's own to the SimPy environment.

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
    carrier = make_fabric(machine, fabric, granular)
    clockwork = Clockwork(carrier)
    hazards: list[str] = []
    runs = [_prepare(machine, clockwork, index, flow, hazards) for index, flow in enumerate(work.flows)]
    for extra in extras:
        extra(clockwork.env)
    processes = [clockwork.env.process(process) for run in runs for process in run.start()]
    hung = _run(clockwork, processes, max_cycles)
    if hung and not carrier.idle:
        raise InternalError("the fabric stopped while lines were under way")
    ctas = [cta for run in runs for cta in run.ctas]
    return RunOutput(
        ctas=tuple(_cta_run(cta) for cta in ctas),
        ticks=max([int(clockwork.env.now) if hung else 0, *(cta.end for cta in ctas)]),
        counters=carrier.counters(),
        lines=carrier.lines,
        wall_seconds=perf_counter() - began,
        hung=hung,
        roles=tuple(_blocked_roles(runs, ctas)) if hung else (),
        barriers=tuple(_barrier_states(clockwork, ctas)) if hung else (),
        hazards=tuple(dict.fromkeys([*hazards, *(f"{fault.code}: {fault}" for _, fault in clockwork.faults)])),
    )


def _prepare(machine: Machine, clockwork: Clockwork, index: int, flow: Flow, hazards: list[str]) -> FlowRun:
    allocations = [(item.name, item.bytes, item.base) for item in flow.launch.allocations]
    addresses = AddressMap.place(allocations)
    context = FlowContext(index, flow, machine, clockwork, addresses, hazards)
    if flow.launch.warm:
        for name, size, _ in allocations:
            _warm(machine, clockwork.fabric, addresses.base(name), size)
    return FlowRun(context, place_flow(context))


def _warm(machine: Machine, fabric: Fabric, base: int, size: int) -> None:
    """Leave the L2 as reading the allocation once in order would; what is far out of reach is skipped."""
    reach = min(size, 2 * machine.spec.l2.bytes)
    fabric.warm((base + size - reach) // LINE_BYTES, -(-(base + size) // LINE_BYTES))


def _run(clockwork: Clockwork, processes: list[simpy.Process], max_cycles: float | None) -> bool:
    """Run until all processes are done; return whether nothing could move before that."""
    env = clockwork.env
    done = env.all_of(processes)
    limit = max_cycles * TICKS_PER_CYCLE if max_cycles else float("inf")
    while not done.processed:
        upcoming = env.peek()
        if upcoming == float("inf"):
            return True
        if upcoming > limit:
            raise RunTooLongError(f"the run did not end within {max_cycles:g} cycles")
        env.step()
    return False


def _cta_run(cta: Cta) -> CtaRun:
    stamps = tuple(sorted(cta.stamps, key=lambda stamp: stamp[2]))
    return CtaRun(cta.flow.index, cta.cluster, cta.rank, cta.sm, cta.start, cta.end, stamps)


def _blocked_roles(runs: list[FlowRun], ctas: list[Cta]) -> list[RoleState]:
    number = {id(cta): index for index, cta in enumerate(ctas)}
    states = []
    for run in (role for flow in runs for role in flow.roles if not role.finished):
        if run.waiting is None:
            continue
        operation, barrier, stage, parity = run.waiting
        path = tuple(f"{name}={trip}" for name, trip in run.loops.items())
        text = (*path, type(operation).__name__.lower())
        states.append(RoleState(number[id(run.cta)], run.role.name, text, barrier, stage, parity))
    return states


def _barrier_states(clockwork: Clockwork, ctas: list[Cta]) -> list[BarrierState]:
    states = []
    for index, cta in enumerate(ctas):
        for name, numbers in cta.barriers.items():
            for stage, number in enumerate(numbers):
                barrier = clockwork.barriers[number]
                barrier.commit(int(clockwork.env.now))
                state = barrier.state
                log = tuple((entry.tick, entry.who, entry.arrivals, entry.bytes) for entry in barrier.history)
                states.append(
                    BarrierState(index, name, stage, state.phase, state.pending, state.count, state.tx, log)
                )
    return states
