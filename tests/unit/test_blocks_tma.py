"""How rows of a box become requests: as many as silicon took for them (plan `shapes`)."""

from __future__ import annotations

import pytest

from hoppersim.blocks.tma import after_row, piece_end, pieces_of_row


def requests(row_bytes: int, shift: int, rows: int = 8, pitch: int = 512) -> float:
    """Count the requests a row of a dense box takes, whose rows begin `shift` bytes off the line grid."""
    total = before = 0
    for row in range(rows):
        total += pieces_of_row(shift + row * pitch, row_bytes, before)
        before = after_row(before, row_bytes)
    return total / rows


@pytest.mark.parametrize(
    ("row_bytes", "shift", "measured"),
    [
        (16, 0, 1), (32, 0, 1), (32, 16, 2), (32, 112, 2),
        (48, 0, 2.125), (48, 16, 2.125), (48, 32, 2.125), (48, 96, 2.125), (48, 112, 2.125),
        (64, 0, 1), (64, 16, 3), (64, 32, 1), (64, 48, 3), (64, 80, 3), (64, 96, 2), (64, 112, 3),
        (96, 0, 1.5), (96, 16, 4), (96, 48, 4), (96, 112, 4),
        (128, 0, 1), (128, 16, 3), (128, 32, 2), (128, 64, 2), (128, 80, 4), (128, 112, 3),
        (256, 0, 2), (256, 16, 6), (256, 64, 4),
    ],
)  # fmt: skip
def test_a_row_takes_as_many_requests_as_on_silicon(row_bytes: int, shift: int, measured: float) -> None:
    assert requests(row_bytes, shift) == measured


@pytest.mark.parametrize("row_bytes", [16, 48, 80, 112, 144, 240])
@pytest.mark.parametrize("shift", range(0, 128, 16))
@pytest.mark.parametrize("before", range(0, 128, 16))
def test_no_request_crosses_a_line_of_either_memory(row_bytes: int, shift: int, before: int) -> None:
    at, end = shift, shift + row_bytes
    while at < end:
        after = piece_end(shift, row_bytes, at, before)
        assert at < after <= end
        assert at // 128 == (after - 1) // 128
        assert (at - shift + before) // 128 == (after - 1 - shift + before) // 128
        at = after
