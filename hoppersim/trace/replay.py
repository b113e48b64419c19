"""What barriers went through, from what reached them; and which transfer brought which bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from hoppersim.blocks.mbarrier import MbarrierFault
from hoppersim.engine.barriers import LoggedBarrier, Pending
from hoppersim.trace.recorder import Post, Sent


class State(NamedTuple):
    """A barrier from a tick on: arrivals and bytes that its present phase still misses."""

    tick: int
    pending: int
    bytes: int


@dataclass(slots=True)
class Phase:
    """One phase of a barrier [tick]; `end` is -1 if it did not complete. `posts` reached it, in order."""

    number: int
    start: int
    end: int = -1
    posts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class History:
    """Phases and states of one barrier, in order of time."""

    phases: list[Phase]
    states: list[State]


class _Replayed(LoggedBarrier):
    """A barrier that writes down what it goes through; who posted is the post's number."""

    __slots__ = ("past",)

    def __init__(self, count: int, start: int) -> None:
        super().__init__(count, _ignore)
        self.past = History([Phase(0, start)], [State(start, count, 0)])

    def _apply(self, entry: Pending) -> None:
        phase = self.past.phases[-1]
        phase.posts.append(int(entry.who))
        super()._apply(entry)
        if self.state.phase != phase.number:
            phase.end = entry.tick
            self.past.phases.append(Phase(self.state.phase, entry.tick))
        self.past.states.append(State(entry.tick, self.state.pending, self.state.tx))


def replay(count: int, start: int, posts: Sequence[Post], numbers: Iterable[int]) -> History:
    """Let posts reach a barrier again.

    Parameters
    ----------
    count
        Arrivals that a phase needs.
    start
        When the barrier came to be [tick].
    posts, numbers
        All posts, and the numbers of those of this barrier.
    """
    barrier = _Replayed(count, start)
    in_time = sorted(numbers, key=lambda number: posts[number].tick)
    for tick, group in groupby(in_time, key=lambda number: posts[number].tick):
        for number in group:
            post = posts[number]
            barrier.push(tick, post.arrivals, post.bytes, str(number))
        barrier.commit(tick)
    return barrier.past


def _ignore(tick: int, fault: MbarrierFault) -> None:
    """The run itself has reported the fault."""


@dataclass(slots=True, eq=False)
class Receipt:
    """One receiver of a transfer, at a place among its destinations; `end` is -1 if not all bytes came."""

    sent: Sent
    place: int
    left: int
    end: int = -1


def match_receipts(
    sent: Sequence[Sent], posts: Sequence[Post]
) -> tuple[list[list[Receipt]], dict[int, Receipt]]:
    """Find out which post completed which receiver of which transfer.

    Transfers to one barrier complete in the order of their issue, those of a size apart. That is exact for
    one issuing SM; where several SMs fill one barrier with boxes of one size, they may be confused.

    Returns
    -------
    tuple
        The receipts of each transfer, and the receipt that a post belongs to, by the post's number.
    """
    receipts: list[list[Receipt]] = [[] for _ in sent]
    waiting: dict[int, list[Receipt]] = defaultdict(list)
    for index in sorted(range(len(sent)), key=lambda index: sent[index].transfer.tick):
        transfer = sent[index].transfer
        for place, destination in enumerate(transfer.destinations):
            receipt = Receipt(sent[index], place, transfer.bytes)
            receipts[index].append(receipt)
            waiting[destination.barrier].append(receipt)
    owners: dict[int, Receipt] = {}
    brought = [number for number, post in enumerate(posts) if post.act is None and post.bytes > 0]
    for number in sorted(brought, key=lambda number: posts[number].tick):
        post = posts[number]
        flying = waiting[post.barrier]
        if not flying:
            continue
        receipt = next((item for item in flying if item.left == post.bytes), flying[0])
        owners[number] = receipt
        receipt.left -= post.bytes
        if receipt.left <= 0:
            receipt.end = post.tick
            flying.remove(receipt)
    return receipts, owners
