"""What reaches the L2 and DRAM is known exactly: a multicast of C saves all reads but one in C."""

from __future__ import annotations

from functools import cache

import pytest

from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.cases import Case, Mode, build_case
from hoppersim.result.api import simulate
from hoppersim.result.schema import Result

L2_READS = "lts__t_sectors_srcunit_tex_op_read.sum"
DRAM_READS = "dram__bytes_read.sum"
PLACES = [("h200_sxm", cluster) for cluster in (2, 4, 8, 16)] + [("tiny", 2), ("tiny", 4)]


@cache
def _machine(name: str) -> Machine:
    return load_machine(name, ("lrc.enabled=0",))


@cache
def _sweep(machine: str, mode: Mode, cluster: int) -> Result:
    """Sweep tiles from a cold L2, each read once, without the coalescer."""
    case = Case(mode, cluster, rows=32, iterations=4, pattern="sweep", memory="hbm")
    return simulate(_machine(machine), build_case(case))


@pytest.mark.parametrize(("machine", "cluster"), PLACES)
def test_multicast_reads_one_in_c_of_the_sectors_of_unicast_and_the_same_dram_bytes(
    machine: str, cluster: int
) -> None:
    once, shared = _sweep(machine, "multicast", cluster), _sweep(machine, "unicast", cluster)
    assert cluster * once.counters[L2_READS] == shared.counters[L2_READS] > 0
    assert once.counters[DRAM_READS] == shared.counters[DRAM_READS] > 0
    assert once.delivered_bytes == shared.delivered_bytes


@pytest.mark.parametrize(("machine", "cluster"), PLACES)
def test_multicast_reads_one_in_c_of_the_sectors_and_dram_bytes_of_distinct_tiles(
    machine: str, cluster: int
) -> None:
    once, distinct = _sweep(machine, "multicast", cluster), _sweep(machine, "unicast_distinct", cluster)
    assert cluster * once.counters[L2_READS] == distinct.counters[L2_READS]
    assert cluster * once.counters[DRAM_READS] == distinct.counters[DRAM_READS]
    assert once.delivered_bytes == distinct.delivered_bytes


@pytest.mark.parametrize(("machine", "cluster"), PLACES)
def test_a_multicast_in_slices_reads_what_one_by_a_leader_reads(machine: str, cluster: int) -> None:
    slices, leader = _sweep(machine, "multicast_slices", cluster), _sweep(machine, "multicast", cluster)
    assert slices.counters[L2_READS] == leader.counters[L2_READS]
    assert slices.counters[DRAM_READS] == leader.counters[DRAM_READS]
    assert slices.delivered_bytes == leader.delivered_bytes
