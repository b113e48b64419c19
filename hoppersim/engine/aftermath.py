"""What is left when a run has ended: blocked roles, barriers with what reached them, faults."""

from __future__ import annotations

from hoppersim.engine.barriers import LoggedBarrier
from hoppersim.engine.clockwork import FAR, Clockwork
from hoppersim.engine.context import Cta
from hoppersim.engine.findings import Access, Finding, Findings
from hoppersim.engine.launch import FlowRun
from hoppersim.engine.output import BarrierState, RoleState
from hoppersim.engine.places import WatchedBarrier
from hoppersim.engine.roles import RoleRun
from hoppersim.program.operations import For, Operation

_FABRIC = "fabric"


def blocked_roles(runs: list[FlowRun], ctas: list[Cta]) -> list[RoleState]:
    """Describe all roles that wait for something."""
    number = {id(cta): index for index, cta in enumerate(ctas)}
    states = []
    for run in (role for flow in runs for role in flow.roles if not role.finished):
        if run.waiting is None:
            continue
        operation, barrier, stage, parity = run.waiting
        loops = tuple(run.loops.items())
        text = (*(f"{name}={trip}" for name, trip in loops), type(operation).__name__.lower())
        place = _place(run.role.body, operation, tuple(run.loops))
        states.append(
            RoleState(
                number[id(run.cta)],
                run.role.name,
                text,
                barrier,
                stage,
                parity,
                loops,
                place,
                _positions(run),
            )
        )
    return states


def _place(body: tuple[Operation, ...], wanted: Operation, loops: tuple[str, ...]) -> tuple[int, ...]:
    """Find an operation under its loops; empty if it is not there."""
    for number, operation in enumerate(body):
        if operation is wanted and not loops:
            return (number,)
        if isinstance(operation, For) and loops and operation.name == loops[0]:
            below = _place(operation.body, wanted, loops[1:])
            if below:
                return (number, *below)
    return ()


def _positions(run: RoleRun) -> tuple[tuple[int, int], ...]:
    """Give (stages, present stage) of the rings that the role is inside of."""
    rings = []
    body = run.role.body
    for name in run.loops:
        loop = next((item for item in body if isinstance(item, For) and item.name == name), None)
        if loop is None:
            break
        rings.append((loop.stages, run.ring(loop).stage))
        body = loop.body
    return tuple(rings)


def barrier_states(clockwork: Clockwork, ctas: list[Cta]) -> list[BarrierState]:
    """Describe all barriers of all CTAs after a hang, with all that is still on its way to them."""
    states = []
    for index, cta in enumerate(ctas):
        for name, numbers in cta.barriers.items():
            for stage, number in enumerate(numbers):
                barrier = clockwork.barriers[number]
                barrier.commit(FAR)
                state = barrier.state
                states.append(
                    BarrierState(
                        index, name, stage, state.phase, state.pending, state.count, state.tx, _log(barrier)
                    )
                )
    return states


def _log(barrier: LoggedBarrier) -> tuple[tuple[int, str, int, int], ...]:
    """List what reached a barrier in its present phase, with the issuers of bytes where they are known."""
    entries = [(entry.tick, entry.who, entry.arrivals, entry.bytes) for entry in barrier.history]
    if not isinstance(barrier, WatchedBarrier) or not barrier.brought:
        return tuple(entries)
    tick = max(entry[0] for entry in entries)
    total: dict[str, int] = {}
    for write, count in barrier.brought:
        who = f"rank {write.run.cta.rank} {write.run.role.name}"
        total[who] = total.get(who, 0) + count
    named = [entry for entry in entries if entry[1] != _FABRIC]
    return (*named, *((tick, who, 0, count) for who, count in total.items()))


def note_faults(findings: Findings, clockwork: Clockwork, ctas: list[Cta]) -> None:
    """Turn operations that PTX leaves undefined into findings; all barriers are brought up to date."""
    for barrier in clockwork.barriers:
        if isinstance(barrier, WatchedBarrier):
            barrier.commit(FAR)
    if not clockwork.faults:
        return
    owner = {
        number: (cta, name, stage)
        for cta in ctas
        for name, numbers in cta.barriers.items()
        for stage, number in enumerate(numbers)
    }
    for tick, number, fault in clockwork.faults:
        cta, name, stage = owner[number]
        key = (fault.code, name)
        if not findings.seen(key):
            access = Access(cta.flow.index, cta.cluster, cta.rank, cta.sm, "", "", (), tick, tick)
            findings.add(key, Finding(fault.code, access, None, name, stage, str(fault)))
