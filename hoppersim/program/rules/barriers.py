"""Rules of barriers: counts, bytes and arrivals of every phase, found by following the program's course."""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import ExpectTx, Wait
from hoppersim.program.rules.barrier_state import MOST_TX
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.diagnosis import (
    announced,
    count_of_a_round,
    declaration,
    diagnose,
    name,
    stuck,
    waiters,
    whereabouts,
)
from hoppersim.program.rules.registry import Finding, rule
from hoppersim.program.rules.repair import find_repair

_OBJECT = "PTX ISA, mbarrier object: pending and expected arrivals, tx-count"
_OBSERVED = "PTX ISA, mbarrier: a test_wait or try_wait returns True before an arrive-on in the next phase"
_COMPLETE = "PTX ISA, mbarrier: a phase completes when pending arrivals and tx-count are both zero"


@rule("HS-MB-001", "A barrier counts 1 to 2^20 - 1 arrivals.", _OBJECT, needed=True)
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


@rule("HS-MB-003", "Each phase receives as many bytes as it expects.", _COMPLETE, turn="deep")
def bytes_balance(context: Context) -> Iterator[Finding]:
    """Compare the bytes that a phase announces with those that its loads and copies deliver to this CTA.

    Too many expected: the phase never completes. Too few: it completes while data are still to come, and
    the rest spoils the next phase. Every receiver of a multicast counts the whole of what it receives.

    Example: ``ExpectTx("full", 8192)`` and a box of 64 rows of 256 bytes.

    Fix: announce the sum of the boxes that land in this CTA in one phase.
    """
    for key, state in stuck(context):
        if diagnose(context, key, state) == "bytes":
            act = (state.expects or state.deliveries)[0]
            nearest = max(0, state.delivered - state.expected + announced(context, act))
            received = f"receives {state.delivered} in phase {state.phase}"
            rule_text = f"{name(key)} expects {state.expected} bytes and {received}"
            yield Finding(f"{act.path}.bytes", announced(context, act), rule_text, nearest)


@rule("HS-MB-004", "Each phase receives as many arrivals as its barrier counts.", _COMPLETE, turn="deep")
def arrivals_balance(context: Context) -> Iterator[Finding]:
    """Compare the arrivals that can still come with those that are missing.

    Example: ``Barrier("free", 2)`` in clusters of 2, where only the own consumer arrives.

    Fix: arrive from every CTA that uses the data (``to = 1`` for the leader), or lower the count.
    """
    lacking = [(k, state) for k, state in stuck(context) if diagnose(context, k, state) == "arrivals"]
    repair = find_repair(context) if lacking else None
    for key, state in lacking:
        arrived = state.count - state.pending
        come = f"no more than {arrived} come in phase {state.phase}"
        rule_text = f"{name(key)} counts {state.count} arrivals and {come}"
        if repair is not None:
            yield repair.finding(rule_text)
            continue
        rule_text += f"; waiting for it: {waiters(context, key)}"
        yield Finding(f"{declaration(context, key)}.count", state.count, rule_text, arrived or None)


@rule("HS-MB-005", "A phase that expects bytes also gets its arrival.", _COMPLETE, turn="deep")
def expect_without_arrival(context: Context) -> Iterator[Finding]:
    """Look for phases that hold all their bytes and miss an arrival, because expect_tx alone does not arrive.

    Example: ``ExpectTx("full", 8192, arrive=False)`` and no `Arrive`: the bytes come, the phase stays open.

    Fix: ``arrive=True``, or a separate `Arrive`.
    """
    for key, state in stuck(context):
        if diagnose(context, key, state) == "unarrived":
            rule_text = f"the bytes are complete and {state.pending} arrivals of {name(key)} are missing"
            yield Finding(f"{state.expects[0].path}.arrive", False, rule_text, True)


@rule("HS-MB-006", "Every receiver of bytes arms its barrier.", _COMPLETE, turn="deep")
def unarmed_receiver(context: Context) -> Iterator[Finding]:
    """Look for CTAs whose barrier gets bytes that nobody announces there.

    A multicast signals the barrier at the same place in every receiver; each receiver's own phase must be
    armed, by itself or remotely by the issuer. Before or after the bytes makes no difference.

    Example: a multicast to two CTAs, where only rank 0 performs `ExpectTx`.

    Fix: a role on the other ranks that expects the same bytes, or ``ExpectTx(..., to=0b10)`` by rank 0.
    """
    for key, state in stuck(context):
        if diagnose(context, key, state) == "unarmed":
            rule_text = f"{name(key)} receives {state.delivered} bytes that nobody announces there"
            fix = f'ExpectTx("{key[1]}", {state.delivered}) on rank {key[0]}'
            yield Finding(state.deliveries[0].path, state.delivered, rule_text, fix)


