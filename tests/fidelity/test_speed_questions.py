"""The questions about speed that practitioners ask, each with the answer that a model must give."""

from __future__ import annotations

import pytest

from hoppersim import Case, build_case, load_machine, simulate
from hoppersim.program.work import SmSet
from hoppersim.result.schema import Result

SECTORS = "lts__t_sectors_srcunit_tex_op_read.sum"
DRAM = "dram__bytes_read.sum"
ONE_GPC = SmSet(gpcs=(1,))


def _run(case: Case, *overrides: str) -> Result:
    return simulate(load_machine("h200_sxm", overrides), build_case(case))


def _shared_tile(mode: str, lrc: int) -> Result:
    case = Case(mode, 8, rows=64, iterations=16, pattern="sweep", sms=ONE_GPC)  # type: ignore[arg-type]
    return _run(case, f"lrc.enabled={lrc}")


def test_eight_unicasts_read_eight_times_what_one_multicast_or_eight_slices_read() -> None:
    alone = _shared_tile("unicast", 0).counters[SECTORS]
    for mode in ("multicast", "multicast_slices"):
        assert _shared_tile(mode, 0).counters[SECTORS] * 8 == alone


def test_the_coalescer_saves_unicast_sectors_and_leaves_multicast_as_it_is() -> None:
    merged = _shared_tile("unicast", 1).counters[SECTORS]
    alone = _shared_tile("unicast", 0).counters[SECTORS]
    assert alone / 4 <= merged < alone / 2, "at most four readers share a look-up"
    assert _shared_tile("multicast", 1).cycles == _shared_tile("multicast", 0).cycles


def test_multicast_does_not_help_a_pipeline_that_computes_longer_than_it_loads() -> None:
    times = {}
    for mode in ("unicast", "multicast"):
        result = _run(Case(mode, 2, rows=64, compute=1200, iterations=16, pattern="sweep"))  # type: ignore[arg-type]
        times[mode] = result.cycles
        assert (result.limiter.name, result.limiter.role) == ("compute", "consumer")
    assert times["multicast"] >= times["unicast"] * 0.98


@pytest.mark.parametrize("rows", [32, 128, 256])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_one_sm_gets_bytes_in_flight_over_latency_up_to_its_peak(rows: int, stages: int) -> None:
    case = Case("unicast", rows=rows, stages=stages, iterations=64, grid=1, pattern="sweep")
    round_trip = (
        _run(Case("unicast", rows=rows, stages=1, iterations=64, grid=1, pattern="sweep")).cycles / 64
    )
    peak = load_machine("h200_sxm").spec.xbar.sm_bytes_per_cycle
    expected = min(stages * case.tile_bytes / round_trip, peak)
    assert _run(case).rates.used_sm == pytest.approx(expected, rel=0.12)


def test_a_working_set_that_fits_reads_no_dram_and_one_of_twice_the_l2_reads_mostly_dram() -> None:
    small, large = (
        _run(Case("unicast_distinct", rows=256, iterations=32, pattern="sweep", footprint=size * 2**20))
        for size in (16, 128)
    )
    delivered = small.delivered_bytes
    assert small.counters[DRAM] == 0
    assert large.counters[DRAM] > 0.5 * delivered
    assert large.cycles > 1.3 * small.cycles
