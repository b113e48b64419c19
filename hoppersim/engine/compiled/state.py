"""The arrays of the compiled fabric.

A *packet* is a line on its way; it sits in at most one place of the calendar. A *record* is a box, copy or
store that its engine still expands or whose lines are still under way. Unused ones of both are chained in a
free list. The calendar has buckets of a few ticks, used again after `BUCKETS` of them; a bucket is a list,
last come first. Only the bucket of the present is sorted, by (time, upstream port), first come first served
within a port.

Speed is that of the processor's caches, since nearly every access is at random: so what is large is 32 bits
wide, and a packet is one cache line.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoppersim.blocks import l2
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.tables import Ints, Tables
from hoppersim.machine import Machine
from hoppersim.units import LINE_BYTES

CACHE_LINE = 64

Indices = NDArray[np.int32]


class State(NamedTuple):
    """All mutable arrays of a run."""

    scalars: Ints
    wheel: Indices
    packets: NDArray[Any]
    passages: Ints
    records: Ints
    destinations: Ints
    queue_head: Ints
    queue_tail: Ints
    queue_ready: Ints
    free_at: Ints
    busy: Ints
    places: Indices
    present: NDArray[np.uint8]
    slice_head: Indices
    slice_tail: Indices
    slice_in: Ints
    slice_out: Ints
    bank_at: Ints
    read_at: Ints
    cpc_head: Indices
    touched: Indices
    store_count: Indices
    store_head: Indices
    store_tail: Indices
    lane_head: Indices
    lane_tail: Indices
    lane_next: Indices
    wait_head: Indices
    wait_tail: Indices
    lrc_chain: Indices
    lrc_oldest: Indices
    lrc_newest: Indices
    entries: NDArray[Any]
    miss_chain: Indices
    count: Ints  # type: ignore[assignment]  # hides a method of tuples
    log: Ints


def make_state(
    machine: Machine, tables: Tables, memory_lines: int, packets: int = 4096, records: int = 1024
) -> State:
    """Make the state of an idle fabric with a cold L2, for addresses below `memory_lines` lines."""
    units = max(tables.sms, tables.slices, tables.channels)
    state = State(
        scalars=np.zeros(c.SCALARS, dtype=np.int64),
        wheel=_none(c.BUCKETS),
        packets=np.zeros(0, dtype=c.PACKET),
        passages=np.zeros((0, c.PASSAGE_COLUMNS), dtype=np.int64),
        records=np.zeros((0, c.RECORD_COLUMNS), dtype=np.int64),
        destinations=np.zeros((0, c.MAX_DESTINATIONS, 4), dtype=np.int64),
        queue_head=np.full(2 * tables.sms, -1, dtype=np.int64),
        queue_tail=np.full(2 * tables.sms, -1, dtype=np.int64),
        queue_ready=np.zeros(2 * tables.sms, dtype=np.int64),
        free_at=np.zeros(tables.servers, dtype=np.int64),
        busy=np.zeros(tables.servers, dtype=np.int64),
        places=l2.empty_places(tables.slices, machine.spec.l2.bytes, LINE_BYTES),
        present=l2.nothing_present(tables.partitions, memory_lines),
        slice_head=_none(tables.slices),
        slice_tail=_none(tables.slices),
        slice_in=np.zeros(tables.slices, dtype=np.int64),
        slice_out=np.zeros(tables.slices, dtype=np.int64),
        bank_at=np.zeros(tables.slices * tables.banks, dtype=np.int64),
        read_at=np.zeros(tables.slices, dtype=np.int64),
        cpc_head=_none(tables.cpcs),
        touched=np.zeros(tables.cpcs, dtype=np.int32),
        store_count=np.zeros(tables.slices, dtype=np.int32),
        store_head=_none(tables.slices),
        store_tail=_none(tables.slices),
        lane_head=_none(tables.cpcs * tables.cpc_lanes),
        lane_tail=_none(tables.cpcs * tables.cpc_lanes),
        lane_next=_none(tables.cpcs * tables.cpc_lanes),
        wait_head=_none(tables.sms),
        wait_tail=_none(tables.sms),
        lrc_chain=_none(c.CHAINS),
        lrc_oldest=np.zeros(tables.slices * tables.gpcs, dtype=np.int32),
        lrc_newest=np.zeros(tables.slices, dtype=np.int32),
        entries=np.zeros(tables.slices * tables.gpcs * tables.lrc_held, dtype=c.ENTRY),
        miss_chain=_none(c.CHAINS),
        count=np.zeros((c.COUNTERS + 1, units), dtype=np.int64),
        log=np.zeros((1 << 14, c.LOG_COLUMNS), dtype=np.int64),
    )
    state.scalars[[c.FREE_PACKET, c.FREE_RECORD, c.DUE]] = -1
    return grow(state, packets, records)


def _none(count: int) -> Indices:
    """Indices of nothing: the heads of empty lists."""
    return np.full(count, -1, dtype=np.int32)


def _extend(array: NDArray[Any], extra: int) -> NDArray[Any]:
    """Copy an array to an address that is a multiple of a cache line, and add rows of zeros."""
    shape = (len(array) + extra, *array.shape[1:])
    size = array.dtype.itemsize * prod(shape)
    room = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    longer: NDArray[Any] = room[start : start + size].view(array.dtype).reshape(shape)
    longer[: len(array)] = array
    return longer


def _extend_passages(state: State, extra: int) -> Ints:
    """Add rows to the passages; only those in use are touched, so that the others take no memory."""
    passages = np.zeros((len(state.passages) + extra, c.PASSAGE_COLUMNS), dtype=np.int64)
    used = np.flatnonzero(state.packets["tile"] >= 0)
    passages[used] = state.passages[used]
    return passages


def _chain(links: NDArray[Any], old: int, free_head: int) -> None:
    """Chain the rows from `old` on, lowest first, in front of the free list."""
    links[old:] = np.arange(old + 1, len(links) + 1)
    links[-1] = free_head


def grow(state: State, packets: int = 0, records: int = 0) -> State:
    """Return the state with more packet and record rows; all other arrays are shared."""
    scalars = state.scalars
    if packets:
        old = len(state.packets)
        passages = _extend_passages(state, packets)
        state = state._replace(packets=_extend(state.packets, packets), passages=passages)
        _chain(state.packets["next"], old, scalars[c.FREE_PACKET])
        scalars[c.FREE_PACKET] = old
        scalars[c.PACKETS_LEFT] += packets
    if records:
        old = len(state.records)
        state = state._replace(
            records=_extend(state.records, records), destinations=_extend(state.destinations, records)
        )
        _chain(state.records[:, c.R_NEXT], old, scalars[c.FREE_RECORD])
        scalars[c.FREE_RECORD] = old
        scalars[c.RECORDS_LEFT] += records
    return state
