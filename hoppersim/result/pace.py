"""The time of a whole work from the pace of its first trips.

Two shortened works run; what the longer takes more than the shorter is the pace of the main loop, at which
the longer is carried on to the whole work. A short work runs whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hoppersim.program.operations import Affine, Compute, For, Operand, Operation
from hoppersim.program.rules.shorten import matters
from hoppersim.units import to_cycles

if TYPE_CHECKING:
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Flow, Program, Work

MOST_EFFORT = 200_000
"""Line requests of the runs for one figure, about; what CTAs do counts beside them."""
LINES_A_TRIP = 30
"""Line requests that take as long to simulate as what a role does in one trip of its loop."""
LEAST_ROUNDS = 3
"""Rounds of the ring in the longer of two shortened works."""
RUN_IN = 0.4
"""Share of those rounds in the shorter one."""


def effort_of(work: Work, lines: int, ctas: int) -> float:
    """Say what a work costs to simulate [line requests, about]: its lines, and what its CTAs do."""
    trips = max((_every_trip(flow.program) for flow in work.flows), default=0)
    return lines + LINES_A_TRIP * ctas * trips


def first_trips(work: Work, effort: float) -> list[Work]:
    """Give what is run for the time of a work that costs so much.

    Returns
    -------
    list of Work
        The whole work if it is short, else two shortened ones, the shorter first; none if that cannot be.
    """
    share = MOST_EFFORT / ((1 + RUN_IN) * max(1.0, effort))
    if share >= 1:
        return [work]
    if len(work.flows) > 1:  # shortened, they would overlap in another way
        return []
    rounds = [_rounds(flow.program, share) for flow in work.flows]
    longer = shortened_work(work, rounds)
    run_in = shortened_work(work, [max(1, round(RUN_IN * number)) for number in rounds])
    if longer is None or run_in is None:
        return []
    return [work] if main_trips(longer) in (main_trips(work), main_trips(run_in)) else [run_in, longer]


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


def main_trips(work: Work) -> int:
    """Count the trips of the main loop of a work's first flow; 0 if it has no such loop."""
    shape = _main_loop(work.flows[0].program) if work.flows else None
    return shape[0] if shape else 0


def _every_trip(program: Program) -> int:
    """Count the trips of all roles of a CTA, those of nested loops included."""

    def trips(body: tuple[Operation, ...]) -> int:
        return sum(item.n * max(1, trips(item.body)) for item in body if isinstance(item, For))

    return sum(trips(role.body) for role in program.roles)


def half_computing(work: Work) -> Work:
    """Let every role compute half as long."""
    flows = []
    for flow in work.flows:
        roles = tuple(replace(role, body=_half(role.body)) for role in flow.program.roles)
        flows.append(replace(flow, program=replace(flow.program, roles=roles)))
    return replace(work, flows=tuple(flows))


def _half(body: tuple[Operation, ...]) -> tuple[Operation, ...]:
    found: list[Operation] = []
    for operation in body:
        match operation:
            case Compute(cycles=cycles):
                found.append(Compute(_half_operand(cycles)))
            case For(body=inner):
                found.append(replace(operation, body=_half(inner)))
            case _:
                found.append(operation)
    return tuple(found)


def _half_operand(operand: Operand) -> Operand:
    if isinstance(operand, int):
        return operand // 2
    return Affine(
        operand.base // 2,
        operand.cluster // 2,
        operand.rank // 2,
        tuple(value // 2 for value in operand.by_rank),
        {name: step // 2 for name, step in operand.loops.items()},
        operand.wrap // 2,
    )


def carried_on(machine: Machine, work: Work, runs: Sequence[Work], *, waves: bool) -> float | None:
    """Give the time of a whole work, from the pace of its first trips.

    Parameters
    ----------
    machine
        The machine.
    work
        The whole work: what its launches read is in the L2 beforehand.
    runs
        Its first trips, from `first_trips`, or these with a change.
    waves
        Count from the first start to the last end of all CTAs; else the slowest CTA.

    Returns
    -------
    float | None
        The time [cycle]; None if one of the runs does not end.
    """
    times = [_run(machine, run, work, waves) for run in runs]
    if any(time is None for time in times):
        return None
    longer = times[-1]
    assert longer is not None
    if len(times) == 1 or times[0] is None:
        return longer
    first, last = main_trips(runs[0]), main_trips(runs[-1])
    return longer + (main_trips(work) - last) * (longer - times[0]) / (last - first)


def _run(machine: Machine, work: Work, whole: Work, waves: bool) -> float | None:
    """Give the time of a run [cycle]; None if it does not end."""
    from hoppersim.engine.simulate import simulate_raw

    output = simulate_raw(machine, work, watch=False, warm_by=whole)
    if output.hung or not output.ctas:
        return None
    if waves:
        return to_cycles(max(cta.end for cta in output.ctas) - min(cta.start for cta in output.ctas))
    return to_cycles(max(cta.end - cta.start for cta in output.ctas))
