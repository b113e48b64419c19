"""A hang in words: who waits for what, what the barrier has seen, what it still needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoppersim.engine.output import BarrierState, RoleState, RunOutput

_MOST_LINES = 40


def hang_report(output: RunOutput) -> tuple[str, ...]:
    """Describe every role that waits, one line each, then the barriers that they wait for."""
    lines = [_role_line(output, role) for role in output.roles]
    waited = {(role.cta, role.barrier, role.stage) for role in output.roles}
    lines += [
        _barrier_line(output, barrier)
        for barrier in output.barriers
        if (barrier.cta, barrier.barrier, barrier.stage) in waited
    ]
    if len(lines) > _MOST_LINES:
        left = len(lines) - _MOST_LINES
        lines = [*lines[:_MOST_LINES], f"and {left} more of the kind"]
    return tuple(lines)


def _where(output: RunOutput, index: int) -> str:
    cta = output.ctas[index]
    return f"cluster {cta.cluster} rank {cta.rank} (SM {cta.sm})"


def _role_line(output: RunOutput, role: RoleState) -> str:
    path = " > ".join(role.path)
    if role.parity_waited < 0:
        return f"{_where(output, role.cta)}, role {role.role}: stopped at {path}"
    return (
        f"{_where(output, role.cta)}, role {role.role}: waits for {role.barrier}[{role.stage}] to complete "
        f"a phase of parity {role.parity_waited}, at {path}"
    )


def _barrier_line(output: RunOutput, barrier: BarrierState) -> str:
    needs = []
    if barrier.pending:
        needs.append(f"{barrier.pending} of {barrier.expected} arrivals")
    if barrier.tx > 0:
        needs.append(f"{barrier.tx} bytes")
    elif barrier.tx < 0:
        needs.append(f"an expect_tx of {-barrier.tx} bytes that came unannounced")
    seen = "; ".join(f"{who}: {arrivals} arrivals, {count} bytes" for _, who, arrivals, count in barrier.log)
    name = f"{barrier.barrier}[{barrier.stage}]"
    return (
        f"{_where(output, barrier.cta)}, barrier {name} in phase {barrier.phase}: "
        f"still needs {' and '.join(needs) or 'nothing'}; has seen {seen or 'nothing'}"
    )
