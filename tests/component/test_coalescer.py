"""What reads of one line share at a slice: the look-up, the response, or nothing; in both fabrics."""

from __future__ import annotations

import pytest

from hoppersim.engine.interface import LOAD, Destination, Transfer
from hoppersim.engine.simulate import make_fabric
from hoppersim.machine.loading import load_machine
from hoppersim.units import TICKS_PER_CYCLE

ALLOCATION = 1 << 21
LINES = 16
BYTES = LINES * 128
MEMORY_LINES = 1024
NEAR, FAR = load_machine("tiny").floorplan.gpcs[0].sms, load_machine("tiny").floorplan.gpcs[1].sms
LATE = 3000
"""Cycles after which all responses to earlier reads have left."""
LONG = "lrc.linger=100000"
"""Lines linger for as long as any of these reads is late."""


def read(sm: int, cycle: int = 0, first_line: int = 0) -> Transfer:
    """Give a read of 2 KB by one SM."""
    address = ALLOCATION + first_line * 128
    return Transfer(
        cycle * TICKS_PER_CYCLE, LOAD, sm, sm, (Destination(sm, sm),), address, 128,
        (LINES, 1, 1, 1), (128, 0, 0, 0), BYTES,
    )  # fmt: skip


def shared(fabric: str, transfers: list[Transfer], *overrides: str) -> tuple[float, float]:
    """Say how many times 2 KB were looked up, and passed the ports of the GPCs."""
    carrier = make_fabric(load_machine("tiny", overrides), fabric)
    carrier.warm(ALLOCATION // 128, ALLOCATION // 128 + MEMORY_LINES)
    for tick in sorted({transfer.tick for transfer in transfers}):
        while carrier.frontier < tick and not carrier.idle:
            carrier.advance(tick)
        carrier.inject([transfer for transfer in transfers if transfer.tick == tick])
    while not carrier.idle:
        carrier.advance(carrier.frontier + 100_000)
    counters = carrier.counters()
    return counters["l2.sectors"].sum() * 32 / BYTES, counters["gpc.bytes_in"].sum() / BYTES


both_fabrics = pytest.mark.parametrize("fabric", ["compiled", "reference"])


@both_fabrics
def test_reads_of_one_gpc_at_once_share_look_up_and_response(fabric: str) -> None:
    assert shared(fabric, [read(NEAR[0]), read(NEAR[1])]) == (1, 1)


@both_fabrics
def test_reads_of_two_gpcs_share_nothing(fabric: str) -> None:
    assert shared(fabric, [read(NEAR[0]), read(FAR[0])]) == (2, 2)


@both_fabrics
def test_a_read_soon_after_the_response_left_shares_the_look_up_only(fabric: str) -> None:
    late = [read(NEAR[0]), read(NEAR[1], LATE)]
    assert shared(fabric, late, "lrc.held=64", LONG) == (1, 2)


@both_fabrics
def test_a_read_later_than_a_line_lingers_shares_nothing(fabric: str) -> None:
    late = [read(NEAR[0]), read(NEAR[1], LATE)]
    assert shared(fabric, late, "lrc.held=64", "lrc.linger=200") == (2, 2)


@both_fabrics
def test_a_look_up_serves_one_late_read(fabric: str) -> None:
    late = [read(sm, number * LATE) for number, sm in enumerate(NEAR[:4])]
    assert shared(fabric, late, "lrc.held=64", LONG) == (2, 4)


@both_fabrics
def test_a_line_is_forgotten_when_so_many_others_came_in_between(fabric: str) -> None:
    others = [read(NEAR[2], LATE, first_line=16 * number) for number in range(1, 33)]
    late = [read(NEAR[0]), *others, read(NEAR[1], 4 * LATE)]
    kept, forgotten = (shared(fabric, late, f"lrc.held={held}", LONG)[0] for held in (512, 4))
    assert (kept, forgotten) == (33, 34)


@both_fabrics
def test_a_response_can_be_joined_only_while_more_lines_wait_than_are_looked_up(fabric: str) -> None:
    slow_port = ("xbar.gpc_bytes_per_cycle=2", "xbar.port_lines=1", "lrc.entries=64", "lrc.held=64")
    late = [read(NEAR[0]), read(NEAR[1], 100)]
    _, joined = shared(fabric, late, *slow_port, "lrc.answers=0")
    _, apart = shared(fabric, late, *slow_port, "lrc.answers=1000")
    assert joined < apart


@both_fabrics
def test_reads_merge_until_the_slice_has_read_the_data_not_while_these_wait_for_a_port(fabric: str) -> None:
    late = [read(NEAR[0]), read(NEAR[1], 400)]
    room = ("lrc.answers=1000", "lrc.entries=64", "lrc.held=64", "xbar.port_lines=1")
    _, slow_slices = shared(fabric, late, *room, "l2.slice_bytes_per_l2_cycle=0.25")
    _, slow_port = shared(fabric, late, *room, "xbar.gpc_bytes_per_cycle=2")
    assert slow_slices < 1.5 < slow_port == 2


@both_fabrics
def test_room_is_for_different_lines(fabric: str) -> None:
    slow_port = (
        "xbar.gpc_bytes_per_cycle=2", "xbar.port_lines=1", "lrc.entries=16", "lrc.held=512", "lrc.answers=0",
    )  # fmt: skip

    def passed(*first_lines: int) -> float:
        others = [read(NEAR[2], 20 + number, line) for number, line in enumerate(first_lines)]
        return shared(fabric, [read(NEAR[0]), *others, read(NEAR[1], 100)], *slow_port)[1]

    same, different = passed(*[16] * 8), passed(*range(16, 144, 16))
    assert same < 9.5  # most lines of the late read join; the eight others are sent each
    assert different == 10
