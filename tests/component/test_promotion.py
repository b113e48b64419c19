"""L2 promotion to 256 bytes: the other line of each pair is looked up too, and fetched if it is missing."""

from __future__ import annotations

import pytest

from hoppersim.engine.interface import LOAD, Destination, Transfer
from hoppersim.engine.simulate import make_fabric
from hoppersim.machine.loading import load_machine
from hoppersim.units import TICKS_PER_CYCLE

ALLOCATION = 1 << 21
ROWS = 64
PAIR = 256
LATE = 20_000 * TICKS_PER_CYCLE

both_fabrics = pytest.mark.parametrize("fabric", ["compiled", "reference"])


def rows(paired: bool, tick: int = 0, first_byte: int = 0, row_bytes: int = 32) -> Transfer:
    """Give a box of rows that begin a pair of lines apart."""
    return Transfer(
        tick, LOAD, 0, tick, (Destination(0, tick),), ALLOCATION + first_byte, row_bytes,
        (ROWS, 1, 1, 1), (PAIR, 0, 0, 0), ROWS * row_bytes, paired=paired,
    )  # fmt: skip


def run(fabric: str, transfers: list[Transfer], warm: bool, *overrides: str) -> tuple[int, int]:
    """Say when the last byte reaches its barrier [tick], and how many bytes came from DRAM."""
    carrier = make_fabric(load_machine("tiny", overrides), fabric)
    if warm:
        carrier.warm(ALLOCATION // 128, ALLOCATION // 128 + 2 * ROWS)
    last = 0
    for transfer in transfers:
        while carrier.frontier < transfer.tick:
            last = max([last, *(entry.tick for entry in carrier.advance(transfer.tick))])
        carrier.inject([transfer])
    while not carrier.idle:
        last = max([last, *(entry.tick for entry in carrier.advance(carrier.frontier + 100_000))])
    return last, int(carrier.counters()["hbm.bytes_read"].sum())


@both_fabrics
def test_a_miss_fetches_both_lines_of_its_pair(fabric: str) -> None:
    alone, both = (run(fabric, [rows(paired)], warm=False)[1] for paired in (False, True))
    assert (alone, both) == (ROWS * 128, ROWS * 256)


@both_fabrics
def test_the_other_line_is_there_when_it_is_read_later(fabric: str) -> None:
    for paired in (True, False):
        assert run(fabric, [rows(True), rows(paired, LATE, 128)], warm=False)[1] == ROWS * 256


@both_fabrics
def test_rows_of_whole_pairs_are_fetched_once(fabric: str) -> None:
    assert run(fabric, [rows(True, row_bytes=PAIR)], warm=False)[1] == ROWS * 256


@both_fabrics
def test_a_hit_looks_up_the_other_line_as_well(fabric: str) -> None:
    slow = "l2.look_up_interval=100"
    alone, both = (run(fabric, [rows(paired)], True, slow) for paired in (False, True))
    assert both[1] == alone[1] == 0
    assert both[0] - alone[0] == pytest.approx(alone[0], rel=0.2)
