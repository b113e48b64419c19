"""Programs that several plans share: tiles pushed from CTA to CTA over the cluster fabric."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from hoppersim.program.operations import (
    Affine,
    Arrive,
    BulkCopy,
    Compute,
    ExpectTx,
    Operand,
    Operation,
    Stamp,
    StAsync,
    TmaLoad,
    Wait,
)  # fmt: skip
from hoppersim.program.work import (
    Barrier,
    Buffer,
    Flow,
    Launch,
    Program,
    Role,
    SmSet,
    Width,
    Work,
    make_work,
)
from hw_validate.plans.parts import LINE, Bytes, Phases, padding, phased, rows_of, spread_starts

Pattern = Literal["ring", "exchange", "half", "one_way", "across", "fan"]
MOST_CTAS = 264
"""More CTAs than a GPU runs at once with one on each SM: as many as the check of data foresees."""
REGION = 8


@dataclass(frozen=True)
class Push:
    """Who pushes what to whom.

    Parameters
    ----------
    cluster, bytes, copies
        CTAs of a cluster; bytes of one copy; copies that share a stage and a phase.
    pattern
        ``ring``: to the next rank. ``exchange``: between ranks 2k and 2k + 1. ``half``: half a ring further.
        ``one_way``: from rank 2k to 2k + 1 only. ``across``: from the first half of the ranks to the second
        only. ``fan``: from rank 0 to all others.
    width
        None: bulk copies by one lane. Else st.async of that many bytes a thread, by `warps` warps.
    stages, rounds
        Stages of the inbox; rounds of eight tiles in phases, without or with stamps.
    """

    cluster: int
    bytes: int = 8192
    copies: int = 1
    pattern: Pattern = "ring"
    width: Bytes | None = None
    warps: int = 1
    stages: int = 4
    rounds: Phases = ((8, False),)
    pace: int = 0
    grid: int | Literal["fill"] = "fill"
    sms: SmSet = field(default_factory=SmSet)

    @property
    def tiles(self) -> int:
        """Tiles that each sender sends to each of its targets."""
        return REGION * sum(rounds for rounds, _ in self.rounds)

    def targets(self, rank: int) -> tuple[int, ...]:
        """Give the ranks that a rank sends to."""
        size = self.cluster
        match self.pattern:
            case "ring":
                return ((rank + 1) % size,)
            case "exchange":
                return (rank ^ 1,)
            case "half":
                return ((rank + size // 2) % size,)
            case "one_way":
                return (rank + 1,) if rank % 2 == 0 else ()
            case "across":
                return (rank + size // 2,) if rank < size // 2 else ()
            case "fan":
                return tuple(range(1, size)) if rank == 0 else ()


def push_work(push: Push, name: str = "push") -> Work:
    """Write the program and the launch of a push.

    The receiver's consumer gives the stage back to the sender (credit), so no sender is two phases ahead.
    Stamps: ``issued`` after each copy, and ``credited`` in the sender when the stage is free again.
    """
    size, ranks = push.bytes * push.copies, range(push.cluster)
    senders = tuple(rank for rank in ranks if push.targets(rank))
    receivers = tuple(sorted({target for rank in ranks for target in push.targets(rank)}))
    owners = {target: rank for rank in ranks for target in push.targets(rank)}
    credit = Affine(by_rank=tuple(1 << owners.get(rank, 0) for rank in ranks))
    stamped = any(stamps for _, stamps in push.rounds)
    roles = [
        _sender(push, senders),
        Role("arm", _loops(push, (Wait("landed", "free"), ExpectTx("landed", size))), ranks=receivers),
        Role("receiver", _loops(push, (Wait("landed"), Arrive("credit", to=credit))), ranks=receivers),
    ]
    if stamped:
        seen = _loops(push, (Wait("credit", "full"), Stamp("credited")))
        roles.append(Role("watcher", seen, ranks=senders))
    rows = size // LINE
    arrivals = push.cluster - 1 if push.pattern == "fan" else 1
    return make_work(
        name,
        tuple(roles),
        (Buffer("outbox", size), Buffer("inbox", size, push.stages), *padding(size * (push.stages + 1))),
        (Barrier("ready", 1), Barrier("landed", 1, push.stages), Barrier("credit", arrivals, push.stages)),
        (rows_of("boxes", "outgoing", MOST_CTAS * rows, rows),) if rows else (),
        Launch((), push.grid, (push.cluster, 1, 1), push.sms, spread_starts(push.pace)),
    )


def _loops(push: Push, body: tuple[Operation, ...]) -> tuple[Operation, ...]:
    return phased(push.rounds, push.stages, REGION, body)


def _sender(push: Push, senders: tuple[int, ...]) -> Role:
    """Give the role that fills its outbox once and then sends it again and again."""
    size = push.bytes * push.copies
    rows = size // LINE
    place = Affine(cluster=push.cluster * rows, rank=rows)
    first: tuple[Operation, ...] = (
        ExpectTx("ready", size),
        TmaLoad("boxes", (0, place), "outbox", "ready"),
        Wait("ready", 0),
    )
    pace = (Compute(push.pace),) if push.pace else ()
    body = (Wait("credit", "free"), *_moves(push, senders), Stamp("issued"), *pace)
    width: Width = "lane" if push.width is None else "warps"
    loops = _loops(push, body)
    return Role("sender", (*first, *loops) if rows else loops, push.warps, width, senders)


def _moves(push: Push, senders: tuple[int, ...]) -> tuple[Operation, ...]:
    """Give the copies of one tile."""
    targets: tuple[Operand, ...]
    if push.pattern == "fan":
        targets = push.targets(0)
    else:
        table = tuple(push.targets(rank)[0] if rank in senders else 0 for rank in range(push.cluster))
        targets = (Affine(by_rank=table),)
    if push.width is not None:
        return tuple(StAsync("inbox", target, push.bytes, "landed", push.width) for target in targets)
    return tuple(
        BulkCopy("outbox", "inbox", push.bytes, target, "landed", part * push.bytes, part * push.bytes)
        for target in targets
        for part in range(push.copies)
    )


def beside(first: Work, second: Work, name: str) -> Work:
    """Let the roles of two programs run side by side in the same CTAs, under the launch of the first."""
    one, two = first.flows[0], second.flows[0]
    buffers = [item for item in (*one.program.buffers, *two.program.buffers) if item.name != "padding"]
    used = sum(-(-item.bytes // 1024) * 1024 * item.stages for item in buffers)
    program = Program(
        name,
        (*one.program.roles, *two.program.roles),
        (*buffers, *padding(used)),
        (*one.program.barriers, *two.program.barriers),
        (*one.program.maps, *two.program.maps),
    )
    launch = replace(one.launch, allocations=(*one.launch.allocations, *two.launch.allocations))
    return Work((Flow(program, launch),))


__all__ = ["Pattern", "Push", "beside", "push_work"]
