"""A hang in words: who waits for what, what the barrier has seen, what it still needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoppersim.engine.output import BarrierState, RoleState, RunOutput

_MOST_KINDS = 12


def hang_report(output: RunOutput) -> tuple[str, ...]:
    """Describe what waits, one line for each kind of wait, with the first CTA of the kind by name."""
    states = {(state.cta, state.barrier, state.stage): state for state in output.barriers}
    kinds: dict[str, list[RoleState]] = {}
    for role in output.roles:
        state = states.get((role.cta, role.barrier, role.stage))
        kinds.setdefault(_wait(role, state), []).append(role)
    lines = [_line(output, text, roles) for text, roles in kinds.items()]
    if len(lines) > _MOST_KINDS:
        return (*lines[:_MOST_KINDS], f"and {len(lines) - _MOST_KINDS} other kinds of wait")
    return tuple(lines)


def _line(output: RunOutput, text: str, roles: list[RoleState]) -> str:
    cta = output.ctas[roles[0].cta]
    others = f" and {len(roles) - 1} CTAs more" if len(roles) > 1 else ""
    return f"cluster {cta.cluster} rank {cta.rank} on SM {cta.sm}{others}, {text}"


def _wait(role: RoleState, state: BarrierState | None) -> str:
    path = " > ".join(role.path)
    if role.parity_waited < 0 or state is None:
        return f"role {role.role} at {path}: waits for the other threads"
    return (
        f"role {role.role} at {path}: waits for {role.barrier}[{role.stage}] to complete its phase "
        f"{state.phase}; it still needs {_needs(state)} and has seen {_seen(state)}"
    )


def _needs(state: BarrierState) -> str:
    needs = []
    if state.pending:
        needs.append(f"{state.pending} of {state.expected} arrivals")
    if state.tx > 0:
        needs.append(f"{state.tx} bytes")
    elif state.tx < 0:
        needs.append(f"an expect_tx of the {-state.tx} bytes that came unannounced")
    return " and ".join(needs) or "nothing"


def _seen(state: BarrierState) -> str:
    """List what came in the present phase: arrivals, bytes announced, bytes delivered, by whom."""
    parts = []
    for _, who, arrivals, count in state.log:
        if arrivals:
            parts.append(f"{arrivals} arrival by {who}")
        if count:
            parts.append(f"{abs(count)} bytes {'announced' if count < 0 else 'delivered'} by {who}")
    return ", ".join(parts) or "nothing"
