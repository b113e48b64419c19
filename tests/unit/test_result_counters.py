"""Counters: names that Nsight Compute knows, totals, conservation."""

from __future__ import annotations

import numpy as np
import pytest

from hoppersim.engine.output import COUNTER_NAMES
from hoppersim.errors import InternalError
from hoppersim.result.conservation import check_bound, check_conservation, check_loads
from hoppersim.result.counters import NCU_NAMES, known_ncu_names, totals, unit_of
from hoppersim.result.schema import Bounds

Counters = dict[str, np.ndarray]


@pytest.fixture
def balanced() -> Counters:
    """Give counters of 4 lines read by two SMs each, by multicast."""
    counters = {name: np.zeros(2, dtype=np.int64) for name in COUNTER_NAMES}
    counters |= {
        "tma.lines": np.array([4, 0]),
        "tma.multicast_lines": np.array([4, 0]),
        "lrc.requests": np.array([4]),
        "lrc.sectors_out": np.array([16]),
        "l2.sectors": np.array([10, 6]),
        "l2.hits": np.array([10, 0]),
        "l2.misses": np.array([0, 6]),
        "gpc.bytes_in": np.array([512]),
        "gpc.sectors_delivered": np.array([32]),
        "sm.bytes_in_multicast": np.array([512, 512]),
        "sm.bytes_loaded": np.array([512, 512]),
    }
    return counters


@pytest.mark.parametrize("block_counter", sorted(NCU_NAMES))
def test_every_mapped_name_is_one_that_nsight_compute_offers(block_counter: str) -> None:
    assert NCU_NAMES[block_counter] in known_ncu_names()


def test_every_mapped_counter_is_one_that_the_engine_hands_over() -> None:
    assert set(NCU_NAMES) <= set(COUNTER_NAMES)


def test_totals_leave_busy_times_out_and_rename(balanced: Counters) -> None:
    named = totals(balanced)
    assert named["lts__t_sectors_srcunit_tex_op_read.sum"] == 16
    assert named["tma.lines"] == 4
    assert not any(name.startswith("busy.") for name in named)


def test_units_follow_the_public_name() -> None:
    assert unit_of("lts__t_sectors_srcunit_tex_op_read.sum") == "sector"
    assert unit_of("dram__bytes_read.sum") == "B"
    assert unit_of("tma.lines") == "line"


def test_balanced_counters_are_accepted(balanced: Counters) -> None:
    check_conservation(balanced)


@pytest.mark.parametrize(
    "name",
    [
        "tma.lines",
        "lrc.sectors_out",
        "l2.hits",
        "gpc.bytes_in",
        "l2.sectors",
        "sm.bytes_out_dsmem",
        "sm.bytes_in_remote",
    ],
)
def test_one_lost_item_is_an_internal_error(balanced: Counters, name: str) -> None:
    balanced[name] = balanced[name] + np.eye(1, len(balanced[name]), dtype=np.int64)[0]
    with pytest.raises(InternalError, match="not conserved"):
        check_conservation(balanced)


def test_bytes_from_nowhere_are_an_internal_error(balanced: Counters) -> None:
    balanced["sm.bytes_in_self"] = np.array([1, 0])
    with pytest.raises(InternalError, match="1024, received by SMs 1025"):
        check_conservation(balanced)


def test_a_missing_counter_is_an_internal_error(balanced: Counters) -> None:
    del balanced["l2.sectors"]
    with pytest.raises(InternalError, match=r"no counter 'l2\.sectors'"):
        check_conservation(balanced)


def test_other_bytes_than_the_program_loads_are_an_internal_error(balanced: Counters) -> None:
    check_loads(balanced, 1024)
    with pytest.raises(InternalError, match="program loads 1023, delivered 1024"):
        check_loads(balanced, 1023)


def test_a_run_that_beats_its_bound_is_an_internal_error() -> None:
    bounds = Bounds(merged_cycles=1000, merged_link="gpc0.in", unmerged_cycles=2000, unmerged_link="gpc0.in")
    check_bound(1000, bounds)
    with pytest.raises(InternalError, match=r"gpc0\.in"):
        check_bound(990, bounds)
