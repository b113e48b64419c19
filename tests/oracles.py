"""Plain ways of doing what the package does faster, for tests to compare with."""

from __future__ import annotations

from hoppersim.blocks.mbarrier import Mbarrier


def one_by_one(barrier: Mbarrier, arrivals: int, data: int) -> bool:
    """Announce, arrive and take bytes in with an operation each."""
    phase = barrier.phase
    if data < 0:
        barrier.expect_tx(-data)
    if arrivals:
        barrier.arrive(arrivals)
    if data > 0:
        barrier.complete_tx(data)
    return barrier.phase != phase
