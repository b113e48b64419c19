"""The mbarrier object follows PTX to the letter."""

from __future__ import annotations

import pytest

from hoppersim.blocks.mbarrier import MAX_COUNT, MAX_TX, Mbarrier, MbarrierFault
from tests.oracles import one_by_one


def test_a_phase_completes_when_arrivals_and_bytes_are_both_zero() -> None:
    barrier = Mbarrier(1)
    barrier.expect_tx(64)
    assert not barrier.arrive()
    assert barrier.complete_tx(64)
    assert (barrier.phase, barrier.pending, barrier.tx) == (1, 1, 0)


def test_bytes_may_come_before_they_are_expected_while_an_arrival_is_pending() -> None:
    barrier = Mbarrier(1)
    assert not barrier.complete_tx(64)
    assert barrier.tx == -64
    assert not barrier.expect_tx(64)
    assert barrier.arrive()


def test_expect_tx_after_the_last_arrival_is_too_late() -> None:
    barrier = Mbarrier(1)
    assert barrier.arrive()
    assert not barrier.expect_tx(64)
    assert barrier.phase == 1


def test_a_fresh_barrier_passes_a_wait_for_odd_parity() -> None:
    barrier = Mbarrier(1)
    assert barrier.passed(1)
    assert not barrier.passed(0)


def test_a_wait_sees_the_present_and_the_preceding_phase_only() -> None:
    barrier = Mbarrier(1)
    barrier.arrive()
    assert barrier.passed(0)
    barrier.arrive()
    assert not barrier.passed(0), "two phases later the same parity means the present, incomplete phase"


def test_arrive_drop_lowers_the_count_of_later_phases() -> None:
    barrier = Mbarrier(2)
    barrier.arrive()
    assert barrier.arrive_drop()
    assert barrier.pending == 1
    assert barrier.arrive()


@pytest.mark.parametrize("count", [0, -1, MAX_COUNT + 1])
def test_a_count_outside_the_range_is_a_fault(count: int) -> None:
    with pytest.raises(MbarrierFault, match="arrival count"):
        Mbarrier(count)


def test_more_arrivals_than_pending_are_a_fault() -> None:
    with pytest.raises(MbarrierFault, match="pending"):
        Mbarrier(1).arrive(2)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_transaction_count_outside_the_range_is_a_fault(sign: int) -> None:
    barrier = Mbarrier(1)
    with pytest.raises(MbarrierFault, match="transaction count"):
        barrier.complete_tx(sign * (MAX_TX + 1))


@pytest.mark.parametrize("arrivals", [0, 1, 2, 3])
@pytest.mark.parametrize("data", [0, 16, -16, 64, -64, MAX_TX, -MAX_TX, MAX_TX + 1, -MAX_TX - 1])
def test_one_step_does_what_its_operations_do_one_by_one(arrivals: int, data: int) -> None:
    for pending in (0, 1, 2):
        for tx in (-64, -16, 0, 16, 64):
            if not pending and not tx:
                continue  # such a phase is complete
            barriers = [Mbarrier(2, pending, 5, tx) for _ in range(2)]
            outcomes: list[object] = []
            for barrier, step in zip(barriers, (Mbarrier.take, one_by_one), strict=True):
                try:
                    outcomes.append(step(barrier, arrivals, data))
                except MbarrierFault as fault:
                    outcomes.append(str(fault))
            assert outcomes[0] == outcomes[1]
            assert barriers[0] == barriers[1]
