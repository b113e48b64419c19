"""The table that both fabrics run: servers, service times, latencies and sizes, in ticks.

A server's time is kept in `SUBTICKS` parts of a tick, so that a service of 50.57 ticks keeps its rate
exactly; what leaves a server does so at the next whole tick.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoppersim.engine.interface import BETWEEN_SMS, KINDS, LOAD, MULTICAST, STORE
from hoppersim.machine import Machine
from hoppersim.units import SECTOR_BYTES, SECTORS_PER_LINE, TICKS_PER_CYCLE, to_ticks

SUBTICK_BITS = 8
SUBTICKS = 1 << SUBTICK_BITS
NARROW_RECEIVERS = 12
"""SMs that take in a multicast at their full rate; of 14 and 16 they were measured slower (hypotheses.md)."""
REQUESTS_TOGETHER = 32
"""Lines of a box that set out in one step of the fabric, where their times are known."""

Ints = NDArray[np.int64]
ShortInts = NDArray[np.int32]
"""For what is large and read at random."""


class Tables(NamedTuple):
    """Sizes, first server of each kind, latencies in ticks, services in subticks by sector count."""

    sms: int
    gpcs: int
    slices: int
    partitions: int
    slices_per_partition: int
    channels: int
    cpcs: int
    gpc_of: Ints
    bit_of: Ints  # of an SM among those of its GPC
    cpc_of: Ints
    tpc_of: Ints
    partition_of_gpc: Ints
    # first server of each kind in the arrays of servers
    slice_server: int
    fabric_server: int
    hbm_server: int
    gpc_server: int
    sm_server: int
    copy_server: int
    peer_server: int
    look_up_server: int
    write_server: int
    store_server: int
    servers: int
    # latencies, ticks
    launch: int
    line_interval: int
    box_interval: int
    to_slice: ShortInts
    from_slice: ShortInts
    fabric_latency: int
    to_hbm: int
    from_hbm: Ints
    to_sm: int
    completion: int
    pair: Ints
    copy_launch: int
    copy_interval: int
    store_launch: int
    # services, subticks, indexed by sectors
    slice_service: Ints
    bank_service: Ints
    fabric_service: Ints
    hbm_service: Ints
    gpc_service: Ints
    sm_service: Ints
    wide_service: Ints  # of responses to more than `NARROW_RECEIVERS`
    copy_service: Ints
    store_service: Ints
    peer_service: Ints  # by whether the line leaves its TPC, and sectors
    write_service: Ints
    cpc_store_service: Ints
    look_up_service: int
    acknowledge: int
    request_service: int
    # coalescer
    lrc_enabled: int
    lrc_entries: int
    lrc_answers: int
    lrc_held: int
    lrc_max_merged: int
    lrc_linger: int
    granular: int
    port_lines: int
    branch_behind_port: int
    cpc_lanes: int
    ingress_lines: int
    store_lines: int
    banks: int
    access: int
    fan_out: int
    requests_together: int


def _service(bytes_per_cycle: float) -> Ints:
    per_sector = SECTOR_BYTES / bytes_per_cycle * TICKS_PER_CYCLE * SUBTICKS
    return np.array(
        [max(1, round(per_sector * count)) for count in range(SECTORS_PER_LINE + 1)], dtype=np.int64
    )


def _subticks(cycles: float) -> int:
    return max(1, round(cycles * TICKS_PER_CYCLE * SUBTICKS))


def _bits(gpc_of: Ints) -> Ints:
    """Give each SM a bit of its own among the SMs of its GPC."""
    places = [int(np.sum(gpc_of[:sm] == gpc_of[sm])) for sm in range(len(gpc_of))]
    return np.left_shift(1, np.array(places, dtype=np.int64))


def _latency_tables(machine: Machine) -> tuple[ShortInts, ShortInts]:
    spec = machine.spec.l2
    total = (spec.latency - spec.access_latency + machine.l2_latency) * TICKS_PER_CYCLE
    there = np.maximum(1, np.rint(total / 2)).astype(np.int32)
    back = np.maximum(1, np.rint(total).astype(np.int32) - there)
    return there, back


def _from_hbm(machine: Machine, to_hbm: int) -> Ints:
    """What a line takes from DRAM to its slice, for each draw of its page."""
    total = np.rint((machine.spec.hbm.latency + machine.hbm_latency.ravel()) * TICKS_PER_CYCLE).astype(
        np.int64
    )
    return np.maximum(1, total - to_hbm)


def _services(machine: Machine) -> dict[str, Any]:
    spec = machine.spec
    hbm_rate = (
        spec.hbm.bytes_per_second * spec.hbm.efficiency / (spec.clocks.sm_ghz * 1e9) / spec.hbm.channels
    )
    wide_rate = spec.xbar.sm_bytes_per_cycle
    if spec.xbar.wide_slowed:
        wide_rate = min(wide_rate, spec.xbar.wide_bytes_per_cycle)
    return {
        "slice_service": _service(machine.slice_bytes_per_cycle),
        "bank_service": _service(machine.slice_bytes_per_cycle / spec.l2.banks),
        "look_up_service": _subticks(spec.l2.look_up_interval / spec.clocks.l2_ratio),
        "write_service": _service(spec.l2.write_bytes_per_l2_cycle * spec.clocks.l2_ratio),
        "fabric_service": _service(spec.l2.fabric_bytes_per_cycle),
        "hbm_service": _service(hbm_rate),
        "gpc_service": _service(spec.xbar.gpc_bytes_per_cycle),
        "sm_service": _service(spec.xbar.sm_bytes_per_cycle),
        "wide_service": _service(wide_rate),
        "copy_service": _service(spec.fabric.sm_bytes_per_cycle),
        "store_service": _service(spec.xbar.store_bytes_per_cycle),
        "cpc_store_service": _service(spec.xbar.cpc_store_bytes_per_cycle),
        "peer_service": np.stack(
            [_service(spec.fabric.cpc_bytes_per_cycle / weight) for weight in (1.0, spec.fabric.tpc_crossing)]
        ),
        "request_service": _subticks(spec.xbar.request_interval),
        "acknowledge": _subticks(spec.fabric.acknowledge_interval),
    }


def launch_ticks(tables: Tables, kind: int) -> int:
    """Ticks from the end of the issuing instruction to the first line of a transfer."""
    if kind == STORE:
        return tables.store_launch
    return tables.copy_launch if kind in BETWEEN_SMS else tables.launch


def first_event(tables: Tables, kinds: frozenset[int]) -> int:
    """Ticks from an injection of these kinds to the first thing that happens inside the fabric."""
    return min([launch_ticks(tables, kind) for kind in kinds], default=tables.launch)


def first_news(tables: Tables) -> int:
    """Ticks from an event of the fabric to the earliest log entry that it may cause.

    A line that reaches an SM is logged after the completion latency, a stored one so long after it has left.
    """
    return tables.completion


def make_tables(machine: Machine, granular: bool = False, kinds: frozenset[int] = KINDS) -> Tables:
    """Turn a machine into the fabrics' table.

    Parameters
    ----------
    machine
        The machine.
    granular
        Report the bytes of every line to the barrier, not only of a destination's last one. The two differ
        only where a barrier expects other byte counts than arrive.
    kinds
        Kinds of transfers that may come. Where copies and stores cannot share an SM's way out with requests,
        a fabric knows when the next lines of a box set out.
    """
    spec = machine.spec
    gpc_of = np.array(machine.gpc_of, dtype=np.int64)
    sms, gpcs = len(gpc_of), int(gpc_of.max()) + 1
    cpc_of = np.array(machine.cpc_of, dtype=np.int64)
    cpcs = int(cpc_of.max()) + 1
    slices = spec.l2.slices
    counts = (slices, 2, spec.hbm.channels, gpcs, sms, sms, cpcs, slices, slices, cpcs)
    first = np.concatenate(([0], np.cumsum(counts))).tolist()
    there, back = _latency_tables(machine)
    pair = np.maximum(1, np.rint((spec.fabric.latency + machine.pair_latency) * TICKS_PER_CYCLE)).astype(
        np.int64
    )
    hbm_ticks = to_ticks(spec.hbm.latency)
    return Tables(
        sms=sms, gpcs=gpcs, slices=spec.l2.slices, partitions=spec.l2.partitions,
        slices_per_partition=spec.l2.slices // spec.l2.partitions, channels=spec.hbm.channels,
        cpcs=cpcs, gpc_of=gpc_of, bit_of=_bits(gpc_of), cpc_of=cpc_of,
        tpc_of=np.array(machine.tpc_of, dtype=np.int64),
        partition_of_gpc=np.array(machine.partition_of_gpc, dtype=np.int64),
        slice_server=first[0], fabric_server=first[1], hbm_server=first[2], gpc_server=first[3],
        sm_server=first[4], copy_server=first[5], peer_server=first[6],
        look_up_server=first[7], write_server=first[8], store_server=first[9], servers=first[10],
        launch=to_ticks(spec.tma.launch_latency + spec.xbar.request_latency),
        line_interval=to_ticks(spec.tma.line_interval),
        box_interval=round(spec.tma.box_interval * TICKS_PER_CYCLE),
        to_slice=there, from_slice=back, fabric_latency=to_ticks(spec.l2.fabric_latency),
        to_hbm=max(1, hbm_ticks // 2), from_hbm=_from_hbm(machine, hbm_ticks // 2),
        to_sm=to_ticks(spec.xbar.response_latency), completion=to_ticks(spec.tma.completion_latency),
        pair=pair, copy_launch=to_ticks(spec.tma.copy_launch_latency),
        copy_interval=round(spec.tma.copy_interval * TICKS_PER_CYCLE),
        store_launch=to_ticks(spec.tma.store_launch_latency),
        lrc_enabled=spec.lrc.enabled, lrc_entries=spec.lrc.entries, lrc_answers=spec.lrc.answers,
        lrc_held=spec.lrc.held, lrc_max_merged=spec.lrc.max_merged,
        lrc_linger=spec.lrc.linger,
        granular=int(granular), port_lines=spec.xbar.port_lines,
        branch_behind_port=spec.xbar.branch_behind_port,
        cpc_lanes=spec.xbar.cpc_lanes, ingress_lines=spec.xbar.ingress_lines,
        store_lines=spec.l2.store_lines, banks=spec.l2.banks,
        access=to_ticks(spec.l2.access_latency),
        fan_out=round(spec.lrc.fan_out_latency * TICKS_PER_CYCLE),
        requests_together=REQUESTS_TOGETHER if kinds <= {LOAD, MULTICAST} else 1, **_services(machine),
    )  # fmt: skip
