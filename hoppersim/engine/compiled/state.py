"""The arrays of the compiled fabric.

A *packet* is a line on its way; it sits in at most one place of the calendar. A *record* is a box, copy or
store that its engine still expands or whose lines are still under way. Both are rows of integer arrays, with
unused rows chained in a free list. The calendar has one bucket a tick, used again every `WHEEL` ticks; a bucket
is a list sorted by (time, upstream port), first come first served within a port.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoppersim.blocks import l2
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.tables import Ints, Tables
from hoppersim.machine import Machine
from hoppersim.units import LINE_BYTES


class State(NamedTuple):
    """All mutable arrays of a run."""

    scalars: Ints
    wheel: Ints
    packets: Ints
    records: Ints
    destinations: Ints
    queue_head: Ints
    queue_tail: Ints
    queue_ready: Ints
    free_at: Ints
    busy: Ints
    tags: Ints
    lrc_chain: Ints
    lrc_open: Ints
    miss_chain: Ints
    count: Ints
    log: Ints


def make_state(machine: Machine, tables: Tables, packets: int = 4096, records: int = 1024) -> State:
    """Make the state of an idle fabric with a cold L2."""
    units = max(tables.sms, tables.slices, tables.channels)
    l2_spec = machine.spec.l2
    state = State(
        scalars=np.zeros(8, dtype=np.int64),
        wheel=np.full(c.WHEEL, -1, dtype=np.int64),
        packets=np.zeros((0, c.PACKET_COLUMNS), dtype=np.int64),
        records=np.zeros((0, c.RECORD_COLUMNS), dtype=np.int64),
        destinations=np.zeros((0, c.MAX_DESTINATIONS, 4), dtype=np.int64),
        queue_head=np.full(2 * tables.sms, -1, dtype=np.int64),
        queue_tail=np.full(2 * tables.sms, -1, dtype=np.int64),
        queue_ready=np.zeros(2 * tables.sms, dtype=np.int64),
        free_at=np.zeros(tables.servers, dtype=np.int64),
        busy=np.zeros(tables.servers, dtype=np.int64),
        tags=l2.empty_tags(tables.slices, l2_spec.bytes, l2_spec.ways, LINE_BYTES),
        lrc_chain=np.full(c.CHAINS, -1, dtype=np.int64),
        lrc_open=np.zeros(tables.gpcs, dtype=np.int64),
        miss_chain=np.full(c.CHAINS, -1, dtype=np.int64),
        count=np.zeros((c.COUNTERS, units), dtype=np.int64),
        log=np.zeros((1 << 14, 3), dtype=np.int64),
    )
    state.scalars[[c.FREE_PACKET, c.FREE_RECORD]] = -1
    return grow(state, packets, records)


def _extend(array: Ints, free_head: int, extra: int, column: int) -> tuple[Ints, int]:
    """Add rows and chain them, lowest row first, in front of the free list."""
    old = len(array)
    shape = (extra, *array.shape[1:])
    grown = np.concatenate((array, np.zeros(shape, dtype=np.int64)))
    if array.ndim == 2:
        grown[old:, column] = np.append(np.arange(old + 1, old + extra), free_head)
    return grown, old


def grow(state: State, packets: int = 0, records: int = 0) -> State:
    """Return the state with more packet and record rows; all other arrays are shared."""
    scalars = state.scalars
    if packets:
        rows, head = _extend(state.packets, int(scalars[c.FREE_PACKET]), packets, c.NEXT)
        scalars[c.FREE_PACKET] = head
        scalars[c.PACKETS_LEFT] += packets
        state = state._replace(packets=rows)
    if records:
        rows, head = _extend(state.records, int(scalars[c.FREE_RECORD]), records, c.R_NEXT)
        scalars[c.FREE_RECORD] = head
        scalars[c.RECORDS_LEFT] += records
        reach, _ = _extend(state.destinations, 0, records, 0)
        state = state._replace(records=rows, destinations=reach)
    return state


Counts = NDArray[np.int64]
