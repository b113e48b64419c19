"""The check of stored data against a plain walk over the words, and what keeps it from being known."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from hoppersim.program.operations import Affine, For, TmaStore
from hoppersim.program.work import Allocation, Buffer, Flow, Launch, Program, Role, TensorMap
from hw_validate import records
from hw_validate.plans.parts import private
from hw_validate.plans.rings import Ring
from hw_validate.plans.stores import _copying, store_work
from hw_validate.stored import stored_checks

POISON = 0xDEADBEEF
MASK = 0xFFFFFFFF


def plain_mix(k: int) -> int:
    """Compute one word as the kernels do, with Python's integers."""
    k = k * 0x9E3779B1 & MASK
    k = (k ^ k >> 15) * 0x2C1B3C6D & MASK
    return k ^ k >> 13


def weight(k: int) -> int:
    """Give the weight of word k."""
    return plain_mix(k + 0x7F4A7C15 & MASK) | 1


def check(words: dict[int, int]) -> int:
    """Weigh the words of an allocation that is 0 elsewhere."""
    return sum(word * weight(k) & MASK for k, word in words.items()) % 2**64


def test_stores_of_what_was_never_loaded_leave_poison_where_they_point() -> None:
    flow = store_work(rows=2, pending=1, ctas=3, fresh_tiles=False, row_bytes=32).flows[0]
    found = stored_checks(flow, 3)
    assert found["why"] == ""
    rows = {(cta * 8 + tile) * 2 + row for cta in range(3) for tile in range(8) for row in range(2)}
    words = {row * 32 + k: POISON for row in rows for k in range(8)}
    assert found["allocations"] == {"results": check(words)}


def test_a_copy_leaves_the_words_of_the_tile_that_was_loaded() -> None:
    place, total = private(2, 4)
    flow = _copying(Ring(place, total, 4, 2, phases=((12, False),), grid=2)).flows[0]
    words = {k: plain_mix(k) for k in range(total * 32)}
    assert stored_checks(flow, 2)["allocations"] == {"results": check(words)}


def test_a_store_elsewhere_gives_another_check() -> None:
    flow = store_work(rows=2, pending=1, ctas=2, fresh_tiles=False).flows[0]
    role = flow.program.roles[0]
    outer = role.body[0]
    assert isinstance(outer, For)
    inner = outer.body[0]
    assert isinstance(inner, For)
    store = inner.body[0]
    assert isinstance(store, TmaStore)
    place = Affine(base=2, cluster=16, loops={"tile": 2}, wrap=32)
    moved = replace(inner, body=(replace(store, coordinates=(0, place)), *inner.body[1:]))
    shorter = replace(role, body=(replace(outer, body=(replace(moved, n=7),)), *role.body[1:]))
    other = replace(flow, program=replace(flow.program, roles=(shorter,)))
    assert stored_checks(other, 2)["why"] == ""
    assert stored_checks(other, 2)["allocations"] != stored_checks(flow, 2)["allocations"]


def stores_to(place: Affine | int, grid: int | str, rows: int = 8) -> Flow:
    """Write a flow whose CTAs each store one row."""
    program = Program(
        "stores",
        (Role("writer", (TmaStore("stored", (0, place), "outgoing"),)),),
        (Buffer("outgoing", 128),),
        maps=(TensorMap("stored", "results", (64, rows), (64, 1)),),
    )  # fmt: skip
    return Flow(program, Launch((Allocation("results", rows * 128),), grid))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "grid", "why"),
    [(0, 2, "same place"), (Affine(cluster=1), "fill", "on the GPU"), (Affine(cluster=5), 2, "")],
)
def test_what_cannot_be_followed_says_why(place: Affine | int, grid: int | str, why: str) -> None:
    found = stored_checks(stores_to(place, grid), 2)
    assert why in found["why"]
    assert bool(found["allocations"]) == (why == "")


def test_a_flow_without_stores_has_nothing_to_check() -> None:
    flow = stores_to(0, 1)
    silent = replace(flow, program=replace(flow.program, roles=()))
    assert stored_checks(silent, 1) == {"allocations": {}, "why": "nothing is stored"}


@pytest.mark.parametrize(("weighed", "right"), [(5, True), (6, False)])
def test_wrong_stored_data_make_a_point_wrong(weighed: int, right: bool) -> None:
    flow = {"expected": {"roles": {}, "why": "no role waits"}, "stored": {"results": 5}}
    run = empty_run()
    found = records.verify(run, flow, {"results": weighed})
    assert found["verified"] is right
    assert found["stored"] is right
    assert records.verify(run, flow, {})["verified"] is None


def empty_run() -> records.Run:
    """Give a launch in which no CTA took part."""
    nothing = np.zeros(0, np.int64)
    return records.Run(nothing, nothing, nothing, nothing, nothing, np.zeros((0, 0), np.uint64))
