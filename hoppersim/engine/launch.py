"""Launch: clusters go to SMs in waves, start a little apart, and hold their SMs to their end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hoppersim.engine.context import EXITED, LIVE, Cta, FlowContext, Meeting
from hoppersim.engine.roles import RoleRun, Waiting
from hoppersim.errors import InputError
from hoppersim.machine import Placement, resident, select_sms
from hoppersim.program.operands import evaluate
from hoppersim.program.work import Flow
from hoppersim.units import TICKS_PER_CYCLE, to_ticks


def place_flow(context: FlowContext) -> Placement:
    """Find the SMs of one wave of a flow's clusters.

    Raises
    ------
    InputError
        If the flow cannot be launched on this machine, or no cluster lies wholly on the allowed SMs.
    """
    flow, sms = context.flow, context.flow.launch.sms
    allowed = None
    if sms.gpcs or sms.per_gpc:
        allowed = select_sms(context.machine.floorplan, sms.gpcs, sms.per_gpc, sms.spread)
    program, size = flow.program, flow.launch.cluster_size
    placement = resident(context.machine, size, program.shared_bytes, program.threads, allowed)
    if not placement.clusters:
        raise InputError(
            "launch.sms", sms, f"must leave room for at least one cluster of {size} CTAs in one GPC"
        )
    return placement


def cluster_count(flow: Flow, placement: Placement) -> int:
    """Number of clusters that a flow runs.

    Raises
    ------
    InputError
        If the grid is not a multiple of the cluster.
    """
    grid, size = flow.launch.grid, flow.launch.cluster_size
    if grid == "fill":
        return len(placement.clusters)
    if grid < size or grid % size:
        raise InputError("launch.grid", grid, f"must be a multiple of the {size} CTAs of a cluster",
                         max(size, round(grid / size) * size))  # fmt: skip
    return grid // size


class FlowRun:
    """All clusters of one flow while they run.

    Parameters
    ----------
    context
        The flow.
    placement
        SMs of each cluster slot, in launch order.
    """

    def __init__(self, context: FlowContext, placement: Placement) -> None:
        self.context = context
        self.ctas: list[Cta] = []
        self.roles: list[RoleRun] = []
        self._env = context.clockwork.env
        self._queue = iter(range(cluster_count(context.flow, placement)))
        self._slots = placement.clusters[: cluster_count(context.flow, placement)]
        self._sms_used: dict[int, int] = {}
        self._random = np.random.default_rng(context.flow.launch.seed)

    def start(self) -> list[Waiting]:
        """Give the processes that run the cluster slots."""
        spread = self.context.machine.spec.launch.start_spread
        delays = self._random.random(len(self._slots)) * spread
        return [
            self._slot(sms, to_ticks(float(delay)), self._queue)
            for sms, delay in zip(self._slots, delays, strict=True)
        ]

    def _slot(self, sms: tuple[int, ...], delay: int, queue: Iterator[int]) -> Waiting:
        """Run clusters one after the other on the same SMs."""
        slots = [self._sms_used.setdefault(sm, 0) for sm in sms]
        for sm in sms:
            self._sms_used[sm] += 1
        yield self._env.timeout(delay)
        for cluster in queue:
            yield from self._cluster(cluster, sms, slots)

    def _cluster(self, cluster: int, sms: tuple[int, ...], slots: list[int]) -> Waiting:
        roles = self.context.flow.program.roles
        group = [
            self._make_cta(cluster, rank, sm, slot)
            for rank, (sm, slot) in enumerate(zip(sms, slots, strict=True))
        ]
        meeting = Meeting(self._env, 0)
        done = []
        for cta in group:
            cta.peers, cta.cluster_meeting = group, meeting
        for cta in group:
            mine = [role for role in roles if not role.ranks or cta.rank in role.ranks]
            cta.meeting.expected = len(mine)
            meeting.expected += len(mine)
            done.append(self._env.process(self._run_cta(cta, group)))
        yield self._env.all_of(done)

    def _make_cta(self, cluster: int, rank: int, sm: int, slot: int) -> Cta:
        program = self.context.flow.program
        clockwork, kind = self.context.clockwork, self.context.barrier_type(cluster)
        barriers = {
            barrier.name: [clockwork.add_barrier(barrier.count, kind) for _ in range(barrier.stages)]
            for barrier in program.barriers
        }
        cta = Cta(self.context, len(self.ctas), cluster, rank, sm, slot, barriers, Meeting(self._env, 0))
        self.ctas.append(cta)
        return cta

    def _run_cta(self, cta: Cta, group: list[Cta]) -> Waiting:
        """Run the roles of one CTA; it leaves with its cluster, unless the exit sync was removed."""
        flow = self.context.flow
        skew = evaluate(flow.launch.skew, cta.cluster, cta.rank, {})
        if "entry_sync" not in flow.program.without:
            for peer in group:
                peer.state = max(peer.state, LIVE)
        if skew:
            yield self._env.timeout(skew * TICKS_PER_CYCLE)
        cta.state = max(cta.state, LIVE)
        cta.start = int(self._env.now)
        first_warp = 0
        processes = []
        for role in flow.program.roles:
            if not role.ranks or cta.rank in role.ranks:
                run = RoleRun(cta, role, first_warp, self.context.bind)
                self.roles.append(run)
                processes.append(self._env.process(run.process()))
            first_warp += role.warps
        yield self._env.all_of(processes)
        if "exit_sync" in flow.program.without:
            cta.state = EXITED
