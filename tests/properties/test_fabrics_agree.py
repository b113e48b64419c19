"""The compiled and the reference fabric give identical results on random machines and traffic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hoppersim.engine.interface import (
    COPY,
    LOAD,
    MULTICAST,
    REMOTE,
    STORE,
    Destination,
    LogEntry,
    Passage,
    Transfer,
)
from hoppersim.engine.simulate import make_fabric
from hoppersim.machine import Machine, floorplan_from_groups, load_machine

ALLOCATION = 1 << 21
GPCS = ((0, 1, 4, 5), (2, 3, 6, 7))

machines = st.fixed_dictionaries(
    {
        "tma.line_interval": st.sampled_from([0.5, 1.25, 3.0]),
        "tma.box_interval": st.sampled_from([0.0, 2.0]),
        "lrc.enabled": st.sampled_from([0, 1]),
        "lrc.entries": st.sampled_from([1, 4, 64]),
        "lrc.answers": st.sampled_from([0, 3, 64]),
        "lrc.held": st.sampled_from([1, 3, 64]),
        "lrc.linger": st.sampled_from([0, 60, 5000]),
        "lrc.max_merged": st.sampled_from([1, 2, 16]),
        "lrc.fan_out_latency": st.sampled_from([0.0, 40.0]),
        "xbar.gpc_bytes_per_cycle": st.sampled_from([40.0, 333.3, 648.0]),
        "xbar.sm_bytes_per_cycle": st.sampled_from([17.0, 105.0]),
        "xbar.port_lines": st.sampled_from([1, 3, 32]),
        "xbar.branch_behind_port": st.sampled_from([0, 1]),
        "l2.partitions": st.sampled_from([1, 2]),
        "l2.banks": st.sampled_from([1, 3, 4]),
        "l2.bytes": st.sampled_from([16384, 1048576]),
        "l2.latency": st.sampled_from([32.0, 142.0]),
        "l2.access_latency": st.sampled_from([1.0, 30.0]),
        "l2.fabric_latency": st.sampled_from([1.0, 77.7]),
        "hbm.channels": st.sampled_from([1, 2]),
        "hbm.latency": st.sampled_from([3.0, 450.0]),
    }
)


def _machine(values: dict[str, float]) -> Machine:
    sides = [0, 1] if values["l2.partitions"] == 2 else [0, 0]
    plan = floorplan_from_groups(GPCS, sides, "assumed: the small machine, on one or two sides")
    return load_machine("tiny", tuple(f"{path}={value}" for path, value in values.items()), plan)


@st.composite
def traffic(draw: st.DrawFn) -> list[Transfer]:
    """Boxes, multicasts, copies, remote accesses and stores from a few SMs, many of them at the same tick."""
    transfers = []
    tick = 0
    for number in range(draw(st.integers(1, 14))):
        tick += draw(st.sampled_from([0, 0, 1, 300, 9000]))
        gpc = GPCS[draw(st.integers(0, 1))]
        sm = gpc[draw(st.integers(0, 3))]
        kind = draw(st.sampled_from([LOAD, LOAD, MULTICAST, MULTICAST, COPY, REMOTE, STORE]))
        ranks = draw(st.sets(st.integers(0, 3), min_size=1, max_size=4 if kind == MULTICAST else 1))
        targets = [sm] if kind in (LOAD, STORE) else [gpc[rank] for rank in sorted(ranks)]
        reach = tuple(Destination(target, 100 * number + target) for target in targets)
        row = draw(st.sampled_from([16, 128, 208, 256]))
        counts = (draw(st.integers(1, 5)), draw(st.integers(1, 2)), 1, 1)
        address = ALLOCATION + 16 * draw(st.sampled_from([0, 1, 8, 256, 4096]))
        size = row * counts[0] * counts[1]
        strides, tile = (256, 8192, 0, 0), -1 if kind == STORE else number
        paired = kind in (LOAD, MULTICAST) and draw(st.booleans())
        transfers.append(
            Transfer(tick, kind, sm, number, reach, address, row, counts, strides, size + 32, tile, paired)
        )
    return transfers


def _run(
    machine: Machine, fabric: str, transfers: list[Transfer], granular: bool
) -> tuple[list[LogEntry], list[Passage], dict[str, Any]]:
    kinds = frozenset(transfer.kind for transfer in transfers)
    carrier = make_fabric(machine, fabric, granular, kinds=kinds)
    carrier.warm(ALLOCATION // 128, ALLOCATION // 128 + 16)
    log: list[LogEntry] = []
    for tick in sorted({transfer.tick for transfer in transfers}):
        while carrier.frontier < tick:
            log += carrier.advance(tick)
            if carrier.idle:
                break
        carrier.inject([transfer for transfer in transfers if transfer.tick == tick])
    while not carrier.idle:
        log += carrier.advance(carrier.frontier + 100_000)
    return sorted(log), sorted(carrier.passages()), carrier.counters()


def _load(number: int, address: int, row: int, rows: int) -> Transfer:
    reach = (Destination(0, number),)
    return Transfer(
        0, LOAD, 0, number, reach, address, row, (rows, 2, 1, 1), (256, 8192, 0, 0), 2 * row * rows
    )


AT_ONCE = {
    "l2.partitions": 1,
    "hbm.channels": 2,
    "hbm.latency": 3.0,
    "lrc.enabled": 0,
    "tma.line_interval": 0.5,
    "tma.box_interval": 0.0,
    "xbar.gpc_bytes_per_cycle": 40.0,
    "xbar.sm_bytes_per_cycle": 17.0,
    "xbar.port_lines": 1,
    "l2.latency": 32.0,
    "l2.access_latency": 1.0,
}
"""A line from DRAM leaves its slice in the very tick in which it comes, between others of that tick."""


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(machines, traffic(), st.booleans())
@example(AT_ONCE, [_load(0, ALLOCATION, 16, 1), _load(1, ALLOCATION + 65536, 208, 4)], True)
def test_both_fabrics_log_the_same_bytes_at_the_same_ticks(
    values: dict[str, float], transfers: list[Transfer], granular: bool
) -> None:
    machine = _machine(values)
    compiled, passages, counters = _run(machine, "compiled", transfers, granular)
    reference, same, expected = _run(machine, "reference", transfers, granular)
    assert compiled == reference
    assert passages == same
    for name, value in expected.items():
        np.testing.assert_array_equal(counters[name], value, err_msg=name)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(machines, traffic())
def test_loads_alone_go_the_same_in_both_fabrics(values: dict[str, float], transfers: list[Transfer]) -> None:
    loads = [transfer for transfer in transfers if transfer.kind in (LOAD, MULTICAST)]
    machine = _machine(values)
    compiled, passages, counters = _run(machine, "compiled", loads, granular=False)
    reference, same, expected = _run(machine, "reference", loads, granular=False)
    assert (compiled, passages) == (reference, same)
    for name, value in expected.items():
        np.testing.assert_array_equal(counters[name], value, err_msg=name)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(machines, traffic(), st.booleans())
def test_every_destination_gets_exactly_its_bytes(
    values: dict[str, float], transfers: list[Transfer], granular: bool
) -> None:
    log, _, counters = _run(_machine(values), "compiled", transfers, granular)
    received: dict[int, int] = {}
    for entry in log:
        received[entry.barrier] = received.get(entry.barrier, 0) + entry.bytes
    owed = {
        destination.barrier: transfer.bytes for transfer in transfers for destination in transfer.destinations
    }
    assert received == owed
    assert counters["lrc.sectors_out"].sum() >= counters["l2.sectors"].sum()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(machines, traffic())
def test_the_stages_of_a_passage_add_up_to_its_time(
    values: dict[str, float], transfers: list[Transfer]
) -> None:
    machine = _machine(values)
    log, passages, _ = _run(machine, "compiled", transfers, False)
    launch = make_fabric(machine, "compiled").tables
    landed = {entry.barrier: entry.tick for entry in log}
    asked = [transfer for transfer in transfers if transfer.tile >= 0]
    assert len(passages) == sum(len(transfer.destinations) for transfer in asked)
    for passage in passages:
        transfer = transfers[passage.tile]
        load = transfer.kind in (LOAD, MULTICAST)
        start = transfer.tick + (launch.launch if load else launch.copy_launch)
        assert passage.landed == landed[transfer.destinations[passage.destination].barrier]
        assert sum(passage.ticks) == passage.landed - start
        assert min(passage.ticks) >= 0


@pytest.mark.parametrize("fabric", ["compiled", "reference"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(machines, traffic())
@example(
    {"l2.partitions": 2, "l2.latency": 31.0},
    [Transfer(0, STORE, 0, 0, (Destination(0, 1),), ALLOCATION, 128, bytes=128)],
)
def test_nothing_is_logged_before_the_first_news_that_a_fabric_promises(
    fabric: str, values: dict[str, float], transfers: list[Transfer]
) -> None:
    carrier = make_fabric(_machine(values), fabric)
    carrier.inject([transfer._replace(tick=0) for transfer in transfers])
    while not carrier.idle:
        known = carrier.frontier
        log = carrier.advance(known + 500)
        assert all(entry.tick >= known + carrier.latest_unknown for entry in log)
