"""Rules of sizes and places: what an operation touches of a buffer, and where a copy may go."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from hoppersim.program.operations import (
    BulkCopy,
    Operand,
    RemoteLoad,
    RemoteStore,
    StAsync,
    TmaLoad,
    TmaStore,
)
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.registry import Finding, rule
from hoppersim.program.walk import Visit

_LANGUAGE = "Definition of the language"
_BULK = "PTX ISA, cp.async.bulk: size, source and destination are multiples of 16 bytes"
_NAMES = {
    "barrier": "barriers",
    "buffer": "buffers",
    "source": "buffers",
    "destination": "buffers",
    "map": "maps",
}


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


@rule(
    "HS-OP-005", "A bulk copy has a positive size and offsets in multiples of 16 bytes.", _BULK, needed=True
)
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


@rule("HS-OP-011", "Loads and stores between CTAs move whole accesses.", _LANGUAGE, needed=True)
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
