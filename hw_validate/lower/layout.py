"""Where everything of a kernel lies: shared memory, the records that it writes, its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hoppersim.program.operations import For, Operation, Stamp, Sync, TmaStore, Wait
from hoppersim.program.work import Flow, Program, Role, SmSet

BUFFER_ALIGNMENT = 1024
SCRATCH_BYTES = 16
"""Shared memory behind the barriers with which the CTAs of a cluster agree on taking part."""
HEADER_WORDS = 4
WARP_WORDS = 8
STAMPS_KEPT = 64
"""Times that are kept of one stamp; later ones are only counted."""


@dataclass(frozen=True)
class Site:
    """A wait of the program, as its number in the status word."""

    role: str
    path: str
    barrier: str


@dataclass(frozen=True)
class Layout:
    """Places of buffers, barriers, roles and records of one program."""

    buffers: dict[str, int]
    barriers: dict[str, int]
    scratch: int
    shared_bytes: int
    first_warp: dict[str, int]
    stamps: tuple[tuple[str, str], ...]
    record_words: int
    threads: int

    def stamp_offset(self, role: str, name: str) -> int:
        """Give the word of a CTA's record at which the times of a stamp start (its count first)."""
        return (
            HEADER_WORDS
            + WARP_WORDS * (self.threads // 32)
            + (1 + STAMPS_KEPT) * self.stamps.index((role, name))
        )


def lay_out(flow: Flow) -> Layout:
    """Place the parts of a flow's program."""
    program = flow.program
    buffers, end = {}, 0
    for buffer in program.buffers:
        buffers[buffer.name] = end
        end += stage_stride(buffer.bytes) * buffer.stages
    barriers = {}
    for barrier in program.barriers:
        barriers[barrier.name] = end
        end += 8 * barrier.stages
    scratch = -(-end // SCRATCH_BYTES) * SCRATCH_BYTES
    first_warp, warps = {}, 0
    for role in program.roles:
        first_warp[role.name] = warps
        warps += role.warps
    stamps = tuple(
        dict.fromkeys((role.name, op.name) for role, op in _operations(program) if isinstance(op, Stamp))
    )
    words = HEADER_WORDS + WARP_WORDS * warps + (1 + STAMPS_KEPT) * len(stamps)
    needed = scratch + SCRATCH_BYTES if flow.launch.sms != SmSet() else end
    return Layout(buffers, barriers, scratch, needed, first_warp, stamps, words, program.threads)


def stage_stride(size: int) -> int:
    """Give the distance between two stages of a buffer [B]."""
    return -(-size // BUFFER_ALIGNMENT) * BUFFER_ALIGNMENT


def walk(body: tuple[Operation, ...]) -> Iterator[Operation]:
    """Yield every operation of a body, loops before what they hold."""
    for operation in body:
        yield operation
        if isinstance(operation, For):
            yield from walk(operation.body)


def _operations(program: Program) -> Iterator[tuple[Role, Operation]]:
    return ((role, operation) for role in program.roles for operation in walk(role.body))


def wait_sites(program: Program) -> tuple[Site, ...]:
    """List the waits of a program in the order in which the lowering numbers them."""
    return tuple(
        Site(role.name, f"{place}", operation.barrier)
        for role in program.roles
        for place, operation in enumerate(walk(role.body))
        if isinstance(operation, Wait)
    )


def meets_widely(program: Program) -> bool:
    """Say whether roles meet across warps, so that threads without work must be gone."""
    return any(isinstance(op, Sync) and op.scope in ("cta", "cluster") for _, op in _operations(program))


def stores(role: Role) -> bool:
    """Say whether a role issues bulk stores, which it must drain."""
    return any(isinstance(operation, TmaStore) for operation in walk(role.body))