@rule("HS-MB-007", "No phase gets more arrivals than its barrier counts.", _OBJECT, turn="deep")
def surplus_arrival(context: Context) -> Iterator[Finding]:
    """Look for arrivals in a phase whose arrivals are all in: pending ones would fall below zero.

    Example: two roles arrive on a barrier that counts 1, while its bytes are still under way.

    Fix: count both arrivals, or wait for the phase before arriving again.
    """
    seen: set[str] = set()
    for key, state in context.course.barriers.items():
        if state.surplus and state.surplus not in seen:
            seen.add(state.surplus)
            rule_text = (
                f"{name(key)} has all its {state.count} arrivals of phase {state.phase} before this one"
            )
            yield Finding(state.surplus, key[1], rule_text, f"{key[1]}.count = {state.count + 1}")


@rule("HS-MB-008", "The bytes of a phase stay within 2^20 - 1.", _OBJECT, turn="deep")
def transaction_overflow(context: Context) -> Iterator[Finding]:
    """Follow the transaction count; it holds one sign and 20 bits.

    Example: eight boxes of 256 KiB on one phase.

    Fix: a barrier for each part of the data.
    """
    seen: set[str] = set()
    for key, state in context.course.barriers.items():
        if state.overflow and key[1] not in seen:
            seen.add(key[1])
            rule_text = "the transaction count leaves the range of 2^20 - 1"
            yield Finding(declaration(context, key), state.overflow, rule_text, MOST_TX)


@rule(
    "HS-MB-010",
    "A completed phase is waited for before the next one gets an arrival.",
    _OBSERVED,
    turn="deep",
)
def unseen_phase(context: Context) -> Iterator[Finding]:
    """Look for arrivals that come before any wait has returned for the phase before.

    A wait tells phases apart by their parity only. A barrier that runs a phase ahead of its waiters looks
    to them as if it stood still.

    Example: ``Barrier("free", 1)`` in clusters of 2 with an arrival from each CTA: two phases a round.

    Fix: count all arrivals of a round, here 2. If the count is right, let the role that arrives wait for
    something that follows the wait of the phase before.
    """
    waits = {
        (visit.operation.barrier, rank)
        for visit in context.visits
        for rank in context.ranks(visit)
        if isinstance(visit.operation, Wait)
    }
    seen: set[str] = set()
    for key, state in context.course.barriers.items():
        if state.overrun and (key[1], key[0]) in waits and state.overrun not in seen:
            seen.add(state.overrun)
            rule_text = f"{name(key)} gets this arrival before its phase before was waited for"
            count = count_of_a_round(context, key)
            if count:
                yield Finding(state.overrun, key[1], rule_text, f"{key[1]}.count = {count}")
            elif (repair := find_repair(context)) is not None:
                yield repair.finding(f"{rule_text} ({state.overrun})")
            else:
                later = f"hold it back until rank {key[0]} has waited for {key[1]}"
                yield Finding(state.overrun, key[1], rule_text, later)


@rule("HS-MB-009", "Roles do not wait for each other in a circle.", _COMPLETE, turn="deep")
def circular_wait(context: Context) -> Iterator[Finding]:
    """Look for roles that all wait, each for what another would do next.

    Example: a producer that waits for ``full`` in the first round, before it has loaded anything.

    Fix: let one go first: a wait for ``free`` passes in the first round.
    """
    if not context.course.blocked or any(
        diagnose(context, key, state) or state.overrun for key, state in stuck(context)
    ):
        return
    if (repair := find_repair(context)) is not None:
        yield repair.finding("nobody can go on")
        return
    waiting = [
        f"{actor.role.name} of rank {actor.rank} at {whereabouts(actor)}" for actor in context.course.blocked
    ]
    actor = context.course.blocked[0]
    path = actor.at.path if actor.at else "program"
    yield Finding(path, whereabouts(actor), f"nobody can go on: {'; '.join(waiting[:4])}")
