"""What the engine asks of a fabric: take transfers, advance to a horizon, hand back what reached barriers."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

LOAD = 0  # global memory to SMEM, one box, to the CTA that asks
COPY = 1  # SMEM to SMEM of another CTA, by the copy engine
STORE = 2  # SMEM to global memory
MULTICAST = 3  # global memory to SMEM, one box, to every CTA of a mask
REMOTE = 4  # the way of a copy, by threads: remote loads and stores; counted apart
KINDS = frozenset({LOAD, COPY, STORE, MULTICAST, REMOTE})
BETWEEN_SMS = (COPY, REMOTE)

IN_ENGINE, ON_WAY, IN_LRC, IN_L2, IN_HBM, AT_PORT, IN_LANE, TO_SMEM = range(8)
"""Where a line spends its time inside a fabric, the stages of `Passage.ticks`:

its SM's engine, behind earlier boxes and lines; the ways between SM, slice and SM; the coalescer, behind the
read that it joined; its slice, the other partition's included; DRAM; the ports of the GPCs, and a slice's
exit while they have no room (of a copy, the ports to the peer); the lane of its CPC; the write to SMEM.
"""
STAGES = 8

DEFAULT_MEMORY_LINES = 1 << 16
"""Lines of the address space of a fabric that is made by hand: 8 MiB."""


class Destination(NamedTuple):
    """One receiver of a transfer: where its bytes go and which barrier counts them."""

    sm: int
    barrier: int


class Transfer(NamedTuple):
    """One box, copy or store, as the issuing thread hands it to the fabric.

    The lines of a box are `row_bytes` from `address`, repeated over up to four outer dimensions with
    `counts` and byte `strides`; `bytes` is what the barrier counts, out-of-bounds part included.
    `order` breaks ties within one tick: (SM, CTA slot, warp) packed by the engine.
    """

    tick: int
    kind: int
    sm: int
    order: int
    destinations: tuple[Destination, ...]
    address: int = 0
    row_bytes: int = 0
    counts: tuple[int, int, int, int] = (1, 1, 1, 1)
    strides: tuple[int, int, int, int] = (0, 0, 0, 0)
    bytes: int = 0
    tile: int = -1
    """Number under which `Fabric.passages` tells how a load or copy went; -1 where nobody asks."""
    paired: bool = False
    """Whether each request asks for the other line of its 256 bytes as well (L2 promotion)."""


class Passage(NamedTuple):
    """How the last line of a transfer went to one destination: the ticks from when its engine could begin."""

    tile: int
    destination: int
    """Place of the destination among those of the transfer."""
    landed: int
    """Tick at which its bytes reach the barrier."""
    ticks: tuple[int, ...]
    """Ticks that it spent in each of the stages; they add up to all of its time."""


class LogEntry(NamedTuple):
    """Something that reached a barrier through the fabric: arrivals, then bytes (negative: expected)."""

    tick: int
    barrier: int
    arrivals: int
    bytes: int


class Fabric(Protocol):
    """Both fabrics look like this to the engine."""

    lookahead: int
    """Ticks after an injection before which nothing that it causes happens inside the fabric."""
    latest_unknown: int
    """Ticks from the frontier to the first log entry that may still be unknown."""

    def warm(self, first_line: int, last_line: int) -> None:
        """Bring a range of lines into the L2 of every partition."""

    def inject(self, transfers: list[Transfer]) -> None:
        """Take transfers in order of (tick, order); none may start before the frontier."""

    def advance(self, horizon: int) -> list[LogEntry]:
        """Process all events before `horizon`, but stop `lookahead` after the first entry that it returns."""

    def passages(self) -> list[Passage]:
        """Give the passages of transfers with a number that ended since the last call."""

    @property
    def frontier(self) -> int:
        """Tick before which everything inside the fabric is settled."""

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""

    @property
    def lines(self) -> int:
        """Line requests made so far."""

    def counters(self) -> dict[str, NDArray[np.int64]]:
        """Counters so far, by block name, one value for each unit (SM, GPC, slice, channel)."""
