"""Where the time of tiles went: each from when its instruction starts to when its waiter goes on.

A *tile* is what one tensor load, bulk copy or asynchronous store brings to one destination. The fabric tells
how its last line went (`hoppersim.engine.interface.Passage`); issue, barrier and wake-up are known here. The
parts are differences between neighbouring times, so they add up to all of it. Following changes no time.

All tiles of a small flow are followed, of others every `STRIDE`-th of each operation that issues them,
beginning with another one in each CTA; `STRIDE` is prime, so that no stage or box of a ring is left out.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hoppersim.engine.interface import COPY, LOAD, MULTICAST, Destination, Passage
from hoppersim.program.operations import BulkCopy, StAsync, TmaLoad
from hoppersim.program.walk import walk
from hoppersim.units import TICKS_PER_CYCLE

if TYPE_CHECKING:
    from hoppersim.engine.roles import RoleRun
    from hoppersim.program.work import Flow

STRIDE = 61
SMALL = 256
"""Transfers of a flow up to which all of its tiles are followed."""

STAGES = ("issue", "engine", "way", "lrc", "l2", "hbm", "port", "lane", "smem", "barrier", "ready", "wake")
"""Parts of a tile's time, those of the fabric in the order of its stages."""
KINDS = {LOAD: "load", MULTICAST: "multicast", COPY: "copy"}

ROW = np.dtype(
    [("tile", "i8"), ("flow", "i4"), ("cluster", "i4"), ("rank", "i4"), ("sm", "i4"), ("kind", "U9"),
     ("name", "U64"), ("waited", "?"), ("start", "f8"), *((name, "f8") for name in STAGES)]
)  # fmt: skip
"""One tile at one destination.

Number of the transfer, flow, cluster and rank that issued it, SM that received it, kind, tensor map or
buffer, whether anybody waited for it, its start and its stages in SM cycles.
"""
_FACTS = ("tile", "destination", "flow", "cluster", "rank", "kind", "name", "sm", "waited")


@dataclass(slots=True)
class _Tile:
    """A transfer under way, with what is known from its issue."""

    facts: tuple[int, int, int, int, int]
    start: int
    reach: tuple[Destination, ...]
    left: int


class Tiles:
    """Follows tiles through one run.

    Parameters
    ----------
    whole
        Follow all tiles, not a part of them.

    Attributes
    ----------
    strides
        By flow: one tile of so many is followed; none of a flow that is not there.
    landed
        By barrier: tiles that lie in shared memory and that nobody has gone on with.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self.strides: dict[int, int] = {}
        self.landed: dict[int, list[Passage]] = {}
        self._whole = whole
        self._names: dict[str, int] = {}
        self._under_way: dict[int, _Tile] = {}
        self._begun = 0
        self._rows = array("q")

    def plan(self, index: int, flow: Flow, clusters: int) -> None:
        """Decide which tiles of a flow are followed."""
        transfers = clusters * sum(
            prod(loop.n for loop in visit.loops) * (len(visit.role.ranks) or flow.launch.cluster_size)
            for visit in walk(flow.program)
            if isinstance(visit.operation, TmaLoad | BulkCopy | StAsync)
        )
        self.strides[index] = 1 if self._whole or transfers <= SMALL else STRIDE

    def follower(
        self, run: RoleRun, kind: int, name: str, issue: int
    ) -> Callable[[tuple[Destination, ...]], int]:
        """Give a function that numbers the next tile of an operation, or gives -1 if it is not followed.

        Parameters
        ----------
        run
            The role.
        kind, name
            Kind of the transfer; tensor map or buffer that it fills.
        issue
            Ticks from the start of the instruction until the function is called with the destinations.
        """
        stride, cta = self.strides.get(run.flow.index, 0), run.cta
        if not stride:
            return lambda _: -1
        facts = (run.flow.index, cta.cluster, cta.rank, kind, self._names.setdefault(name, len(self._names)))
        turn = cta.number % stride

        def follow(reach: tuple[Destination, ...]) -> int:
            nonlocal turn
            if turn:
                turn -= 1
                return -1
            turn = stride - 1
            number = self._begun
            self._begun += 1
            self._under_way[number] = _Tile(facts, run.time - issue, reach, len(reach))
            return number

        return follow

    def land(self, passages: Iterable[Passage]) -> None:
        """Take up tiles whose bytes reach their barriers."""
        for passage in passages:
            barrier = self._under_way[passage.tile].reach[passage.destination].barrier
            self.landed.setdefault(barrier, []).append(passage)

    def go_on(self, barrier: int, flip: int, since: int, now: int) -> None:
        """Somebody goes on with what a phase of a barrier brought.

        Parameters
        ----------
        barrier
            The barrier, which has tiles in `landed`.
        flip
            Tick at which the phase was complete.
        since, now
            Ticks at which the wait began, and at which it is over.
        """
        later = []
        for passage in self.landed.pop(barrier):
            if passage.landed > flip:
                later.append(passage)
            else:
                asked = max(flip, since)
                self._close(passage, (flip - passage.landed, asked - flip, now - asked), waited=True)
        if later:
            self.landed[barrier] = later

    def table(self) -> NDArray[np.void]:
        """Give the rows of `ROW`, by tile and destination; nobody waited for those that are left."""
        for passages in self.landed.values():
            for passage in passages:
                self._close(passage, (0, 0, 0), waited=False)
        self.landed.clear()
        columns = (*_FACTS, "start", *STAGES)
        raw = np.frombuffer(self._rows, dtype=np.int64).reshape(-1, len(columns))
        raw = raw[np.lexsort((raw[:, 1], raw[:, 0]))]
        column = dict(zip(columns, raw.T, strict=True))
        table = np.empty(len(raw), dtype=ROW)
        for name in ("tile", "flow", "cluster", "rank", "sm", "waited"):
            table[name] = column[name]
        table["kind"] = np.array([KINDS.get(kind, "") for kind in range(max(KINDS) + 1)])[column["kind"]]
        table["name"] = np.array([*self._names, ""])[column["name"]]
        for name in ("start", *STAGES):
            table[name] = column[name] / TICKS_PER_CYCLE
        return table

    def _close(self, passage: Passage, rest: tuple[int, int, int], *, waited: bool) -> None:
        """Put down a tile that is over; `rest` are the ticks after its bytes reached the barrier."""
        tile = self._under_way[passage.tile]
        issue = passage.landed - sum(passage.ticks) - tile.start
        sm = tile.reach[passage.destination].sm
        self._rows.extend((passage.tile, passage.destination, *tile.facts, sm, int(waited), tile.start))
        self._rows.extend((issue, *passage.ticks, *rest))
        tile.left -= 1
        if not tile.left:
            del self._under_way[passage.tile]
