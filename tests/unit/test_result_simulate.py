"""What a Result says about small runs with known answers."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from hoppersim.errors import EXIT_INPUT, InputError
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program import Arrive, Barrier, For, Role, Wait, make_work
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.result.api import IllegalWorkError, simulate
from hoppersim.result.explain import explain_result
from hoppersim.result.schema import Measured, Result
from hoppersim.result.verdict import compare

L2_READS = "lts__t_sectors_srcunit_tex_op_read.sum"


def _run(machine: Machine, mode: str, **fields: object) -> Result:
    fields = {"cluster": 2, "rows": 64, "iterations": 6} | fields
    return simulate(machine, build_case(Case(mode, **fields)))  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["unicast", "unicast_distinct", "multicast", "multicast_slices"])
def test_every_cta_receives_what_the_case_says(tiny: Machine, mode: str) -> None:
    result = _run(tiny, mode)
    assert result.delivered_bytes == result.ctas * 6 * 64 * 128
    assert {figures.bytes for figures in result.per_sm} == {6 * 64 * 128}


def test_multicast_of_two_reads_half_of_the_sectors_of_unicast_without_coalescer() -> None:
    machine = load_machine("tiny", ["lrc.enabled=0"])
    assert _run(machine, "unicast").counters[L2_READS] == 2 * _run(machine, "multicast").counters[L2_READS]


def test_rates_differ_by_what_they_are_divided_by(tiny: Machine) -> None:
    result = _run(tiny, "multicast")
    assert result.rates.chip == pytest.approx(result.delivered_bytes / result.cycles)
    assert result.rates.used_sm == pytest.approx(result.rates.chip / result.sms_used)
    assert result.rates.chip_sm == pytest.approx(result.rates.chip / tiny.sm_count)
    assert result.seconds == pytest.approx(result.cycles / tiny.cycles_per_second)


def test_no_run_beats_its_bound(tiny: Machine) -> None:
    for mode in ("unicast", "unicast_distinct", "multicast"):
        result = _run(tiny, mode, iterations=20)
        assert result.bounds is not None
        assert result.window_cycles >= result.bounds.merged_cycles
        assert result.bounds.unmerged_cycles >= result.bounds.merged_cycles


def test_no_run_with_a_slow_engine_beats_its_bound() -> None:
    slow = load_machine("tiny", ["tma.line_interval=5000"])
    result = simulate(slow, build_case(Case("unicast", rows=1, iterations=4)))
    assert result.bounds is not None
    assert result.window_cycles >= result.bounds.merged_cycles == 15_000
    assert result.limiter.name == "TMA engine"
    assert result.limiter.share <= 1


def test_parts_add_up_to_the_whole(tiny: Machine) -> None:
    result = _run(tiny, "multicast")
    assert sum(figures.bytes for figures in result.per_sm) == result.delivered_bytes
    assert sum(figures.delivered_bytes for figures in result.per_gpc) == result.delivered_bytes
    assert sum(figures.sms for figures in result.per_gpc) == result.sms_used
    assert max(figures.cycles for figures in result.per_sm) == result.cycles


def test_same_work_gives_the_same_figures(tiny: Machine) -> None:
    first, second = _run(tiny, "unicast"), _run(tiny, "unicast")
    assert (first.counters, first.per_sm, first.links) == (second.counters, second.per_sm, second.links)


def test_both_fabrics_give_the_same_result(tiny: Machine) -> None:
    work = build_case(Case("multicast", cluster=2, rows=16, iterations=4))
    compiled, reference = simulate(tiny, work), simulate(tiny, work, fabric="reference")
    assert (compiled.cycles, compiled.counters) == (reference.cycles, reference.counters)


def test_an_illegal_work_lists_every_violation(tiny: Machine) -> None:
    work = make_work("bad", roles=(Role("a", (Wait("nothing"), Arrive("nowhere"))),))
    with pytest.raises(IllegalWorkError) as caught:
        simulate(tiny, work)
    assert caught.value.exit_code == EXIT_INPUT
    assert len(caught.value.violations) >= 2
    assert "nothing" in str(caught.value)
    assert "nowhere" in str(caught.value)


def test_a_hang_is_a_result_that_names_the_barrier(tiny: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    # Rules would refuse this work; a hang that they cannot foresee must be reported all the same.
    monkeypatch.setattr("hoppersim.result.api.check", lambda work, machine: [])
    work = make_work("stuck", roles=(Role("a", (Wait("full"),)),), barriers=(Barrier("full", 1),))
    result = simulate(tiny, work)
    assert result.hung
    assert any("full[0]" in line and "1 of 1 arrivals" in line for line in result.hang)
    assert "It hangs:" in explain_result(result)


def test_repr_and_notebook_table_name_the_figures(tiny: Machine) -> None:
    result = _run(tiny, "multicast")
    assert "limited by" in repr(result)
    assert "<table>" in result._repr_html_()


def test_machines_and_works_show_themselves_in_few_words(tiny: Machine) -> None:
    assert repr(tiny) == (
        f"<Machine tiny: {tiny.sm_count} SMs in {tiny.gpc_count} GPCs, {tiny.spec.l2.slices} L2 slices, "
        f"{tiny.spec.clocks.sm_ghz:g} GHz, hash {tiny.hash}>"
    )
    page = build_case(Case("multicast", cluster=2))._repr_html_()
    assert page.startswith("<pre>")
    assert "tma_load" in page


def test_verdict_is_undecided_within_the_error(tiny: Machine) -> None:
    result = _run(tiny, "multicast")
    verdict = compare(result, replace(result, cycles=1.05 * result.cycles), ("a", "b"), error=0.1)
    assert not verdict.decided
    assert verdict.text == "undecided within 10%: the times differ by 5.0%"


def test_a_work_is_not_faster_than_itself(tiny: Machine) -> None:
    result = _run(tiny, "multicast")
    verdict = compare(result, result, ("a", "b"))
    assert (verdict.decided, verdict.text) == (False, "neither is faster: both are the same work")


def _measured(result: Result, cycles: float, of_trips: int = 0) -> Result:
    measured = Measured(device="NVIDIA H200", cycles=cycles, spread=0.02, error=0.0, of_trips=of_trips)
    return replace(result, cycles=cycles, work_hash=f"of {cycles}", measured=measured)


def test_where_silicon_ran_both_works_its_answer_is_the_verdict(tiny: Machine) -> None:
    first, second = (_measured(_run(tiny, "multicast"), cycles) for cycles in (1000.0, 1080.0))
    verdict = compare(first, replace(second, cycles=1040.0), ("a", "b"), error=0.1)
    assert verdict.decided
    assert (verdict.speedup, verdict.silicon_speedup) == (1.04, 1.08)
    assert verdict.text == (
        "a is 1.08x as fast as b, measured on an NVIDIA H200; by simulation alone undecided within 10%: the "
        "times differ by 4.0%"
    )
    noisy = compare(first, _measured(second, 1010.0), ("a", "b"), error=0.001)
    assert not noisy.decided
    assert noisy.text.startswith("undecided within 2%: the times differ by 1.0%, measured on an NVIDIA H200")


def test_silicon_decides_nothing_where_it_ran_one_work_only_or_with_other_trips(tiny: Machine) -> None:
    first, second = (_measured(_run(tiny, "multicast"), cycles) for cycles in (1000.0, 1080.0))
    for other in (replace(second, measured=None), _measured(second, 1080.0, of_trips=128)):
        assert compare(first, other, ("a", "b"), error=0.1).silicon_speedup is None
    both = (_measured(first, 1000.0, of_trips=128), _measured(second, 1080.0, of_trips=128))
    assert "in proportion from 128 trips; by simulation" in compare(*both, ("a", "b")).text


def test_verdict_names_the_faster_one(tiny: Machine) -> None:
    quick, slow = _run(tiny, "multicast"), _run(tiny, "multicast", compute=5000)
    verdict = compare(slow, quick, ("slow", "quick"), error=0.1)
    assert verdict.decided
    assert verdict.text.startswith("quick is ")
    assert not verdict.per_byte
    assert verdict.difference_cycles < 0


def test_runs_that_deliver_different_amounts_are_compared_per_byte(tiny: Machine) -> None:
    short, long = _run(tiny, "multicast", iterations=4), _run(tiny, "multicast", iterations=40)
    verdict = compare(short, long, ("short", "long"), error=0.1)
    assert verdict.per_byte
    assert verdict.text.startswith("long is ")
    assert verdict.text.endswith(" per byte")


def test_a_loop_without_data_has_no_bound(tiny: Machine) -> None:
    body = (For(3, (Arrive("bar"), Wait("bar"))),)
    work = make_work("sync", roles=(Role("a", body),), barriers=(Barrier("bar", 1),))
    result = simulate(tiny, work)
    assert result.bounds is None
    assert result.delivered_bytes == 0
    assert result.cycles > 0


def test_arguments_of_another_type_are_named_with_what_makes_the_right_one() -> None:
    machine, work = load_machine("tiny"), build_case(Case("unicast", iterations=1))
    with pytest.raises(InputError, match="load_machine"):
        simulate("tiny", work)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="build_case"):
        simulate(machine, Case("unicast"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="extras"):
        simulate(machine, work, extras=print)  # type: ignore[arg-type]


def test_time_and_rates_of_a_run_in_waves_are_of_the_whole(tiny: Machine) -> None:
    case = Case("unicast_distinct", iterations=4, grid=8)
    one, four = (simulate(tiny, build_case(replace(case, grid=grid))) for grid in (8, 32))
    assert (one.waves, one.run_cycles) == (1, one.cycles)
    assert (four.waves, four.run_cycles) == (4, four.window_cycles)
    assert four.run_cycles > 3 * four.cycles
    assert four.seconds == tiny.seconds(four.window_cycles)
    assert four.rates.chip == four.delivered_bytes / four.window_cycles
    assert sum(figures.rate for figures in four.per_sm) == pytest.approx(four.rates.chip, rel=0.1)
    assert one.rates.chip == one.delivered_bytes / one.cycles


def test_a_run_in_waves_is_compared_by_the_whole_of_both(tiny: Machine) -> None:
    case = Case("unicast_distinct", iterations=4)
    one, four = (simulate(tiny, build_case(replace(case, grid=grid))) for grid in (8, 32))
    verdict = compare(one, four, ("one", "four"))
    assert (verdict.first_cycles, verdict.second_cycles) == (one.window_cycles, four.window_cycles)
    assert verdict.speedup == pytest.approx(four.window_cycles / one.window_cycles / 4)
    assert compare(_measured(one, 1.0), _measured(four, 9.0), ("one", "four")).silicon_speedup is None


def test_a_file_of_before_waves_were_told_is_read(tiny: Machine) -> None:
    result = simulate(tiny, build_case(Case("unicast", iterations=2)))
    old = {name: value for name, value in msgspec.to_builtins(result).items() if name != "waves"}
    assert msgspec.convert(old, Result).run_cycles == result.cycles
