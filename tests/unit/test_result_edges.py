"""Runs at the edge: bytes for which nobody waits, and runs that never end."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hoppersim.cli.render import result_table
from hoppersim.errors import InputError
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program import (
    Allocation,
    Barrier,
    Buffer,
    ExpectTx,
    Flow,
    Launch,
    Program,
    Role,
    TensorMap,
    Wait,
    Work,
    make_work,
)
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.operations import (
    Affine,
    BulkCopy,
    Compute,
    Operation,
    RemoteStore,
    StAsync,
    Sync,
    TmaLoad,
    TmaStore,
)
from hoppersim.result.api import simulate
from hoppersim.result.explain import explain_result
from hoppersim.result.relaxed import relax
from hoppersim.result.schema import Result
from hoppersim.result.verdict import compare

PEER = Affine(rank=1, base=1, wrap=2)
SIZE = 32768
TILE = TensorMap("map", "data", (64, 1024), (64, 64))
UNWAITED = {
    "st_async": StAsync("there", PEER, SIZE, "bar"),
    "bulk_copy": BulkCopy("here", "there", SIZE, PEER, "bar"),
    "remote_st": RemoteStore("there", PEER, SIZE),
    "tma_load": TmaLoad("map", (0, 0), "there", "bar"),
}


def _pair(*body: Operation) -> Work:
    """Make a work of one cluster of two CTAs whose one role has a body."""
    buffers = Buffer("here", SIZE), Buffer("there", SIZE)
    launch = Launch(grid=2, cluster=(2, 1, 1))
    role = Role("only", body, width="warp")
    return make_work("pair", (role,), buffers, (Barrier("bar", 1),), (TILE,), launch)


def _both(machine: Machine, work: Work, *, checks: bool = True) -> Result:
    """Simulate with both fabrics, which must agree."""
    compiled, reference = (simulate(machine, work, fabric=name, checks=checks) for name in _FABRICS)
    for field in ("cycles", "window_cycles", "late_cycles", "rates", "counters", "per_sm", "links", "hang"):
        assert getattr(compiled, field) == getattr(reference, field)
    return compiled


_FABRICS = ("compiled", "reference")


@pytest.mark.parametrize("name", UNWAITED)
def test_bytes_for_which_nobody_waits_count_to_the_window_and_keep_to_the_bound(
    tiny: Machine, name: str
) -> None:
    result = _both(tiny, _pair(UNWAITED[name]))
    assert result.bounds is not None
    assert result.window_cycles >= result.bounds.merged_cycles
    assert 0 < result.late_cycles <= result.window_cycles
    assert result.rates.chip == pytest.approx(result.delivered_bytes / result.window_cycles)
    assert all(figures.rate <= tiny.spec.xbar.sm_bytes_per_cycle for figures in result.per_sm)
    assert all(link.peak <= 1 for link in result.links)
    assert any("Nobody waits for the last bytes" in line for line in explain_result(result))


def test_a_run_that_waits_for_its_bytes_has_none_that_come_late(tiny: Machine) -> None:
    waits = _both(tiny, _pair(ExpectTx("bar", SIZE), UNWAITED["st_async"], Wait("bar", 0)))
    assert waits.late_cycles == 0
    assert not any("Nobody waits" in line for line in explain_result(waits))


def test_stores_that_are_still_read_from_shared_memory_are_no_late_bytes(tiny: Machine) -> None:
    assert _both(tiny, _pair(TmaStore("map", (0, 0), "here"))).late_cycles == 0


@pytest.mark.parametrize(("rows", "grid"), [(4, 8), (16, 2)])
def test_a_slice_lets_its_first_line_go_at_once_so_that_slow_slices_keep_to_the_bound(
    rows: int, grid: int
) -> None:
    slow = load_machine("tiny", ["l2.slice_bytes_per_l2_cycle=0.1"])
    result = _both(slow, build_case(Case("unicast", cluster=2, rows=rows, iterations=2, grid=grid)))
    assert result.bounds is not None
    assert result.bounds.merged_link.startswith("l2.")
    assert result.window_cycles >= result.bounds.merged_cycles


def test_bytes_that_are_sent_to_a_cta_that_has_left_arrive_nowhere_and_have_no_bound(tiny: Machine) -> None:
    load = TmaLoad("map", (0, 0), "there", "bar", mask=0b11)
    late = Role("late", (Compute(10_000), load), ranks=(0,))
    early = Role("early", (Compute(1),), ranks=(1,))
    program = Program("exits", (late, early), (Buffer("there", SIZE),), (Barrier("bar", 1),), (TILE,),
                      without=("exit_sync",))  # fmt: skip
    launch = Launch((Allocation("data", 131072),), grid=2, cluster=(2, 1, 1))
    result = _both(tiny, Work((Flow(program, launch),)), checks=False)
    assert any("HS-EX-001" in line for line in result.hazards)
    assert (result.bounds, result.delivered_bytes) == (None, 8192)


def test_pages_that_all_lie_on_the_readers_side_may_beat_the_mean_of_what_crosses() -> None:
    slow = load_machine("tiny", ["l2.fabric_bytes_per_cycle=0.1"])
    case = Case("unicast", rows=8, iterations=1, grid=1, memory="hbm", pattern="sweep")
    result = _both(slow, build_case(case))
    assert result.bounds is not None
    assert result.window_cycles >= result.bounds.merged_cycles
    assert result.window_cycles < 8 * 128 / 2 / 0.1


def test_a_run_that_hangs_says_how_far_it_came_and_gives_no_rates(tiny: Machine) -> None:
    body = (ExpectTx("bar", 2 * 8192), UNWAITED["tma_load"], Wait("bar", 0))
    result = _both(tiny, _pair(*body), checks=False)
    assert result.hung
    assert result.hang[0] == "0 of 2 CTAs that started have ended; 16,384 bytes have arrived"
    assert (result.rates.chip, result.rates.used_sm, result.rates.chip_sm) == (0, 0, 0)
    assert {figures.rate for figures in result.per_sm} == {0}
    assert result.limiter.name == "none"
    told = [repr(result), *explain_result(result), *(text for pair in result.summary() for text in pair)]
    assert not any("B/cycle" in text for text in told)


@pytest.mark.parametrize("place", [0, 1])
def test_a_run_of_no_time_is_compared_with_nothing_and_nothing_would_change_it(
    tiny: Machine, place: int
) -> None:
    nothing, something = simulate(tiny, _pair()), simulate(tiny, _pair(Sync("cta")))
    assert nothing.cycles == 0
    with pytest.raises(InputError, match=r"idle = '0 cycles'"):
        compare(*((nothing, something) if place == 0 else (something, nothing)),
                ("idle", "busy") if place == 0 else ("busy", "idle"))  # fmt: skip
    tried = replace(nothing, what_if=relax(tiny, _pair(), nothing))
    assert any("the work takes no time" in line for line in explain_result(tried))


def test_the_table_of_a_run_that_hangs_shows_no_rate(tiny: Machine) -> None:
    result = simulate(tiny, _pair(Wait("bar", 0)), checks=False)
    table = result_table([result], ["it"])
    shown = dict(zip(table.columns[0].cells, table.columns[1].cells, strict=True))
    assert str(shown["time \\[cycle]"]).startswith("hung at ")
    assert {str(cell) for label, cell in shown.items() if "rate" in str(label)} == {"-"}
    assert shown["likely limit"] == "-"
