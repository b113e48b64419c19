"""Rules of beginning and end: nobody touches a CTA that has not started or may have exited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hoppersim.program.operations import StoreWait, TmaStore
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.course import Touch
from hoppersim.program.rules.registry import Finding, rule

_ALIVE = "CUDA C++ Programming Guide, distributed shared memory: a block exists while others access it"
_INIT = "PTX ISA, mbarrier.init and fence.mbarrier_init.release.cluster"


@rule("HS-EX-001", "No CTA is accessed after it may have exited.", _ALIVE, turn="deep")
def access_after_exit(context: Context) -> Iterator[Finding]:
    """Look for accesses to peers that nothing in the peer waits for, where the exit sync is removed.

    A CTA that nobody touches any more may leave early. Otherwise the shared memory of the SM may belong to
    another CTA by then, and the launch fails or, worse, does not.

    Example: consumers that arrive on the leader's ``free`` barrier after their last tile, for which the
    leader no longer waits; with ``without = ["exit_sync"]``.

    Fix: keep the exit sync, or let the leader wait for the last round of ``free``.
    """
    if "exit_sync" in context.program.without and context.course.ended and not context.course.blocked:
        yield from _first_of_each(context.course.late, "may have exited by then", '"exit_sync"')


@rule(
    "HS-EX-002", "No CTA is accessed before it has started and initialised its barriers.", _ALIVE, turn="deep"
)
def access_before_start(context: Context) -> Iterator[Finding]:
    """Look for accesses to peers of which nothing has been heard, where the entry sync is removed.

    Example: a multicast in the first operation of the leader; with ``without = ["entry_sync"]``.

    Fix: keep the entry sync, or wait first for an arrival from the peer.
    """
    if "entry_sync" in context.program.without:
        yield from _first_of_each(context.course.early, "may not have started yet", '"entry_sync"')


@rule("HS-EX-003", "Barriers are initialised, and that is visible to whoever uses them.", _INIT)
def initialised(context: Context) -> Iterator[Finding]:
    """Check that the prologue's initialisation and its fence are there when the program uses barriers.

    The fence makes the initialisation visible to the peers and to the copy engines.

    Example: ``without = ["init_fence"]`` in a program with barriers.

    Fix: keep the step.
    """
    for step in ("init", "init_fence"):
        if step in context.program.without and context.program.barriers:
            yield Finding("program.without", step, "the program uses barriers and needs this step", "keep it")


@rule("HS-EX-004", "Stores are complete before their CTA exits.", "PTX ISA, cp.async.bulk.wait_group")
def stores_drained(context: Context) -> Iterator[Finding]:
    """Check that a role waits for its bulk stores, where the drain is removed.

    Example: a `TmaStore` without `StoreWait` and ``without = ["drain"]``.

    Fix: `StoreWait` with ``pending = 0`` at the end of the role, or keep the drain.
    """
    if "drain" not in context.program.without:
        return
    for number, role in enumerate(context.program.roles):
        own = [visit.operation for visit in context.visits if visit.role is role]
        stores = [place for place, operation in enumerate(own) if isinstance(operation, TmaStore)]
        waits = [
            place
            for place, operation in enumerate(own)
            if isinstance(operation, StoreWait) and not operation.pending
        ]
        if stores and (not waits or waits[-1] < stores[-1]):
            yield Finding(
                f"program.roles[{number}]", role.name, "the role exits with stores under way", "StoreWait(0)"
            )


def _first_of_each(touches: Iterable[Touch], what: str, step: str) -> Iterator[Finding]:
    """Report the first access of every operation."""
    seen: set[str] = set()
    for touch in touches:
        if touch.path not in seen:
            seen.add(touch.path)
            rule_text = f"rank {touch.rank} accesses rank {touch.target}, which {what}"
            yield Finding(touch.path, touch.target, rule_text, f"keep {step}")
