"""Rules of barriers: counts, bytes and arrivals of every phase, found by following the program's course."""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import Arrive, ExpectTx
from hoppersim.program.rules.barrier_state import MOST_TX, BarrierState
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.course import Actor, Course, Key
from hoppersim.program.rules.registry import Finding, rule

_OBJECT = "PTX ISA, mbarrier object: pending and expected arrivals, tx-count"
_COMPLETE = "PTX ISA, mbarrier: a phase completes when pending arrivals and tx-count are both zero"


@rule("HS-MB-001", "A barrier counts 1 to 2^20 - 1 arrivals.", _OBJECT)
def arrival_count(context: Context) -> Iterator[Finding]:
    """Check the counts with which barriers are initialised.

    Example: ``Barrier("full", 0)`` would complete phase after phase at once.

    Fix: count the arrivals of one phase.
    """
    for number, item in enumerate(context.program.barriers):
        if not 1 <= item.count <= MOST_TX:
            nearest = min(max(item.count, 1), MOST_TX)
            yield Finding(
                f"program.barriers[{number}].count", item.count, "a count lies from 1 to 2^20 - 1", nearest
            )
        if item.stages < 1:
            yield Finding(f"program.barriers[{number}].stages", item.stages, "must be at least 1", 1)


@rule("HS-MB-002", "One expect_tx announces 0 to 2^20 - 1 bytes.", _OBJECT)
def transaction_range(context: Context) -> Iterator[Finding]:
    """Check the bytes that one operation announces against the range of the transaction count.

    Example: ``ExpectTx("full", 2**20)``.

    Fix: spread the bytes over several phases or barriers.
    """
    for visit in context.visits:
        if isinstance(visit.operation, ExpectTx):
            found = (int(v) for _, vs in context.values(visit.operation.bytes, visit) for v in vs)
            wrong = next((value for value in found if not 0 <= value <= MOST_TX), None)
            if wrong is not None:
                nearest = min(max(wrong, 0), MOST_TX)
                yield Finding(
                    f"{visit.path}.bytes", wrong, "an expectation lies from 0 to 2^20 - 1 bytes", nearest
                )


@rule("HS-MB-003", "Each phase receives as many bytes as it expects.", _COMPLETE, deep=True)
def bytes_balance(context: Context) -> Iterator[Finding]:
    """Compare the bytes that a phase announces with those that its loads and copies deliver to this CTA.

    Too many expected: the phase never completes. Too few: it completes while data are still to come, and
    the rest spoils the next phase. Every receiver of a multicast counts the whole of what it receives.

    Example: ``ExpectTx("full", 8192)`` and a box of 64 rows of 256 bytes.

    Fix: announce the sum of the boxes that land in this CTA in one phase.
    """
    for key, state in _stuck(context):
        if state.pending == 0 and state.tx:
            path = state.expect_paths[0] if state.expect_paths else (state.deliver_paths or [""])[0]
            others = state.expected - _announced(context, path, key[0])
            rule_text = f"{_name(key)} expects {state.expected} bytes in phase {state.phase} and receives {state.delivered}"
            yield Finding(f"{path}.bytes", state.expected, rule_text, max(0, state.delivered - others))


@rule("HS-MB-004", "Each phase receives as many arrivals as its barrier counts.", _COMPLETE, deep=True)
def arrivals_balance(context: Context) -> Iterator[Finding]:
    """Compare the arrivals that can still come with those that are missing.

    Example: ``Barrier("free", 2)`` in clusters of 2, where only the own consumer arrives.

    Fix: arrive from every CTA that uses the data (``to = 1`` for the leader), or lower the count.
    """
    stuck = list(_stuck(context))
    if any(state.pending == 0 or _unarmed(context, key, state) or _unarrived(state) for key, state in stuck):
        return
    for key, state in stuck:
        if state.pending and not _can_arrive(context, key):
            arrived = state.count - state.pending
            number = next(n for n, item in enumerate(context.program.barriers) if item.name == key[1])
            rule_text = f"{_name(key)} counts {state.count} arrivals in phase {state.phase}, and no more than {arrived} come"
            yield Finding(f"program.barriers[{number}].count", state.count, rule_text, arrived or None)


@rule("HS-MB-005", "A phase that expects bytes also gets its arrival.", _COMPLETE, deep=True)
def expect_without_arrival(context: Context) -> Iterator[Finding]:
    """Look for phases that hold all their bytes and miss an arrival, because expect_tx alone does not arrive.

    Example: ``ExpectTx("full", 8192, arrive=False)`` and no `Arrive`: the bytes come, the phase stays open.

    Fix: ``arrive=True``, or a separate `Arrive`.
    """
    for _, state in _stuck(context):
        if _unarrived(state):
            rule_text = f"the bytes are complete, {state.pending} arrivals are missing"
            yield Finding(f"{state.expect_paths[0]}.arrive", False, rule_text, True)


