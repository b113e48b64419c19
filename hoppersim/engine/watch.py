"""The watch: finds reads of half-filled tiles and stages that are overwritten while they are needed.

A write lasts from its issue until its last byte has landed; a read lasts as long as its operation; a role
that waited for `full` and reads or releases the stage needs it until its next arrival or sync. What overlaps
in the run's timing is reported with both owners. A few clusters of a flow stand for all, unless a mask, a
byte count or a parity depends on the cluster. Left out: accesses that are unordered and do not meet in this
timing, the source of a copy or store after its issue, and two writes that meet.
"""

from __future__ import annotations

from hoppersim.engine.context import Cta
from hoppersim.engine.findings import HALF_FILLED, OVERWRITTEN, UNSEEN, Access, Finding, Findings
from hoppersim.engine.places import Place, Use, WatchedBarrier
from hoppersim.engine.roles import RoleRun
from hoppersim.program.operations import Affine
from hoppersim.program.walk import walk
from hoppersim.program.work import Flow, Program

MOST_CTAS = 16
"""CTAs of a flow that are watched, in whole clusters, two clusters at least."""
_IN_USE = "it is refilled while it is in use"
_UNDER_WAY = "it is read while its bytes are still under way"
_DECISIVE = ("mask", "to", "rank", "bytes", "phase", "offset", "destination_offset")


class Watch:
    """Watches one run; `hoppersim.engine.watched` tells it what the roles do.

    Parameters
    ----------
    findings
        Where findings go; shared with the engine's own checks.
    whole
        Watch all clusters.
    """

    def __init__(self, findings: Findings, *, whole: bool = False) -> None:
        self.findings = findings
        self._whole = whole
        self._steps: dict[int, int] = {}
        self._places: dict[tuple[int, str], list[Place]] = {}
        self._seen: dict[RoleRun, dict[WatchedBarrier, int]] = {}

    def plan(self, index: int, flow: Flow, clusters: int) -> None:
        """Choose the clusters of a flow that are watched: spread evenly over all that run."""
        most = max(2, MOST_CTAS // flow.launch.cluster_size)
        every = self._whole or not _uniform(flow.program)
        self._steps[index] = 1 if every else max(1, -(-clusters // most))

    def follows(self, index: int, cluster: int) -> bool:
        """Tell whether a cluster of a flow is watched."""
        return cluster % self._steps[index] == 0

    def places(self, cta: Cta, buffer: str) -> list[Place]:
        """Stages of a buffer in a CTA."""
        key = (id(cta), buffer)
        if key not in self._places:
            stages = cta.flow.flow.program.buffer(buffer).stages
            self._places[key] = [Place(cta, buffer, stage, self._overrun) for stage in range(stages)]
        return self._places[key]

    def seen(self, run: RoleRun) -> dict[WatchedBarrier, int]:
        """Phases that a role has seen completed, by barrier: what must have happened before its next step."""
        return self._seen.setdefault(run, {})

    def phases(self, run: RoleRun) -> tuple[tuple[str, int, int], ...]:
        """The vector of phases of a role: (barrier of the own CTA, stage, phases seen completed)."""
        seen, barriers = self.seen(run), run.clockwork.barriers
        return tuple(
            (name, stage, seen[barrier])
            for name, numbers in run.cta.barriers.items()
            for stage, number in enumerate(numbers)
            if isinstance(barrier := barriers[number], WatchedBarrier) and barrier in seen
        )

    def meet_users(self, write: Use) -> None:
        """Report what is still in use where a write starts."""
        place = write.place
        for read in place.users():
            if read.run is not write.run and (read.end < 0 or write.start < read.end):
                self._meet(write, read)
        place.forget(int(write.run.env.now))

    def read(self, read: Use) -> None:
        """Note a read that starts: all bytes must have landed, in the last phase that the reader has seen."""
        place = read.place
        now = int(read.run.env.now)
        for store in place.stores:
            if store.run is not read.run and store.end > read.start:
                self._meet(store, read)
        # A write that has been issued is not ordered behind this read, even if its time is still to come.
        for write in place.flying:
            if write.barrier and write.barrier.under_way(now):
                self._meet(write, read)
        known = self.seen(read.run).get(place.source) if place.source else None
        if known and place.phase >= known:
            for write in place.landed:
                if write.meets(read):
                    detail = f"it holds data of phase {place.phase}, the reader waited for phase {known - 1}"
                    self._report(OVERWRITTEN, write, read, detail)

    def empty_read(self, read: Use, writers: str) -> None:
        """Report a read of a stage into which nothing has been written."""
        place = read.place
        key = (HALF_FILLED, place.buffer, writers, read.run.role.name)
        if not self.findings.seen(key):
            detail = f"it is read before {writers} has written it"
            finding = Finding(HALF_FILLED, self._access(read), None, place.buffer, place.stage, detail)
            self.findings.add(key, finding)

    def _meet(self, write: Use, read: Use) -> None:
        """Report a write and a read that overlap; the write is too early where the data were there before."""
        if not write.meets(read):
            return
        place = write.place
        known = self.seen(read.run).get(place.source) if place.source else None
        there = place.landed and (known is None or place.phase == known - 1)
        if there and any(old.meets(write) for old in place.landed):
            self._report(OVERWRITTEN, write, read, _IN_USE)
        else:
            self._report(HALF_FILLED, write, read, _UNDER_WAY)

    def _overrun(self, write: Use, phase: int) -> None:
        old = next((use for use in write.place.landed if use.meets(write)), None)
        if old is not None:
            detail = f"nobody has waited for phase {phase - 1}, whose data are replaced"
            self._report(UNSEEN, write, old, detail)

    def _report(self, code: str, write: Use, other: Use, detail: str) -> None:
        place = write.place
        key = (code, place.buffer, write.run.role.name, other.run.role.name)
        if not self.findings.seen(key):
            access, second = self._access(write), self._access(other)
            self.findings.add(key, Finding(code, access, second, place.buffer, place.stage, detail))

    def _access(self, use: Use) -> Access:
        cta = use.run.cta
        operation = str(type(use.operation).__struct_config__.tag)
        return Access(
            cta.flow.index, cta.cluster, cta.rank, cta.sm, use.run.role.name, operation, use.iteration,
            use.start, use.end, self.phases(use.run),
        )  # fmt: skip


def _uniform(program: Program) -> bool:
    """Tell whether all clusters synchronise alike: nothing that decides it depends on the cluster."""
    operands = (getattr(visit.operation, name, None) for visit in walk(program) for name in _DECISIVE)
    return not any(isinstance(operand, Affine) and operand.cluster for operand in operands)
