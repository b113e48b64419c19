"""When the data of lines of one slice leave it: each bank reads at its share of the rate; in both fabrics."""

from __future__ import annotations

import pytest

from hoppersim.blocks.addresses import slice_in_partition
from hoppersim.blocks.l2 import bank_of
from hoppersim.engine.interface import LOAD, Destination, Transfer
from hoppersim.engine.simulate import make_fabric
from hoppersim.machine.loading import load_machine
from hoppersim.units import LINE_BYTES, TICKS_PER_CYCLE

ALLOCATION = 1 << 21
MEMORY_LINES = 1024
BANKS = 4
READS = 24
SETTINGS = (f"l2.banks={BANKS}", "l2.slice_bytes_per_l2_cycle=2")
MACHINE = load_machine("tiny", SETTINGS)
READER, NEIGHBOUR = MACHINE.floorplan.gpcs[0].sms[:2]
OF_SLICE = MACHINE.spec.l2.slices // MACHINE.spec.l2.partitions
SERVICE = LINE_BYTES / MACHINE.slice_bytes_per_cycle
"""Cycles in which a slice delivers a line: far more than those between two requests."""


def lines_of(slice_: int) -> list[int]:
    """List the lines of the allocation that lie in one slice."""
    first = ALLOCATION // LINE_BYTES
    return [
        line for line in range(first, first + MEMORY_LINES) if slice_in_partition(line, OF_SLICE) == slice_
    ]


def read(line: int, sm: int = READER, cycle: int = 0) -> Transfer:
    """Give a read of one line."""
    return Transfer(
        cycle * TICKS_PER_CYCLE, LOAD, sm, sm, (Destination(sm, sm),), line * LINE_BYTES, LINE_BYTES,
        (1, 1, 1, 1), (LINE_BYTES, 0, 0, 0), LINE_BYTES,
    )  # fmt: skip


def arrivals(fabric: str, transfers: list[Transfer], *more: str) -> list[float]:
    """Give the cycles at which reads of a warm L2 arrive."""
    carrier = make_fabric(load_machine("tiny", [*SETTINGS, *more]), fabric)
    carrier.warm(ALLOCATION // LINE_BYTES, ALLOCATION // LINE_BYTES + MEMORY_LINES)
    carrier.inject(transfers)
    found = []
    while not carrier.idle:
        found += [entry.tick for entry in carrier.advance(carrier.frontier + 100_000)]
    return [tick / TICKS_PER_CYCLE for tick in sorted(found)]


both_fabrics = pytest.mark.parametrize("fabric", ["compiled", "reference"])


@both_fabrics
def test_data_are_read_by_banks_at_their_share_and_handed_on_in_order(fabric: str) -> None:
    banks, handed_on, expected = [0.0] * BANKS, 0.0, []
    for turn in range(READS):
        bank = bank_of(0, turn, BANKS)
        start = max(banks[bank], handed_on)
        banks[bank] += BANKS * SERVICE
        handed_on = start + SERVICE
        expected.append(start)
    found = arrivals(fabric, [read(line) for line in lines_of(0)[:READS]])
    assert [tick - found[0] for tick in found] == pytest.approx(expected, abs=0.15 * SERVICE)
    assert expected[-1] > 1.2 * (READS - 1) * SERVICE  # some met at a bank


@both_fabrics
def test_slices_do_not_wait_for_each_other(fabric: str) -> None:
    first, second = arrivals(fabric, [read(lines_of(slice_)[0]) for slice_ in (0, 1)])
    assert second - first < SERVICE / 2


@both_fabrics
@pytest.mark.parametrize(("linger", "apart"), [(100_000, 1), (0, BANKS)])
def test_a_read_that_shares_a_look_up_takes_no_bank(fabric: str, linger: int, apart: int) -> None:
    assert bank_of(0, 2, BANKS) == bank_of(0, 3, BANKS)
    (first, second, third), late = lines_of(0)[:3], round(20 * SERVICE)
    reads = [read(first), read(second), read(first, NEIGHBOUR, late), read(third, cycle=late)]
    found = arrivals(fabric, reads, f"lrc.linger={linger}")
    assert found[3] - found[2] == pytest.approx(apart * SERVICE, abs=0.05 * SERVICE)