@rule("HS-MB-006", "Every receiver of bytes arms its barrier.", _COMPLETE, deep=True)
def unarmed_receiver(context: Context) -> Iterator[Finding]:
    """Look for CTAs whose barrier gets bytes that nobody announced there.

    A multicast signals the barrier at the same place in every receiver; each receiver's own phase must be
    armed, by itself or remotely by the issuer. Before or after the bytes makes no difference.

    Example: a multicast to two CTAs, where only rank 0 performs `ExpectTx`.

    Fix: a role on the other ranks that expects the same bytes, or ``ExpectTx(..., to=0b10)`` by rank 0.
    """
    for key, state in _stuck(context):
        if _unarmed(context, key, state):
            rule_text = f"{_name(key)} receives {state.delivered} bytes that nobody announces there"
            fix = f'ExpectTx("{key[1]}", {state.delivered}) on rank {key[0]}'
            yield Finding(state.deliver_paths[0], state.delivered, rule_text, fix)


@rule("HS-MB-007", "No phase gets more arrivals than its barrier counts.", _OBJECT, deep=True)
def surplus_arrival(context: Context) -> Iterator[Finding]:
    """Look for arrivals in a phase whose arrivals are all in; the count of pending ones would pass below zero.

    Example: two roles arrive on a barrier that counts 1, while its bytes are still under way.

    Fix: count both arrivals, or wait for the phase before arriving again.
    """
    seen: set[str] = set()
    for key, state in context.course.barriers.items():
        if state.surplus and state.surplus not in seen:
            seen.add(state.surplus)
            rule_text = (
                f"{_name(key)} has all its {state.count} arrivals of phase {state.phase} before this one"
            )
            yield Finding(state.surplus, key[1], rule_text, f"{key[1]}.count = {state.count + 1}")


@rule("HS-MB-008", "The bytes of a phase stay within 2^20 - 1.", _OBJECT, deep=True)
def transaction_overflow(context: Context) -> Iterator[Finding]:
    """Follow the transaction count; it holds one sign and 20 bits.

    Example: eight boxes of 256 KiB on one phase.

    Fix: a barrier for each part of the data.
    """
    seen: set[str] = set()
    for key, state in context.course.barriers.items():
        if state.overflow and key[1] not in seen:
            seen.add(key[1])
            number = next(n for n, item in enumerate(context.program.barriers) if item.name == key[1])
            rule_text = "the transaction count leaves the range of 2^20 - 1"
            yield Finding(f"program.barriers[{number}]", state.overflow, rule_text, MOST_TX)


@rule("HS-MB-009", "Roles do not wait for each other in a circle.", _COMPLETE, deep=True)
def circular_wait(context: Context) -> Iterator[Finding]:
    """Look for roles that all wait, each for what another would do next.

    Example: a producer that waits for ``free`` with the parity of ``full``, and a consumer that waits for it.

    Fix: let one go first: a wait for ``free`` passes in the first round.
    """
    stuck = list(_stuck(context))
    explained = any(
        state.pending == 0
        or _unarmed(context, key, state)
        or _unarrived(state)
        or not _can_arrive(context, key)
        for key, state in stuck
    )
    if explained or not context.course.blocked:
        return
    actor = context.course.blocked[0]
    where = [
        f"{other.role.name} of rank {other.rank} at {_what(other)}" for other in context.course.blocked[:4]
    ]
    path = actor.at.path if actor.at else "program"
    yield Finding(path, _what(actor), f"nobody can go on: {'; '.join(where)}")


def _stuck(context: Context) -> Iterator[tuple[Key, BarrierState]]:
    """Yield the barriers at which roles are blocked: of each name, the first."""
    seen: set[str] = set()
    course: Course = context.course
    keys = sorted({actor.at.barrier for actor in course.blocked if actor.at and actor.at.barrier})
    for key in keys:
        if key[1] not in seen:
            seen.add(key[1])
            yield key, course.barriers[key]


def _unarrived(state: BarrierState) -> bool:
    """Tell whether all bytes are in and an expectation came without its arrival."""
    return bool(state.pending and state.expect_paths and not state.tx and not state.arrive_paths)


def _unarmed(context: Context, key: Key, state: BarrierState) -> bool:
    """Tell whether a barrier got bytes and nobody who is left could announce them."""
    return bool(state.delivered and not state.expect_paths and not _can_arrive(context, key))


def _can_arrive(context: Context, key: Key) -> bool:
    """Tell whether a role that waits elsewhere has an operation that arrives on this barrier."""
    for actor in context.course.blocked:
        for visit in context.visits:
            operation = visit.operation
            if visit.role.name != actor.role.name or not isinstance(operation, Arrive | ExpectTx):
                continue
            if operation.barrier != key[1] or getattr(operation, "arrive", True) is False:
                continue
            if operation.to is None:
                reached = actor.rank == key[0]
            else:
                values = (
                    v for rank, vs in context.values(operation.to, visit) if rank == actor.rank for v in vs
                )
                reached = any(int(value) >> key[0] & 1 for value in values)
            if reached and not (actor.at and actor.at.barrier == key):
                return True
    return False


def _announced(context: Context, path: str, rank: int) -> int:
    """Give the bytes that the operation at a path announces, at the start of its loops."""
    operation = next((visit.operation for visit in context.visits if visit.path == path), None)
    return context.first_value(operation.bytes, rank) if isinstance(operation, ExpectTx) else 0


def _name(key: Key) -> str:
    rank, name, stage = key
    return f"{name}[{stage}] of rank {rank}"


def _what(actor: Actor) -> str:
    if actor.at is None:
        return "its end"
    return f"a {actor.at.scope} sync" if actor.at.barrier is None else f"a wait for {_name(actor.at.barrier)}"
