"""The compiled loop: every event of every line, in order of (tick, upstream port)."""

from __future__ import annotations

from numba import njit

from hoppersim.blocks.addresses import slice_in_partition
from hoppersim.blocks.l2 import install
from hoppersim.blocks.tma import lines_of_row
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled import path
from hoppersim.engine.compiled.calendar import schedule, take_packet
from hoppersim.engine.interface import LOAD
from hoppersim.units import LINE_BYTES

PACKET_MARGIN = 64
LOG_MARGIN = 64

DONE = 0
NEED_PACKETS = 1
LOG_FULL = 2


@njit(_nrt=False, forceinline=True)
def _dispatch(t, s, p, now):
    kind = s.packets[p, c.KIND]
    if kind == c.REQUEST:
        path.request(t, s, p, now)
    elif kind == c.SLICE:
        path.at_slice(t, s, p, now)
    elif kind == c.GPC:
        path.at_gpc(t, s, p, now)
    elif kind == c.INGRESS:
        path.at_ingress(t, s, p, now)
    elif kind == c.HOME:
        path.at_home(t, s, p, now)
    elif kind == c.HBM:
        path.at_hbm(t, s, p, now)
    elif kind == c.FILL:
        path.at_fill(t, s, p, now)
    elif kind == c.RETURN:
        path.at_return(t, s, p, now)
    elif kind == c.SEND:
        path.send(t, s, p, now)
    else:
        path.at_write(t, s, p, now)


def advance(t, s, horizon, lookahead):
    """Process every event before `horizon`; stop `lookahead` after the first new log entry.

    Returns `DONE`, or why the caller must make room first: `NEED_PACKETS`, `LOG_FULL`.
    """
    now = s.scalars[c.NOW]
    while now < horizon and s.scalars[c.ACTIVE] > 0:
        bucket = now & (c.WHEEL - 1)
        p = s.wheel[bucket]
        while p >= 0 and s.packets[p, c.TIME] == now:
            if s.scalars[c.PACKETS_LEFT] < PACKET_MARGIN:
                s.scalars[c.NOW] = now
                return NEED_PACKETS
            if s.scalars[c.LOG_COUNT] > s.log.shape[0] - LOG_MARGIN:
                s.scalars[c.NOW] = now
                return LOG_FULL
            s.wheel[bucket] = s.packets[p, c.NEXT]
            s.scalars[c.ACTIVE] -= 1
            before = s.scalars[c.LOG_COUNT]
            _dispatch(t, s, p, now)
            for index in range(before, s.scalars[c.LOG_COUNT]):
                horizon = min(horizon, s.log[index, 0] + lookahead)
            p = s.wheel[bucket]
        now += 1
    if s.scalars[c.ACTIVE] == 0:
        now = max(now, horizon)
    s.scalars[c.NOW] = now
    return DONE


def inject(t, s, batch, count):
    """Take transfers, in order: a row each of the record columns, then (SM, barrier) of each destination."""
    for index in range(count):
        row = batch[index]
        r = s.scalars[c.FREE_RECORD]
        s.scalars[c.FREE_RECORD] = s.records[r, c.R_NEXT]
        s.scalars[c.RECORDS_LEFT] -= 1
        rec = s.records[r]
        for column in range(rec.shape[0]):
            rec[column] = row[column]
        rec[c.R_NEXT] = -1
        rec[c.R_LINE] = rec[c.R_ADDRESS] // LINE_BYTES
        lines = _lines_of_record(rec)
        for slot in range(rec[c.R_DESTINATIONS]):
            reach = s.destinations[r, slot]
            reach[c.D_SM] = row[rec.shape[0] + 2 * slot]
            reach[c.D_BARRIER] = row[rec.shape[0] + 2 * slot + 1]
            reach[c.D_LINES] = lines
            reach[c.D_BYTES] = rec[c.R_BYTES]
        queue = rec[c.R_SM] + (0 if rec[c.R_KIND] == LOAD else t.sms)
        _enqueue(t, s, r, queue)


@njit(_nrt=False, forceinline=True)
def _lines_of_record(rec):
    total = 0
    for i3 in range(rec[c.R_COUNT + 3]):
        for i2 in range(rec[c.R_COUNT + 2]):
            for i1 in range(rec[c.R_COUNT + 1]):
                base = rec[c.R_ADDRESS] + i3 * rec[c.R_STRIDE + 3] + i2 * rec[c.R_STRIDE + 2] + i1 * rec[c.R_STRIDE + 1]
                for i0 in range(rec[c.R_COUNT]):
                    total += lines_of_row(base + i0 * rec[c.R_STRIDE], rec[c.R_BYTES_ROW])
    return total


@njit(_nrt=False, forceinline=True)
def _enqueue(t, s, r, queue):
    tail = s.queue_tail[queue]
    s.queue_tail[queue] = r
    if tail >= 0:
        s.records[tail, c.R_NEXT] = r
        return
    s.queue_head[queue] = r
    engine = take_packet(s)
    s.packets[engine, c.SM] = s.records[r, c.R_SM]
    start = max(s.records[r, c.R_START], s.queue_ready[queue])
    schedule(s, engine, start, queue, c.REQUEST if queue < t.sms else c.SEND)


def warm(t, s, first, last):
    """Bring the lines from `first` up to `last` into the slices of every partition, in order."""
    for line in range(first, last):
        local = slice_in_partition(line, t.slices_per_partition)
        for partition in range(t.partitions):
            install(s.tags, partition * t.slices_per_partition + local, line)
