"""Committing in time order gives what an oracle gives that sees every operation at its own tick."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from hoppersim.blocks.mbarrier import Mbarrier, MbarrierFault
from hoppersim.engine.barriers import LoggedBarrier
from tests.oracles import one_by_one

Operation = tuple[int, int, int]


def _random_operations(random_source: random.Random, count: int) -> list[Operation]:
    """(tick, arrivals, bytes) of a few phases, with announcements and bytes in any order."""
    operations = []
    for phase in range(3):
        start = phase * 40
        total = 0
        for _ in range(random_source.randint(0, 3)):
            amount = random_source.choice([16, 32, 64])
            total += amount
            operations.append((start + random_source.randint(0, 30), 0, amount))
        arrivals = [start + random_source.randint(0, 30) for _ in range(count)]
        for index, tick in enumerate(arrivals):
            operations.append((tick, 1, -total if index == 0 else 0))
    return operations


def _oracle(operations: list[Operation], count: int) -> list[int]:
    """Ticks of the flips when each operation is applied at its tick, in the documented order within it."""
    state, flips = Mbarrier(count), []

    def rank(operation: Operation) -> int:
        return 0 if operation[2] < 0 else 1 if operation[1] else 2

    for tick, arrivals, data in sorted(operations, key=lambda item: (item[0], rank(item), item[1], item[2])):
        before = state.phase
        with suppress(MbarrierFault):
            one_by_one(state, arrivals, data)
        if state.phase != before:
            flips.append(tick)
    return flips


@pytest.mark.parametrize("seed", range(200))
def test_a_log_that_is_filled_ahead_of_time_flips_when_the_oracle_does(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(20):
        count = source.randint(1, 3)
        operations = _random_operations(source, count)
        barrier = LoggedBarrier(count, lambda _tick, _fault: None)
        # Everything is known `lead` ticks before it happens, in any order; commits come at random ticks.
        lead = source.randint(0, 50)
        known = sorted(((max(0, tick - lead), source.random(), (tick, a, b)) for tick, a, b in operations))
        flips: list[int] = []
        phase = 0
        for now in range(160):
            while known and known[0][0] <= now:
                tick, arrivals, data = known.pop(0)[2]
                barrier.push(tick, arrivals, data, "test")
            forecast = barrier.next_flip()
            barrier.commit(now)
            if barrier.state.phase != phase:
                assert forecast == now or barrier.state.phase - phase > 1
                flips += [now] * (barrier.state.phase - phase)
                phase = barrier.state.phase
        assert flips == _oracle(operations, count)


def test_committing_eagerly_would_complete_too_early() -> None:
    """The reason for the log: bytes of tick 9 that are applied at tick 5 flip a phase that is not over."""
    barrier = LoggedBarrier(1, lambda _tick, _fault: None)
    barrier.push(9, 0, 64, "fabric")
    barrier.push(5, 1, -64, "producer")
    barrier.commit(5)
    assert barrier.state.phase == 0
    barrier.commit(9)
    assert barrier.state.phase == 1
