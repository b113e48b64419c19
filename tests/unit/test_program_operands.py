from __future__ import annotations

import pytest

from hoppersim.errors import InputError
from hoppersim.program import Affine, For
from hoppersim.program.operands import (
    constant_value,
    evaluate,
    mask_ranks,
    nearest_name,
    operand_faults,
    ring_of,
)


def test_an_operand_adds_its_terms_and_wraps_last() -> None:
    operand = Affine(base=5, cluster=10, rank=100, by_rank=(1, 2), loops={"i": 7}, wrap=64)
    assert evaluate(operand, 3, 1, {"i": 2}) == (5 + 30 + 100 + 2 + 14) % 64


def test_an_integer_is_its_own_value() -> None:
    assert evaluate(42, 9, 9, {}) == 42


def test_an_operand_without_wrap_may_be_negative() -> None:
    assert evaluate(Affine(base=-8), 0, 0, {}) == -8


@pytest.mark.parametrize("operand", [Affine(loops={"til": 1}), Affine(by_rank=(1,))])
def test_an_operand_without_a_value_is_an_input_error(operand: Affine) -> None:
    with pytest.raises(InputError):
        evaluate(operand, 0, 1, {"tile": 0})


def test_an_unknown_loop_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="tile"):
        evaluate(Affine(loops={"til": 1}), 0, 0, {"tile": 0})


def test_each_fault_of_an_operand_is_named() -> None:
    operand = Affine(by_rank=(1, 2, 3), loops={"i": 9, "k": 1}, wrap=8)
    assert [(fault[0], fault[3]) for fault in operand_faults(operand, ("i",), 2)] == [
        ("by_rank", (1, 2)),
        ("loops.i", 1),
        ("loops.k", None),
    ]


def test_only_an_operand_that_never_changes_is_constant() -> None:
    assert constant_value(Affine(base=9, loops={"i": 0}, wrap=4)) == 1
    assert constant_value(Affine(rank=1)) is None


def test_a_mask_names_the_ranks_of_its_bits() -> None:
    assert mask_ranks(0b1000_0000_0000_0101) == (0, 2, 15)


def test_the_innermost_loop_with_as_many_stages_drives_a_ring() -> None:
    outer, middle, inner = For(2, (), 4, "a"), For(2, (), 4, "b"), For(2, (), 1, "c")
    assert ring_of(4, (outer, middle, inner)) is middle
    assert ring_of(3, (outer, middle, inner)) is None


def test_nothing_is_suggested_when_no_name_is_near() -> None:
    assert nearest_name("zzz", ["full", "free"]) is None
