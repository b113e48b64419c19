"""Which lines a flow's loads touch: those and no others, wherever the memory begins."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from hoppersim.engine.simulate import simulate_raw
from hoppersim.machine import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program import Affine, Buffer, For, Launch, Role, TensorMap, TmaLoad, TmaStore, Work, make_work
from hoppersim.program.cases import Case, build_case
from hoppersim.program.footprint import touched_lines
from hoppersim.program.work import Allocation
from hoppersim.result.api import simulate

ROWS = 64


def _two_boxes(*more: TmaStore) -> Work:
    """Load rows 0 to 7 and 32 to 39 of 64, of 256 bytes each; row bytes 0 to 127 only."""
    loads = tuple(TmaLoad("rows", (0, row), "tile", "full") for row in (0, 32))
    return make_work(
        "two",
        roles=(Role("all", (*loads, *more)),),
        buffers=(Buffer("tile", 8 * 128),),
        maps=(TensorMap("rows", "data", dims=(128, ROWS), box=(64, 8), element_bytes=2),),
        launch=Launch(allocations=(Allocation("data", ROWS * 256),), grid=1),
    )


@pytest.mark.parametrize("address", [0, 128 * 7, 64])
def test_lines_that_a_box_covers_are_touched_and_no_others(address: int) -> None:
    flow = _two_boxes().flows[0]
    touched = touched_lines(flow, ((0,),), "data", address)
    rows = np.array([*range(8), *range(32, 40)])
    starts = address % 128 + 256 * rows
    expected = np.unique(np.concatenate((starts // 128, (starts + 127) // 128)))
    assert np.flatnonzero(touched).tolist() == expected.tolist()


def test_memory_that_is_stored_to_counts_as_touched_altogether() -> None:
    flow = _two_boxes(TmaStore("rows", (0, 0), "tile")).flows[0]
    assert touched_lines(flow, ((0,),), "data", 0).all()


def test_a_warm_start_holds_what_is_read_of_memory_that_the_l2_could_not_hold() -> None:
    machine = load_machine("tiny")
    small, large = (
        simulate(
            machine, build_case(Case("multicast", grid=1, rows=8, iterations=4, pattern="sweep", footprint=f))
        )
        for f in (4096, 64 * machine.spec.l2.bytes)
    )
    assert large.counters["lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum"] == 0
    assert large.cycles == small.cycles


def test_first_trips_start_from_what_the_whole_loop_reads(tiny: Machine) -> None:
    footprint = 8 * tiny.spec.l2.bytes
    case = Case("unicast_distinct", rows=64, stages=2, pattern="sweep", footprint=footprint, iterations=512)
    whole, first = build_case(case), build_case(replace(case, iterations=8))
    alone, within = (simulate_raw(tiny, first, warm_by=work) for work in (None, whole))
    assert alone.counters["l2.misses"].sum() == 0
    assert within.counters["l2.misses"].sum() > 0


def test_boxes_wholly_out_of_bounds_touch_nothing() -> None:
    work = make_work(
        "outside",
        roles=(
            Role(
                "all", (For(4, (TmaLoad("rows", (0, Affine(loops={"i": 2000})), "tile", "full"),), name="i"),)
            ),
        ),
        buffers=(Buffer("tile", 8 * 128),),
        maps=(TensorMap("rows", "data", dims=(64, 3072), box=(64, 8), element_bytes=2),),
        launch=Launch(allocations=(Allocation("data", 3072 * 128),), grid=1),
    )
    touched = touched_lines(work.flows[0], ((0,),), "data", 0)
    assert np.flatnonzero(touched).tolist() == [*range(8), *range(2000, 2008)]
