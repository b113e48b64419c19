"""Rules of single operations: names, stages, parities, operands, and who may meet whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Any

from hoppersim.program.operands import evaluate, nearest_name, operand_faults, ring_of
from hoppersim.program.operations import Affine, Compute, Exit, StoreWait, Sync, Wait
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.registry import Finding, rule
from hoppersim.program.walk import Visit, role_runs_on

_PARITY = "PTX ISA, mbarrier.try_wait.parity: even phases have parity 0, odd ones 1"
_LANGUAGE = "Definition of the language"
_BULK = "PTX ISA, cp.async.bulk: size, source and destination are multiples of 16 bytes"
_NAMES = {
    "barrier": "barriers",
    "buffer": "buffers",
    "source": "buffers",
    "destination": "buffers",
    "map": "maps",
}


@rule("HS-OP-001", "Every name that is used is declared.", _LANGUAGE, needed=True)
def known_names(context: Context) -> Iterator[Finding]:
    """Check the names of buffers, barriers, tensor maps and allocations.

    Example: ``Wait("ful")`` where the barrier is called ``full``.

    Fix: correct the name, or declare it.
    """
    for visit in context.visits:
        for field, kind in _NAMES.items():
            name, known = getattr(visit.operation, field, None), getattr(context, kind)
            if name is not None and name not in known:
                rule_text = f"no {kind[:-1]} of the program has this name"
                yield Finding(f"{visit.path}.{field}", name, rule_text, nearest_name(name, known))
    for number, item in enumerate(context.program.maps):
        if item.allocation not in context.allocations:
            near = nearest_name(item.allocation, context.allocations)
            rule_text = "no allocation of the launch has this name"
            yield Finding(f"program.maps[{number}].allocation", item.allocation, rule_text, near)


@rule("HS-OP-002", "No two things of a kind have one name.", _LANGUAGE, needed=True)
def unique_names(context: Context) -> Iterator[Finding]:
    """Check for names that are declared twice.

    Example: two barriers called ``full``.

    Fix: rename one.
    """
    program = context.program
    groups: dict[str, tuple[Any, ...]] = {
        "program.buffers": program.buffers,
        "program.barriers": program.barriers,
        "program.maps": program.maps,
        "program.roles": program.roles,
        "launch.allocations": context.launch.allocations,
    }
    for field, items in groups.items():
        for name, count in Counter(item.name for item in items).items():
            if count > 1:
                yield Finding(field, name, f"{count} of them have this name", f"{name}_2")


@rule("HS-OP-003", "A buffer or barrier in stages is used inside a ring of as many stages.", _LANGUAGE)
def stages_fit(context: Context) -> Iterator[Finding]:
    """Check stages against rings; the ring gives the stage, and a wait its parity.

    A wait for ``full`` or ``free`` on a barrier of one stage needs a loop of one stage, unless it is passed
    only once: its parity must flip with every phase, not when a longer ring comes round.

    Example: a barrier of 4 stages waited for in a loop of 3 stages.

    Fix: give both the same number of stages.
    """
    for visit in context.visits:
        rings = sorted({loop.stages for loop in visit.loops}) or [1]
        for field in ("barrier", "buffer", "destination", "source"):
            name = getattr(visit.operation, field, None)
            item = context.barriers.get(name) if field == "barrier" else context.buffers.get(name)  # type: ignore[arg-type]
            if item is None or ring_of(item.stages, visit.loops):
                continue
            if item.stages > 1 or (_needs_ring(visit) and field == "barrier"):
                near = min(rings, key=lambda ring: abs(ring - item.stages))
                rule_text = f"{name} has {item.stages} stages and no loop around it has a ring of as many"
                yield Finding(f"{visit.path}.{field}", item.stages, rule_text, near)


def _needs_ring(visit: Visit) -> bool:
    """Tell whether an operation is a wait that takes its parity from a ring, more than once."""
    waits = isinstance(visit.operation, Wait) and isinstance(visit.operation.phase, str)
    return waits and prod(loop.n for loop in visit.loops) > 1


@rule("HS-OP-007", "An explicit parity is 0 or 1.", "PTX ISA, mbarrier.try_wait.parity")
def parity(context: Context) -> Iterator[Finding]:
    """Check explicit parities; even phases have parity 0, odd ones 1.

    Example: ``Wait("full", Affine(loops={"i": 1}))`` runs through 0, 1, 2, 3.

    Fix: add ``wrap = 2``, or wait for ``full``.
    """
    for visit in context.visits:
        wait = visit.operation
        if isinstance(wait, Wait) and not isinstance(wait.phase, str):
            wrong = [
                int(v) for _, values in context.values(wait.phase, visit) for v in values if v not in (0, 1)
            ]
            if wrong:
                yield Finding(f"{visit.path}.phase", wrong[0], "a parity is 0 or 1", wrong[0] % 2)


@rule("HS-OP-012", "An explicit parity in a ring flips when the ring comes round.", _PARITY)
def ring_parity(context: Context) -> Iterator[Finding]:
    """Compare explicit parities with those of the ring: of ``full`` (0 first) or of ``free`` (1 first).

    A barrier of a ring changes its phase once a round, not once an iteration. A constant parity is right
    for a barrier that completes once.

    Example: ``Wait("full", Affine(loops={"i": 1}, wrap=2))`` in a ring of 4 stages.

    Fix: wait for ``full``.
    """
    for visit in context.visits:
        wait = visit.operation
        if not isinstance(wait, Wait) or isinstance(wait.phase, str) or wait.barrier not in context.barriers:
            continue
        ring = ring_of(context.barriers[wait.barrier].stages, visit.loops)
        steps = wait.phase.loops if isinstance(wait.phase, Affine) else {}
        if ring is None or set(steps) - {ring.name} or (ring.stages == 1 and not steps):
            continue
        trips = range(min(ring.n, 2 * ring.stages))
        turns = [trip // ring.stages & 1 for trip in trips]
        for rank in context.ranks(visit):
            given = [evaluate(wait.phase, 0, rank, dict.fromkeys(visit.loop_names, trip)) for trip in trips]
            if given not in (turns, [1 - turn for turn in turns]):
                yield Finding(f"{visit.path}.phase", given, f"the ring's parities are {turns}", "full")
                break


@rule(
    "HS-OP-008",
    "A single lane does not meet other warps.",
    "PTX ISA, bar.sync and barrier.cluster count whole warps",
)
def lane_sync(context: Context) -> Iterator[Finding]:
    """Check syncs in roles of one lane; the other lanes of its warp never come, and all wait for them.

    Example: ``Sync("cluster")`` in a role of width ``lane``.

    Fix: width ``warp``.
    """
    for visit in context.visits:
        sync = visit.operation
        if isinstance(sync, Sync) and sync.scope in ("cta", "cluster") and visit.role.width == "lane":
            yield Finding(
                visit.path, sync.scope, "one lane cannot stand for its warp in this sync", 'width = "warp"'
            )


@rule(
    "HS-OP-009",
    "Operands use enclosing loops, tables for every rank, and steps below their wrap.",
    _LANGUAGE,
    needed=True,
)
def operands(context: Context) -> Iterator[Finding]:
    """Check affine operands; a loop advances them by an increment and one compare-and-reset.

    Example: ``{loops = {i = 192}, wrap = 128}``.

    Fix: take the step modulo the wrap: 64.
    """
    for visit in context.visits:
        for field in visit.operation.__struct_fields__:
            value = getattr(visit.operation, field)
            parts = value if field == "coordinates" else (value,)
            for place, part in enumerate(parts):
                if isinstance(part, Affine):
                    where = f"{visit.path}.{field}" + (f"[{place}]" if field == "coordinates" else "")
                    for below, given, rule_text, nearest in operand_faults(
                        part, visit.loop_names, context.cluster_size
                    ):
                        yield Finding(f"{where}.{below}", given, rule_text, nearest)


@rule(
    "HS-OP-010",
    "All roles that run meet equally often in CTA and cluster syncs.",
    "PTX ISA, barrier.cluster: all threads",
)
def equal_syncs(context: Context) -> Iterator[Finding]:
    """Check how often roles meet; a role that has left its loop would meet the others at the wrong place.

    Example: the producer syncs the cluster after every tile, the consumer does not.

    Fix: the same number of syncs in every role, on every rank.
    """
    if any(isinstance(visit.operation, Exit) for visit in context.visits):
        return
    for scope in ("cluster", "cta"):
        meets = {role.name: 0 for role in context.program.roles}
        for visit in context.visits:
            if isinstance(visit.operation, Sync) and visit.operation.scope == scope:
                meets[visit.role.name] += prod(loop.n for loop in visit.loops)
        for rank in range(context.cluster_size):
            here = {role.name: meets[role.name] for role in context.program.roles if role_runs_on(role, rank)}
            if len(set(here.values())) > 1:
                text = f"the roles of rank {rank} perform unequal numbers of {scope} syncs"
                yield Finding("program.roles", here, text, max(here.values()))
                break
            if scope == "cluster" and here and set(here.values()) != {max(meets.values())}:
                text = f"rank {rank} performs another number of cluster syncs than other ranks"
                yield Finding("program.roles", here, text, max(meets.values()))
                break


@rule(
    "HS-OP-013",
    "Nobody computes for less than no time, or waits for fewer than no stores.",
    _LANGUAGE,
    needed=True,
)
def no_less_than_none(context: Context) -> Iterator[Finding]:
    """Check the cycles of `Compute` and the pending groups of `StoreWait`.

    Example: ``Compute(Affine(base=100, loops={"i": -10}))`` in a loop of 20 trips.

    Fix: a step that leads to 0 at the last trip, or ``wrap``.
    """
    for visit in context.visits:
        operation = visit.operation
        if isinstance(operation, Compute):
            cycles = (int(values.min()) for _, values in context.values(operation.cycles, visit))
            least = min(cycles, default=0)
            if least < 0:
                yield Finding(f"{visit.path}.cycles", least, "computing takes 0 SM cycles or more", 0)
        if isinstance(operation, StoreWait) and operation.pending < 0:
            rule_text = "the stores that may be left are 0 or more"
            yield Finding(f"{visit.path}.pending", operation.pending, rule_text, 0)
