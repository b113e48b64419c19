"""One mbarrier, as the static rules see it: counts of the present phase, and who was where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

MOST_TX = 2**20 - 1


class Act(NamedTuple):
    """An operation, by its path, that a rank performed."""

    rank: int
    path: str


@dataclass
class BarrierState:
    """A barrier of one CTA and stage.

    Parameters
    ----------
    count
        Arrivals of a phase.
    """

    count: int
    pending: int = -1
    tx: int = 0
    phase: int = 0
    """Number of the present phase, from 0."""
    waited: int = 0
    """Phases that some wait of the own CTA has seen completed."""
    known: int = 0
    """Ranks that have started, to the knowledge of whoever passes this barrier."""
    expected: int = 0
    delivered: int = 0
    expects: list[Act] = field(default_factory=list)
    deliveries: list[Act] = field(default_factory=list)
    arrivals: list[Act] = field(default_factory=list)
    arrivers: set[Act] = field(default_factory=set)
    """Operations that arrived in any phase."""
    surplus: str = ""
    """The operation that arrived in a phase whose arrivals were all in."""
    overrun: str = ""
    """The operation that arrived first in a phase while nobody had seen the one before completed."""
    overflow: int = 0
    """A transaction count beyond its range, once seen."""

    def __post_init__(self) -> None:
        self.pending = self.count

    def passed(self, parity: int) -> bool:
        """Tell whether a wait for the phase of this parity returns."""
        return self.phase & 1 != parity

    def arrive(self, act: Act, known: int) -> None:
        """Arrive once."""
        self.arrivers.add(act)
        if self.pending == 0:
            self.surplus = self.surplus or act.path
            return
        if not self.arrivals and self.phase > self.waited:
            self.overrun = self.overrun or act.path
        self.pending -= 1
        self.known |= known
        self.arrivals.append(act)
        self._complete()

    def expect(self, act: Act, count: int) -> None:
        """Expect bytes, in the present phase."""
        self.expected += count
        self.expects.append(act)
        self._count(count)

    def deliver(self, act: Act, count: int, known: int) -> None:
        """Complete bytes, in the present phase."""
        self.delivered += count
        self.known |= known
        self.deliveries.append(act)
        self._count(-count)
        self._complete()

    def _count(self, change: int) -> None:
        self.tx += change
        if abs(self.tx) > MOST_TX:
            self.overflow = self.overflow or self.tx

    def _complete(self) -> None:
        if self.pending or self.tx:
            return
        self.phase += 1
        self.pending = self.count
        self.expected = self.delivered = 0
        self.expects, self.deliveries, self.arrivals = [], [], []
