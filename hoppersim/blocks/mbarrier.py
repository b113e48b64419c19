"""The mbarrier object, exactly as PTX ISA 9.x describes it (section "mbarrier").

Models: phase, pending arrivals, expected arrivals of the next phase and the signed transaction count; a phase
completes when no arrival is pending and the transaction count is zero, and then at once the phase advances and
the pending count is set to the expected one. Counts outside the ranges of the ISA are faults, where hardware's
behaviour is undefined. Leaves out: the storage and its opaque 64-bit encoding.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_COUNT = 2**20 - 1
MAX_TX = 2**20 - 1


class MbarrierFault(Exception):
    """An operation that PTX leaves undefined; `code` is the rule that it breaks."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


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
        return self.parity != parity

    def expect_tx(self, count: int) -> bool:
        """Raise the transaction count; never completes a phase by itself unless nothing is pending.

        Returns
        -------
        bool
            Whether the phase completed.
        """
        return self._add_tx(count)

    def complete_tx(self, count: int) -> bool:
        """Lower the transaction count by the bytes that arrived; returns whether the phase completed."""
        return self._add_tx(-count)

    def arrive(self, count: int = 1) -> bool:
        """Lower the pending count; returns whether the phase completed."""
        if not 1 <= count <= self.pending:
            raise MbarrierFault("HS-MB-002", f"{count} arrivals where {self.pending} are pending")
        self.pending -= count
        return self._complete()

    def arrive_drop(self, count: int = 1) -> bool:
        """Arrive, and lower the count of all later phases too; returns whether the phase completed."""
        self.count -= count
        if self.count < 0:
            raise MbarrierFault("HS-MB-003", "more arrivals were dropped than the barrier expects")
        return self.arrive(count)

    def _add_tx(self, change: int) -> bool:
        self.tx += change
        if not -MAX_TX <= self.tx <= MAX_TX:
            raise MbarrierFault("HS-MB-004", f"a transaction count of {self.tx} is outside -{MAX_TX} to {MAX_TX}")
        return self._complete()

    def _complete(self) -> bool:
        if self.pending or self.tx:
            return False
        self.phase += 1
        self.pending = self.count
        return True
