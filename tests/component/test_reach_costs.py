"""What it costs a thread to find whom it reaches, and to store asynchronously line by line."""

from __future__ import annotations

import pytest

from hoppersim.machine.loading import load_machine
from hoppersim.program import (
    Affine,
    Arrive,
    Barrier,
    Buffer,
    For,
    Launch,
    Operation,
    Role,
    StAsync,
    make_work,
)
from hoppersim.program.work import Width
from hoppersim.result.api import simulate

TRIPS = 4
SPARE = 2**20 - 1


def longer(cost: str, operation: Operation, width: Width = "lane") -> float:
    """Say how many cycles an operation in a loop takes longer where a cost is 100 cycles more."""
    base = load_machine("tiny").spec.costs[cost]
    work = make_work(
        "reach", (Role("role", (For(TRIPS, (operation,), 1, "i"),), 1, width),), (Buffer("tile", 2048),),
        (Barrier("spare", SPARE),), (), Launch(grid=2, cluster=(2, 1, 1)),
    )  # fmt: skip
    cycles = [
        simulate(load_machine("tiny", (f"costs.{cost}={base + more}",)), work, checks=False).cycles
        for more in (100, 0)
    ]
    return (cycles[0] - cycles[1]) / TRIPS


@pytest.mark.parametrize(("to", "times"), [(None, 0), (2, 0), (Affine(by_rank=(2, 1)), 1)])
def test_a_mask_that_is_no_constant_is_searched_once(to: int | Affine | None, times: int) -> None:
    assert longer("mask.lane.issue", Arrive("spare", to)) == 100 * times


@pytest.mark.parametrize(("each", "times"), [(4, 0), (8, 1), (16, 3)])
def test_a_warp_pays_for_each_further_line_that_an_instruction_stores(each: int, times: int) -> None:
    store = StAsync("tile", 1, 32 * each, "spare", each)  # type: ignore[arg-type]
    assert longer("st_async.warp.packet", store, "warp") == 100 * times
