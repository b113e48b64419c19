"""Who is there when an operation reaches another CTA; where nobody is, that is a finding."""

from __future__ import annotations

from hoppersim.engine.context import EXITED, LIVE, Cta
from hoppersim.engine.findings import AFTER_EXIT, BEFORE_START, NO_SUCH_RANK, Access
from hoppersim.engine.roles import RoleRun


def reach_cta(run: RoleRun, rank: int, what: str) -> Cta | None:
    """Find the CTA of a rank; note a hazard and give None where nobody is there."""
    target = run.cta.peers[rank] if rank < len(run.cta.peers) else None
    if target is not None and target.state == LIVE:
        return target
    own = _party(run.cta, run.role.name, what, tuple(run.loops.items()), run.time)
    if target is None:
        run.flow.findings.note_absent(NO_SUCH_RANK, own, None, f"rank {rank} does not exist")
    elif target.state == EXITED:
        gone = _party(target, start=target.end)
        run.flow.findings.note_absent(AFTER_EXIT, own, gone, f"rank {rank} has exited")
    else:
        run.flow.findings.note_absent(BEFORE_START, own, _party(target), f"rank {rank} has not started")
    return None


def _party(
    cta: Cta, role: str = "", what: str = "", iteration: tuple[tuple[str, int], ...] = (), start: int = -1
) -> Access:
    return Access(cta.flow.index, cta.cluster, cta.rank, cta.sm, role, what, iteration, start, start)
