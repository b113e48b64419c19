"""What a kernel engineer can change: the work again with another number of stages, another box or cluster.

As in `hoppersim.result.relaxed`, each change runs alone, with shortened loops that are carried on to the
whole work (see `hoppersim.result.pace`). Of a flow file only the stages are varied: with another box or
cluster, bytes, coordinates and masks would have to follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from hoppersim.errors import InputError
from hoppersim.machine.machine import Machine
from hoppersim.pool import OnCount, run_tasks
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.operations import Compute, For, Operation
from hoppersim.program.rules import check
from hoppersim.program.traffic import count_waves, flow_clusters, place_flow
from hoppersim.program.walk import walk
from hoppersim.program.work import Program, Work
from hoppersim.result.pace import carried_on, effort_of, first_trips
from hoppersim.result.schema import Design, Designs, Result
from hoppersim.units import LINE_BYTES

CLUSTERS = (1, 2, 4, 8, 16)
"""Sizes of a cluster that are tried."""


class Candidate(NamedTuple):
    """One change: what takes which value; the work with it, or why there is none; what it needs and moves.

    `smem_bytes` is the shared memory that a CTA needs, a case's padding left out; `bytes_per_cta` is 1 where
    the change leaves the bytes of a CTA alone.
    """

    name: str
    value: str
    work: Work | None
    smem_bytes: int = 0
    bytes_per_cta: int = 1
    reason: str = ""


class Timing(NamedTuple):
    """What a process gets: machine, whole work, shortened ones, and which time counts."""

    machine: Machine
    work: Work
    runs: list[Work]
    waves: bool


def try_designs(
    machine: Machine,
    work: Work,
    result: Result,
    case: Case | None = None,
    *,
    jobs: int = 1,
    on_count: OnCount | None = None,
) -> Designs:
    """Run a work again with one thing of its design changed at a time.

    Parameters
    ----------
    machine, work, result
        What ran, and what the run said.
    case
        The case that the work was built from; None for a flow file.
    jobs
        Processes; the figures do not depend on it.
    on_count
        Called with how many designs are timed, and of how many.

    Raises
    ------
    LostProcessError
        If a process ended by itself.
    """
    base = _as_it_is(work, case)
    nothing = Designs(base_cycles=0.0, smem_bytes=base.smem_bytes, ctas=result.ctas, steps=())
    if result.hung:
        return replace(nothing, note="the work hangs")
    found = [_checked(machine, item) for item in _candidates(work, case)]
    tasks = _tasks(machine, result, [base, *found])
    if 0 not in tasks:
        return replace(nothing, note="its loops cannot be shortened without changing what it does")
    times: dict[int, float | None] = {}
    for number, time in run_tasks(time_design, tasks, min(jobs, len(tasks))):
        times[number] = time
        if on_count is not None:
            on_count(len(times), len(tasks))
    steps = [
        _step(machine, base, item, times[0], times.get(number)) for number, item in enumerate(found, start=1)
    ]
    note = "; ".join(_notes(work, case, result.ctas, steps))
    return replace(nothing, base_cycles=times[0] or 0.0, steps=tuple(steps), note=note)


def time_design(timing: Timing) -> float | None:
    """Give the time of a whole work [cycle]; None if it does not end."""
    return carried_on(timing.machine, timing.work, timing.runs, waves=timing.waves)


def _notes(work: Work, case: Case | None, ctas: int, steps: list[Design]) -> Iterator[str]:
    """Say what was not tried, and what the model leaves out where CTAs come to share an SM."""
    if case is None:
        yield "of a flow file only the stages of its one ring are varied"
    computes = any(isinstance(v.operation, Compute) for flow in work.flows for v in walk(flow.program))
    if computes and any(step.ctas > ctas for step in steps):
        yield "CTAs that share an SM compute as fast as alone in the model, since it has no tensor cores"


def _as_it_is(work: Work, case: Case | None) -> Candidate:
    if case is not None:
        return _of_case("", "", case)
    return Candidate("", "", work, max(flow.program.shared_bytes for flow in work.flows))


def _candidates(work: Work, case: Case | None) -> Iterator[Candidate]:
    """Give every change, in the order of the table."""
    if case is None:
        yield from _stages_of_flow(work)
        return
    for stages in _near(case.stages):
        yield _of_case("stages", str(stages), replace(case, stages=stages))
    if case.rows % 2 == 0:
        yield _of_box(case, case.rows // 2, case.iterations * 2)
    yield _of_box(case, case.rows * 2, max(1, case.iterations // 2))
    for cluster in CLUSTERS:
        if cluster != case.cluster:
            yield _of_case("cluster", str(cluster), replace(case, cluster=cluster))


def _near(stages: int) -> list[int]:
    """Give one stage less, one more, and twice as many."""
    return sorted({stages - 1, stages + 1, 2 * stages} - {0, stages})


def _of_box(case: Case, rows: int, iterations: int) -> Candidate:
    """Change the rows of a box, and the trips so that a CTA receives what it did, or nearly."""
    return _of_case("box", f"{rows}x{case.row_bytes}", replace(case, rows=rows, iterations=iterations))


def _of_case(name: str, value: str, case: Case) -> Candidate:
    try:
        needed = build_case(replace(case, shared_bytes=0)).flows[0].program.shared_bytes
        return Candidate(name, value, build_case(case), needed, case.bytes_per_cta)
    except InputError as error:
        return Candidate(name, value, None, reason=f"{error.field} = {error.value}: {error.rule}")


def _stages_of_flow(work: Work) -> Iterator[Candidate]:
    """Change the stages of the one ring that a flow file has."""
    loops = [v.operation for flow in work.flows for v in walk(flow.program) if isinstance(v.operation, For)]
    rings = {loop.stages for loop in loops if loop.stages > 1}
    if len(work.flows) > 1 or len(rings) != 1:
        return
    (flow,), (old,) = work.flows, rings
    for stages in _near(old):
        program = _with_stages(flow.program, old, stages)
        changed = replace(work, flows=(replace(flow, program=program),))
        yield Candidate("stages", str(stages), changed, program.shared_bytes)


def _with_stages(program: Program, old: int, stages: int) -> Program:
    """Give loops, buffers and barriers of so many stages another number of them."""

    def changed(body: tuple[Operation, ...]) -> tuple[Operation, ...]:
        return tuple(
            replace(item, body=changed(item.body), stages=stages if item.stages == old else item.stages)
            if isinstance(item, For)
            else item
            for item in body
        )

    return replace(
        program,
        roles=tuple(replace(role, body=changed(role.body)) for role in program.roles),
        buffers=tuple(
            replace(item, stages=stages) if item.stages == old else item for item in program.buffers
        ),
        barriers=tuple(
            replace(item, stages=stages) if item.stages == old else item for item in program.barriers
        ),
    )


def _checked(machine: Machine, item: Candidate) -> Candidate:
    """Drop the work of a change that breaks a rule, and say which."""
    broken = check(item.work, machine) if item.work is not None else []
    return item._replace(work=None, reason=broken[0].rule) if broken else item


def _tasks(machine: Machine, result: Result, items: list[Candidate]) -> dict[int, Timing]:
    """Give what is timed, by its number; the same time counts for all."""
    works = {number: item.work for number, item in enumerate(items) if item.work is not None}
    waves = any(count_waves(machine, work) > 1 for work in works.values())
    lines = result.delivered_bytes // LINE_BYTES
    runs = {number: first_trips(work, effort_of(work, lines, result.ctas)) for number, work in works.items()}
    return {
        number: Timing(machine, work, runs[number], waves) for number, work in works.items() if runs[number]
    }


def _step(
    machine: Machine, base: Candidate, item: Candidate, before: float | None, cycles: float | None
) -> Design:
    """Set a change beside the work as it is."""
    reason = item.reason or ("" if cycles is not None else "it does not end, or cannot be shortened")
    ctas, speedup = 0, None
    if before is not None and cycles:
        ctas = _ctas(machine, item)
        moved = ctas * item.bytes_per_cta / (_ctas(machine, base) * base.bytes_per_cta)
        speedup = before / cycles * moved
    limit = machine.spec.launch.shared_bytes_per_cta
    return Design(
        name=item.name,
        value=item.value,
        smem_bytes=item.smem_bytes,
        fits=item.smem_bytes <= limit,
        ctas=ctas,
        cycles=cycles,
        speedup=speedup,
        reason=reason,
    )


def _ctas(machine: Machine, item: Candidate) -> int:
    """Count the CTAs of a change: with a `fill` grid, as many as fit at once."""
    flows = item.work.flows if item.work is not None else ()
    return sum(
        len(flow_clusters(flow, place_flow(machine, flow))) * flow.launch.cluster_size for flow in flows
    )
