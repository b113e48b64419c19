"""What loads cost their thread: the first of a stage, those behind it, and the loop around them."""

from __future__ import annotations

import pytest

from hoppersim.machine.loading import load_machine
from hoppersim.program import (
    Affine,
    Barrier,
    Buffer,
    For,
    Launch,
    Operation,
    Role,
    SmSet,
    TensorMap,
    TmaLoad,
    Work,
    make_work,
)
from hoppersim.result.api import simulate

TRIPS = 4
ROW = Affine(loops={"i": 1})
WRAPPED = Affine(loops={"i": 1}, wrap=8)
SPARE = 2**20 - 1


def loads(rows: tuple[int | Affine, ...], launch: Launch, nested: bool) -> Work:
    """Issue a load of one row for each operand in every trip of a loop, and wait for none."""
    body: tuple[Operation, ...] = tuple(TmaLoad("rows", (0, row), "tile", "spare") for row in rows)
    loop: For = For(TRIPS, body, 1, "i")
    whole = For(1, (loop,), 1, "outer") if nested else loop
    return make_work(
        "loads", (Role("loader", (whole,)),), (Buffer("tile", 128),), (Barrier("spare", SPARE),),
        (TensorMap("rows", "data", (64, 64), (64, 1)),), launch,
    )  # fmt: skip


def longer(
    cost: str, rows: tuple[int | Affine, ...], launch: Launch | None = None, nested: bool = False
) -> float:
    """Say how many cycles a trip takes longer where a cost is 100 cycles more."""
    base = load_machine("tiny").spec.costs[cost]
    work = loads(rows, launch or Launch(grid=1), nested)
    cycles = [
        simulate(load_machine("tiny", (f"costs.{cost}={base + more}",)), work, checks=False).cycles
        for more in (100, 0)
    ]
    return (cycles[0] - cycles[1]) / TRIPS


@pytest.mark.parametrize(("cost", "times"), [("issue", 1), ("next", 2), ("wrap", 0)])
def test_the_first_load_of_a_stage_and_those_behind_it_cost_apart(cost: str, times: int) -> None:
    assert longer(f"tma_load.lane.self.{cost}", (ROW, ROW, 0)) == 100 * times


def test_a_load_behind_another_pays_for_an_address_that_begins_anew() -> None:
    assert longer("tma_load.lane.self.wrap", (WRAPPED, WRAPPED, ROW, 0)) == 100


@pytest.mark.parametrize(("nested", "times"), [(True, 1), (False, 0)])
def test_a_trip_of_a_loop_within_a_loop_takes_longer(nested: bool, times: int) -> None:
    assert longer("loop.lane.nested", (ROW,), nested=nested) == 100 * times


@pytest.mark.parametrize(
    ("launch", "nested", "operand", "times"),
    [
        (Launch(grid=2, cluster=(2, 1, 1)), False, Affine(rank=1), 1),
        (Launch(grid=2, cluster=(2, 1, 1), sms=SmSet(gpcs=(0,))), False, Affine(rank=1), 0),
        (Launch(grid=2, cluster=(2, 1, 1), skew=1), False, Affine(rank=1), 0),
        (Launch(grid=2, cluster=(2, 1, 1)), False, Affine(cluster=1), 0),
        (Launch(grid=1), True, Affine(cluster=1), 1),
        (Launch(grid=1), False, Affine(cluster=1), 0),
        (Launch(grid=1, sms=SmSet(gpcs=(0,))), True, Affine(cluster=1), 0),
        (Launch(grid=1), True, 0, 0),
    ],
)
def test_the_place_of_the_cta_is_read_once_a_trip(
    launch: Launch, nested: bool, operand: int | Affine, times: int
) -> None:
    assert longer("loop.lane.by_place", (operand, operand), launch, nested) == 100 * times
