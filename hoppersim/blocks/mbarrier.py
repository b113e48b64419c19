"""The mbarrier object, exactly as PTX ISA 9.x describes it (section "mbarrier").

Models: phase, pending arrivals, expected arrivals of the next phase and the signed transaction count; a
phase completes when no arrival is pending and the transaction count is zero, and then at once the phase
advances and the pending count is set to the expected one. Counts outside the ranges of the ISA are faults,
where hardware's behaviour is undefined; a fault leaves the barrier as it was. The program language waits by
parity; waits by state token and arrive_drop are here only. Leaves out: the storage and its opaque encoding,
and `inval`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MAX_COUNT = 2**20 - 1
MAX_TX = 2**20 - 1
REMOTE_OPERATIONS = frozenset({"arrive", "expect_tx", "complete_tx"})
"""What may be done to a barrier in another CTA (an arrive there returns no token); all else is local."""


class MbarrierFault(Exception):
    """An operation that PTX leaves undefined; `code` is the rule that it breaks."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Token(NamedTuple):
    """The state that an arrive returns: phase and pending arrivals just before it."""

    phase: int
    pending: int


@dataclass(slots=True)
class Mbarrier:
    """One barrier.

    Parameters
    ----------
    count
        Arrivals that a phase needs, 1 to 2**20 - 1.
    """

    count: int
    pending: int = -1
    phase: int = 0
    tx: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_COUNT:
            raise MbarrierFault("HS-MB-001", f"an arrival count of {self.count} is outside 1 to {MAX_COUNT}")
        if self.pending < 0:
            self.pending = self.count

    @property
    def parity(self) -> int:
        """Parity of the present, incomplete phase."""
        return self.phase & 1

    def passed(self, parity: int) -> bool:
        """Say whether a wait for the phase of this parity returns: it is not the present one."""
        return self.phase & 1 != parity

    def expect_tx(self, count: int) -> bool:
        """Raise the transaction count; never completes a phase by itself unless nothing is pending.

        Returns
        -------
        bool
            Whether the phase completed.
        """
        return self._add_tx(count, count)

    def complete_tx(self, count: int) -> bool:
        """Lower the transaction count by the bytes that arrived; returns whether the phase completed."""
        return self._add_tx(count, -count)

    def arrive(self, count: int = 1) -> bool:
        """Lower the pending count; returns whether the phase completed."""
        if not 1 <= count <= self.pending:
            raise self._wrong_arrivals(count)
        self.pending -= count
        return not (self.pending or self.tx) and self._complete()

    def take(self, arrivals: int, data: int) -> bool:
        """Announce bytes (negative data), arrive and take bytes in, in this order.

        Returns
        -------
        bool
            Whether a phase completed.
        """
        pending, tx = self.pending - arrivals, self.tx - data
        legal = -MAX_TX <= data <= MAX_TX and -MAX_TX <= tx <= MAX_TX
        if pending < 0 or (arrivals and data > 0) or not legal:
            return self._take_apart(arrivals, data)
        self.pending, self.tx = pending, tx
        return not (pending or tx) and self._complete()

    def arrive_drop(self, count: int = 1) -> bool:
        """Arrive, and lower the count of all later phases too; returns whether the phase completed."""
        if count > self.count:
            raise MbarrierFault("HS-MB-011", "more arrivals were dropped than the barrier expects")
        if not 1 <= count <= self.pending:
            raise self._wrong_arrivals(count)
        self.count -= count
        return self.arrive(count)

    def token(self) -> Token:
        """Give the present state, as an arrive that follows at once returns it."""
        return Token(self.phase, self.pending)

    def test_wait(self, token: Token) -> bool:
        """Say whether the phase of a token has completed.

        Raises
        ------
        MbarrierFault
            If it is neither the present phase nor the one before: hardware may answer anything.
        """
        if token.phase not in (self.phase, self.phase - 1):
            text = f"a token of phase {token.phase} where phase {self.phase} is present"
            raise MbarrierFault("HS-MB-012", text)
        return token.phase != self.phase

    def _take_apart(self, arrivals: int, data: int) -> bool:
        """Do the operations of `take` one by one: a phase may complete between them, or one be a fault."""
        phase = self.phase
        if data < 0:
            self.expect_tx(-data)
        if arrivals:
            self.arrive(arrivals)
        if data > 0:
            self.complete_tx(data)
        return self.phase != phase

    def _wrong_arrivals(self, count: int) -> MbarrierFault:
        return MbarrierFault("HS-MB-007", f"{count} arrivals where {self.pending} are pending")

    def _add_tx(self, count: int, change: int) -> bool:
        if not 0 <= count <= MAX_TX:
            text = f"a transaction count of {count} in one operation is outside 0 to {MAX_TX}"
            raise MbarrierFault("HS-MB-002", text)
        after = self.tx + change
        if not -MAX_TX <= after <= MAX_TX:
            text = f"a transaction count of {after} is outside -{MAX_TX} to {MAX_TX}"
            raise MbarrierFault("HS-MB-008", text)
        self.tx = after
        return not (self.pending or after) and self._complete()

    def _complete(self) -> bool:
        self.phase += 1
        self.pending = self.count
        return True
