"""Rules of single operations: names, stages, sizes, parities, and who may meet whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Any

from hoppersim.program.operands import nearest_name, operand_faults, ring_of
from hoppersim.program.operations import (
    Affine,
    BulkCopy,
    Operand,
    RemoteLoad,
    RemoteStore,
    StAsync,
    Sync,
    TmaLoad,
    TmaStore,
    Wait,
)
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.registry import Finding, rule
from hoppersim.program.walk import Visit, role_runs_on

_LANGUAGE = "Definition of the language"
_BULK = "PTX ISA, cp.async.bulk: size, source and destination are multiples of 16 bytes"
_NAMES = {
    "barrier": "barriers",
    "buffer": "buffers",
    "source": "buffers",
    "destination": "buffers",
    "map": "maps",
}


@rule("HS-OP-001", "Every name that is used is declared.", _LANGUAGE)
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


@rule("HS-OP-002", "No two things of a kind have one name.", _LANGUAGE)
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


@rule("HS-OP-004", "Every access stays inside one stage of its buffer.", _LANGUAGE)
def inside_buffer(context: Context) -> Iterator[Finding]:
    """Check offset plus size against the buffer; what lies behind belongs to another stage or buffer.

    Example: a box of 256 rows of 128 bytes (32 KiB) into a buffer of 16 KiB.

    Fix: enlarge the buffer, and the bytes that its barrier expects.
    """
    for visit in context.visits:
        for field, name, offset, size in _accesses(context, visit):
            buffer = context.buffers.get(name)
            if buffer is None:
                continue
            ends = [(int(v.min()), int(v.max()) + size) for _, v in context.values(offset, visit)]
            low, high = min((end[0] for end in ends), default=0), max((end[1] for end in ends), default=0)
            if low < 0 or high > buffer.bytes:
                rule_text = f"bytes {low} to {high} lie outside a stage of {name}, which has {buffer.bytes}"
                nearest = f"{name}.bytes = {high}" if low >= 0 else 0
                yield Finding(f"{visit.path}.{field}", low if low < 0 else high, rule_text, nearest)


def _accesses(context: Context, visit: Visit) -> Iterator[tuple[str, str, Operand, int]]:
    """Yield (field, buffer, offset, bytes) of what an operation touches."""
    match visit.operation:
        case (
            TmaLoad(map=name, buffer=buffer, offset=offset) | TmaStore(map=name, buffer=buffer, offset=offset)
        ):
            item = context.maps.get(name)
            if item and len(item.box) == item.rank:
                yield "offset", buffer, offset, prod(item.box) * item.element_bytes
        case BulkCopy() as copy:
            yield "source_offset", copy.source, copy.source_offset, copy.bytes
            yield "destination_offset", copy.destination, copy.destination_offset, copy.bytes
        case (
            RemoteLoad(buffer=buffer, bytes=size)
            | RemoteStore(buffer=buffer, bytes=size)
            | StAsync(buffer=buffer, bytes=size)
        ):
            yield "bytes", buffer, 0, size


@rule("HS-OP-005", "A bulk copy has a positive size and offsets in multiples of 16 bytes.", _BULK)
def bulk_alignment(context: Context) -> Iterator[Finding]:
    """Check sizes and offsets of copies between CTAs; other values are undefined.

    Example: ``BulkCopy("a", "b", 100, ...)``.

    Fix: round up to 112 bytes.
    """
    for visit in context.visits:
        copy = visit.operation
        if not isinstance(copy, BulkCopy):
            continue
        if copy.bytes < 16 or copy.bytes % 16:
            yield Finding(
                f"{visit.path}.bytes",
                copy.bytes,
                "must be a multiple of 16 bytes",
                max(16, -(-copy.bytes // 16) * 16),
            )
        for field in ("source_offset", "destination_offset"):
            wrong = [
                int(v) for _, values in context.values(getattr(copy, field), visit) for v in values if v % 16
            ]
            if wrong:
                yield Finding(
                    f"{visit.path}.{field}", wrong[0], "must be a multiple of 16 bytes", wrong[0] // 16 * 16
                )


@rule(
    "HS-OP-006",
    "A bulk copy goes to another CTA of the cluster.",
    "PTX ISA, cp.async.bulk shared::cta to shared::cluster",
)
def copy_to_other(context: Context) -> Iterator[Finding]:
    """Check the target of copies; the copy engine has no way from an SM to itself.

    Example: ``rank = {rank = 1, wrap = 1}`` in clusters of 1: the next rank is the own one.

    Fix: use clusters of 2 or more, or a target of another rank.
    """
    for visit in context.visits:
        copy = visit.operation
        if isinstance(copy, BulkCopy) and any(
            rank in values for rank, values in context.values(copy.rank, visit)
        ):
            own = next(rank for rank, values in context.values(copy.rank, visit) if rank in values)
            nearest = (own + 1) % context.cluster_size if context.cluster_size > 1 else None
            yield Finding(f"{visit.path}.rank", own, "the target is the copying CTA itself", nearest)


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
    "HS-OP-009", "Operands use enclosing loops, tables for every rank, and steps below their wrap.", _LANGUAGE
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


@rule("HS-OP-011", "Loads and stores between CTAs move whole accesses.", _LANGUAGE)
def whole_accesses(context: Context) -> Iterator[Finding]:
    """Check the size of loads and stores against their width.

    Example: ``RemoteLoad("tile", 0, 100, width=16)``.

    Fix: 112 bytes, or a width of 4.
    """
    for visit in context.visits:
        move = visit.operation
        if isinstance(move, RemoteLoad | RemoteStore | StAsync) and (
            move.bytes < 1 or move.bytes % move.width
        ):
            nearest = max(move.width, -(-move.bytes // move.width) * move.width)
            yield Finding(
                f"{visit.path}.bytes", move.bytes, f"must be a multiple of the width of {move.width}", nearest
            )
