from __future__ import annotations

import pytest

from hoppersim.errors import InputError
from hoppersim.program import TensorMap
from hoppersim.program.boxes import box_lines

MATRIX = TensorMap("m", "data", dims=(4096, 4096), box=(64, 128))


def test_a_box_inside_has_a_row_for_each_outer_element() -> None:
    assert box_lines(MATRIX, 2**21, (64, 128)) == (
        2**21 + 64 * 2 + 128 * 8192,
        128,
        (128, 1, 1, 1),
        (8192, 0, 0, 0),
        0,
    )


def test_a_box_beyond_the_end_is_clipped_and_the_rest_is_filled() -> None:
    lines = box_lines(MATRIX, 0, (4096 - 16, 4096 - 100))
    assert (lines.row_bytes, lines.counts[0]) == (32, 100)
    assert lines.oob_bytes == MATRIX.box_bytes - 3200


def test_a_box_before_the_start_begins_at_the_first_element() -> None:
    lines = box_lines(MATRIX, 4096, (-8, -28))
    assert (lines.address, lines.row_bytes, lines.counts[0]) == (4096, 112, 100)


@pytest.mark.parametrize("coordinates", [(4096, 0), (0, -128), (-64, 0), (10**9, 10**9)])
def test_a_box_wholly_outside_has_no_rows(coordinates: tuple[int, int]) -> None:
    lines = box_lines(MATRIX, 0, coordinates)
    assert (lines.row_bytes, lines.counts, lines.oob_bytes) == (0, (0, 0, 0, 0), MATRIX.box_bytes)


def test_a_tensor_of_five_dimensions_uses_all_four_outer_ones() -> None:
    tensor = TensorMap("m", "data", dims=(16, 4, 4, 4, 4), box=(16, 2, 3, 4, 1))
    lines = box_lines(tensor, 0, (0, 1, 1, 0, 3))
    assert (lines.counts, lines.strides) == ((2, 3, 4, 1), (32, 128, 512, 2048))
    assert lines.address == 32 + 128 + 3 * 2048


def test_a_tensor_of_one_dimension_has_one_row() -> None:
    assert box_lines(TensorMap("m", "data", (1000,), (256,)), 64, (900,)) == (
        64 + 1800,
        200,
        (1, 1, 1, 1),
        (0, 0, 0, 0),
        312,
    )


def test_an_element_stride_takes_every_other_row_and_counts_what_it_takes() -> None:
    tensor = TensorMap("m", "data", (64, 100), (64, 10), element_strides=(1, 2))
    lines = box_lines(tensor, 0, (0, 95))
    assert tensor.box_bytes == 5 * 128
    assert (lines.counts[0], lines.strides[0], lines.oob_bytes) == (3, 256, 256)


def test_the_maps_own_base_is_added() -> None:
    tensor = TensorMap("m", "data", (64, 8), (64, 8), base=256)
    assert box_lines(tensor, 1024, (0, 0)).address == 1280


@pytest.mark.parametrize("coordinates", [(0,), (0, 0, 0)])
def test_a_wrong_number_of_coordinates_is_an_input_error(coordinates: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="2 coordinates"):
        box_lines(MATRIX, 0, coordinates)
