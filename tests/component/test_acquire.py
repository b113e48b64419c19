"""An acquire at cluster scope takes longer after loads, the more lines they brought; other syncs do not."""

from __future__ import annotations

import pytest

from hoppersim.machine.loading import load_machine
from hoppersim.program import (
    Barrier,
    Buffer,
    ExpectTx,
    Fence,
    Launch,
    Operation,
    Role,
    Sync,
    TensorMap,
    TmaLoad,
    Wait,
    Work,
    make_work,
)
from hoppersim.result.api import simulate

ROW = 128
COSTS = ("tma.acquire_latency=100", "tma.acquire_interval=3")


def one_box(rows: int, after: Operation) -> Work:
    """Load one box, wait for it, and do something after it."""
    body = (ExpectTx("full", rows * ROW), TmaLoad("tiles", (0, 0), "tile", "full"), Wait("full", 0), after)
    return make_work(
        "one box", (Role("loader", body, 1, "warp"),), (Buffer("tile", rows * ROW),), (Barrier("full", 1),),
        (TensorMap("tiles", "data", (ROW // 2, rows), (ROW // 2, rows)),), Launch(grid=1),
    )  # fmt: skip


def longer(rows: int, after: Operation) -> float:
    """Say how many cycles a box and what follows take longer where acquires cost something."""
    with_costs, without = (
        simulate(load_machine("tiny", costs), one_box(rows, after), checks=False).cycles
        for costs in (COSTS, ())
    )
    return with_costs - without


@pytest.mark.parametrize("after", [Sync("cluster"), Fence("acq_rel_cluster")])
@pytest.mark.parametrize("rows", [1, 16])
def test_an_acquire_pays_for_each_line_that_was_loaded(after: Operation, rows: int) -> None:
    assert longer(rows, after) == 100 + 3 * rows


@pytest.mark.parametrize("after", [Sync("cluster", "relaxed"), Sync("cta"), Fence("acq_rel_cta")])
def test_what_does_not_acquire_at_cluster_scope_pays_nothing(after: Operation) -> None:
    assert longer(16, after) == 0
