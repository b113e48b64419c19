"""The mbarrier against a model written from the text of the PTX ISA, which keeps books, not counters."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hoppersim.blocks.mbarrier import MAX_COUNT, MAX_TX, REMOTE_OPERATIONS, Mbarrier, MbarrierFault, Token

BYTES = st.one_of(st.integers(0, 64), st.sampled_from([128, 8192, MAX_TX - 1, MAX_TX]))


class Books:
    """One mbarrier as the ISA tells it: everything that happened in each phase, summed up when asked.

    A phase is complete when its pending arrivals and its tx-count have both reached zero; the object then
    moves to the next phase, and the pending count starts again from the expected one. arrive_drop also
    lowers the expected count of later phases.
    """

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.phases: list[list[tuple[str, int]]] = [[]]
        self.needed = expected

    @property
    def phase(self) -> int:
        return len(self.phases) - 1

    def total(self, kind: str) -> int:
        return sum(count for what, count in self.phases[-1] if what == kind)

    @property
    def pending(self) -> int:
        return self.needed - self.total("arrive")

    @property
    def tx(self) -> int:
        return self.total("expect") - self.total("complete")

    def allows(self, kind: str, count: int) -> bool:
        if kind in ("arrive", "drop"):
            return 1 <= count <= self.pending and (kind == "arrive" or count <= self.expected)
        after = self.tx + (count if kind == "expect" else -count)
        return 0 <= count <= 2**20 - 1 and abs(after) <= 2**20 - 1

    def do(self, kind: str, count: int) -> bool:
        if kind == "drop":
            self.expected -= count
        self.phases[-1].append(("arrive" if kind == "drop" else kind, count))
        if self.pending or self.tx:
            return False
        self.phases.append([])
        self.needed = self.expected
        return True


class MbarrierMachine(RuleBasedStateMachine):
    """Performs operations on both, legal and illegal ones, and compares all that can be seen."""

    @initialize(count=st.integers(1, 6))
    def start(self, count: int) -> None:
        self.barrier, self.books = Mbarrier(count), Books(count)
        self.tokens: list[Token] = []

    def both(self, kind: str, count: int) -> None:
        operation = {
            "arrive": self.barrier.arrive,
            "drop": self.barrier.arrive_drop,
            "expect": self.barrier.expect_tx,
            "complete": self.barrier.complete_tx,
        }[kind]
        if self.books.allows(kind, count):
            assert operation(count) == self.books.do(kind, count)
            return
        with pytest.raises(MbarrierFault):
            operation(count)

    @rule(count=st.integers(0, 4))
    def arrive(self, count: int) -> None:
        self.tokens = [*self.tokens[-8:], self.barrier.token()]
        self.both("arrive", count)

    @precondition(lambda self: self.books.expected > 1)
    @rule()
    def arrive_drop(self) -> None:
        self.both("drop", 1)

    @rule(count=st.integers(-1, 8))
    def drop_any(self, count: int) -> None:
        if not self.books.allows("drop", count):
            self.both("drop", count)

    @rule(count=BYTES)
    def expect_tx(self, count: int) -> None:
        self.both("expect", count)

    @rule(count=BYTES)
    def complete_tx(self, count: int) -> None:
        self.both("complete", count)

    @rule(count=BYTES)
    def arrive_expect_tx(self, count: int) -> None:
        """Announce, then arrive, as one operation of the ISA does."""
        if self.books.allows("expect", count) and self.books.allows("arrive", 1):
            self.both("expect", count)
            self.both("arrive", 1)

    @precondition(lambda self: self.books.tx != 0)
    @rule()
    def balance(self) -> None:
        """Bring the bytes of the phase to an end, so that phases complete often."""
        self.both("complete" if self.books.tx > 0 else "expect", abs(self.books.tx))

    @rule()
    def wait_by_token(self) -> None:
        for token in self.tokens:
            if self.books.phase - token.phase > 1:
                with pytest.raises(MbarrierFault, match="token"):
                    self.barrier.test_wait(token)
            else:
                assert self.barrier.test_wait(token) == (token.phase < self.books.phase)

    @invariant()
    def look_alike(self) -> None:
        if not hasattr(self, "barrier"):
            return
        seen = (self.barrier.phase, self.barrier.pending, self.barrier.tx, self.barrier.count)
        assert seen == (self.books.phase, self.books.pending, self.books.tx, self.books.expected)
        assert self.barrier.token() == (self.books.phase, self.books.pending)

    @invariant()
    def waits_by_parity_tell_the_present_from_the_preceding_phase(self) -> None:
        if hasattr(self, "barrier"):
            assert not self.barrier.passed(self.books.phase % 2)
            assert self.barrier.passed((self.books.phase - 1) % 2)

    @invariant()
    def counts_stay_in_their_ranges(self) -> None:
        if hasattr(self, "barrier"):
            assert 0 <= self.barrier.pending <= MAX_COUNT
            assert -MAX_TX <= self.barrier.tx <= MAX_TX


MbarrierMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestMbarrier = MbarrierMachine.TestCase


def test_a_remote_barrier_can_be_arrived_at_and_not_waited_for() -> None:
    assert {"arrive", "expect_tx", "complete_tx"} == REMOTE_OPERATIONS
    assert not {"init", "inval", "test_wait", "try_wait", "pending_count"} & REMOTE_OPERATIONS


def test_a_fault_leaves_the_barrier_as_it_was() -> None:
    barrier = Mbarrier(2)
    barrier.arrive()
    for operation, count in ((barrier.arrive, 2), (barrier.arrive_drop, 2), (barrier.expect_tx, MAX_TX + 1)):
        with pytest.raises(MbarrierFault):
            operation(count)
    assert (barrier.count, barrier.pending, barrier.tx, barrier.phase) == (2, 1, 0, 0)


def test_when_all_have_dropped_nobody_can_arrive_any_more() -> None:
    barrier = Mbarrier(1)
    assert barrier.arrive_drop()
    with pytest.raises(MbarrierFault, match="pending"):
        barrier.arrive()
