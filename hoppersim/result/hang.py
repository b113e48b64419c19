"""The report of a hang: who waits for what, what has come, who could still act, what mends it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from hoppersim.engine.output import BarrierState, RoleState, RunOutput
from hoppersim.result import hang_text as text
from hoppersim.result.hang_graph import SYNCS, BarrierKey, ClusterState, RoleKey, cycle, dead_ends, wait_graph
from hoppersim.units import to_cycles

if TYPE_CHECKING:
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Work

SCHEMA = "hoppersim.hang/1"


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """Common shape of all parts of a report."""


class Share(_Part, frozen=True, kw_only=True):
    """What one party did to a barrier in its present phase: arrivals, bytes announced and delivered."""

    who: str
    arrivals: int = 0
    announced: int = 0
    delivered: int = 0


class Waiter(_Part, frozen=True, kw_only=True):
    """A role that is blocked.

    Attributes
    ----------
    rank, sm, role, operation
        Who waits: cluster rank, SM in the first cluster of its kind, role and operation.
    iteration
        Enclosing loops with their trip counts.
    barrier, stage, parity, phase
        What for; `phase` is the barrier's present one, which must complete. Of a sync the parity is -1.
    count, pending, tx
        Arrivals of a phase, those that are missing, and the bytes announced less those delivered.
    shares
        By whom arrivals and bytes came in this phase.
    could_act
        Blocked roles that could still supply what is missing.
    """

    rank: int
    sm: int
    role: str
    operation: str
    iteration: dict[str, int]
    barrier: str
    stage: int
    parity: int
    phase: int
    count: int
    pending: int
    tx: int
    shares: tuple[Share, ...]
    could_act: tuple[str, ...]


class Cause(_Part, frozen=True, kw_only=True):
    """What nobody can supply any more: where, what is missing, the smallest change that mends it."""

    rank: int
    barrier: str
    stage: int
    missing: str
    fix: str


class ClusterHang(_Part, frozen=True, kw_only=True):
    """Clusters that hang in the same way.

    Attributes
    ----------
    flow, clusters
        Number of the flow, and of its clusters.
    waiters
        Their blocked roles.
    kind
        ``dead end``, or ``cycle``.
    causes
        Dead ends.
    cycle
        Roles and barriers of a cycle, in order.
    edges
        The wait-for graph, by names.
    """

    flow: int
    clusters: tuple[int, ...]
    waiters: tuple[Waiter, ...]
    kind: str
    causes: tuple[Cause, ...]
    cycle: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]


class HangReport(_Part, frozen=True, kw_only=True):
    """Why a run hung: the cycle after which nothing moved, and the kinds of clusters that are stuck."""

    schema: str = SCHEMA
    machine: str
    work: str
    cycles: float
    groups: tuple[ClusterHang, ...]

    def lines(self) -> tuple[str, ...]:
        """Tell it in lines: causes with their fixes first, then who waits."""
        return tuple(text.report_lines(self))

    def text(self) -> str:
        """Tell it in words."""
        return "\n".join(self.lines())


def report_hang(machine: Machine, work: Work, output: RunOutput) -> HangReport:
    """Explain a run that hung.

    Parameters
    ----------
    machine, work
        What ran.
    output
        A run whose `hung` is true.

    Returns
    -------
    HangReport
        For people by `HangReport.text`, as JSON by `hoppersim.result.export.to_json`, as a drawing by
        `hoppersim.plots.hang.draw_hang`.
    """
    kinds: dict[tuple[object, ...], list[ClusterState]] = defaultdict(list)
    for state in _clusters(work, output):
        kinds[_signature(state)].append(state)
    groups = [_explain(output, states) for states in kinds.values()]
    name = " + ".join(flow.program.name for flow in work.flows)
    return HangReport(machine=machine.name, work=name, cycles=to_cycles(output.ticks), groups=tuple(groups))


def _clusters(work: Work, output: RunOutput) -> list[ClusterState]:
    """Sort what is blocked by clusters."""
    found: dict[tuple[int, int], ClusterState] = {}
    for role in output.roles:
        cta = output.ctas[role.cta]
        flow = work.flows[cta.flow]
        empty = ClusterState(flow.program, cta.cluster, flow.launch.cluster_size, {}, {})
        found.setdefault((cta.flow, cta.cluster), empty).blocked[cta.rank, role.role] = role
    for barrier in output.barriers:
        cta = output.ctas[barrier.cta]
        if (cta.flow, cta.cluster) in found:
            found[cta.flow, cta.cluster].barriers[cta.rank, barrier.barrier, barrier.stage] = barrier
    return list(found.values())


def _signature(state: ClusterState) -> tuple[object, ...]:
    """Describe a cluster without its number, places and times."""
    blocked = tuple((key, role.path, role.barrier, role.stage) for key, role in sorted(state.blocked.items()))
    waited = {state.waited(key) for key in state.blocked}
    seen = tuple(
        (key, barrier.phase, barrier.pending, barrier.tx, tuple(sorted(entry[1:] for entry in barrier.log)))
        for key, barrier in sorted(state.barriers.items())
        if key in waited
    )
    return (id(state.program), blocked, seen)


def _explain(output: RunOutput, states: list[ClusterState]) -> ClusterHang:
    """Explain clusters that are stuck alike by the first of them."""
    state = states[0]
    graph = wait_graph(state)
    ends = dead_ends(state, graph)
    ring = [] if ends else cycle(graph)
    flow = output.ctas[next(iter(state.blocked.values())).cta].flow
    return ClusterHang(
        flow=flow,
        clusters=tuple(item.cluster for item in states),
        waiters=tuple(_waiter(output, state, key) for key in sorted(state.blocked)),
        kind="cycle" if ring else "dead end",
        causes=tuple(_cause(state, end) for end in ends),
        cycle=tuple(text.node_name(node) for node in ring),
        edges=tuple((text.node_name(a), text.node_name(b)) for a, b in graph.edges),
    )


def _waiter(output: RunOutput, state: ClusterState, key: RoleKey) -> Waiter:
    role = state.blocked[key]
    target = state.waited(key)
    barrier = state.barriers.get(target)
    return Waiter(
        rank=key[0],
        sm=output.ctas[role.cta].sm,
        role=role.role,
        operation=role.path[-1],
        iteration=dict(role.loops),
        barrier=role.barrier,
        stage=role.stage,
        parity=role.parity_waited,
        phase=barrier.phase if barrier else -1,
        count=barrier.expected if barrier else 0,
        pending=barrier.pending if barrier else 0,
        tx=barrier.tx if barrier else 0,
        shares=_shares(barrier) if barrier else (),
        could_act=tuple(_supplier(state, supplier) for supplier in state.suppliers(target)),
    )


def _supplier(state: ClusterState, key: RoleKey) -> str:
    return f"{text.node_name(key)}, which waits for {text.node_name(state.waited(key))}"


def _shares(barrier: BarrierState) -> tuple[Share, ...]:
    """Add up what each party did in the present phase."""
    totals: dict[str, list[int]] = {}
    for _, who, arrivals, count in barrier.log:
        share = totals.setdefault(who, [0, 0, 0])
        share[0] += arrivals
        share[1] += max(0, -count)
        share[2] += max(0, count)
    return tuple(
        Share(who=who, arrivals=part[0], announced=part[1], delivered=part[2]) for who, part in totals.items()
    )


def _cause(state: ClusterState, target: BarrierKey) -> Cause:
    barrier = state.barriers.get(target)
    if target[1] in SYNCS or barrier is None:
        missing, mend = "the threads that are expected: they have ended", "meet equally often in all roles"
        return Cause(rank=target[0], barrier=target[1], stage=0, missing=missing, fix=mend)
    former = [text.node_name(key) for key in state.former(target)]
    shares = _shares(barrier)
    waiting: list[RoleState] = [role for key, role in state.blocked.items() if state.waited(key) == target]
    return Cause(
        rank=target[0],
        barrier=target[1],
        stage=target[2],
        missing=text.missing(barrier.pending, barrier.expected, barrier.tx),
        fix=text.fix(target, barrier, shares, former, waiting[0].parity_waited),
    )
