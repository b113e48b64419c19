"""Boxes that begin before the tensor, as a halo does: what lies inside moves, whatever the loop says."""

from __future__ import annotations

import pytest

from hoppersim.machine.machine import Machine
from hoppersim.program import (
    Affine,
    Barrier,
    Buffer,
    For,
    Launch,
    Role,
    TensorMap,
    TmaLoad,
    TmaStore,
    make_work,
)
from hoppersim.program.operations import Operation
from hoppersim.program.work import Allocation
from hoppersim.result.api import simulate
from hoppersim.result.schema import Result


def run(tiny: Machine, operation: Operation) -> Result:
    """Run an operation in four trips of a loop `i`, in one of a loop `j`, over 64 rows of 128 bytes."""
    work = make_work(
        "halo",
        roles=(Role("all", (For(1, (For(4, (operation,), name="i"),), name="j"),)),),
        buffers=(Buffer("tile", 16 * 128),),
        maps=(TensorMap("rows", "data", dims=(64, 64), box=(64, 16), element_bytes=2),),
        barriers=(Barrier("full", 1),),
        launch=Launch(allocations=(Allocation("data", 64 * 128),), grid=1),
    )
    return simulate(tiny, work, checks=False)


@pytest.mark.parametrize("kind", [TmaLoad, TmaStore])
def test_a_place_before_the_tensor_means_the_same_by_one_loop_and_by_two(tiny: Machine, kind: type) -> None:
    more = ("full",) if kind is TmaLoad else ()
    places = (Affine(-2, loops=loops) for loops in ({"i": 16}, {"i": 16, "j": 0}))
    one, two = (run(tiny, kind("rows", (0, place), "tile", *more)) for place in places)
    assert one.cycles == two.cycles
    assert one.counters == two.counters


def test_of_a_box_before_the_tensor_the_rows_inside_are_read(tiny: Machine) -> None:
    result = run(tiny, TmaLoad("rows", (0, Affine(-2, loops={"i": 16})), "tile", "full"))
    assert result.counters["lrc__xbar2lrc_requests_op_read.sum"] == 14 + 3 * 16
