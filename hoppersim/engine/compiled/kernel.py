"""The compiled loop: every event of every line, in order of (tick, upstream port)."""

from __future__ import annotations

from hoppersim.blocks.addresses import slice_in_partition
from hoppersim.blocks.l2 import install
from hoppersim.blocks.tma import after_row, pieces_of_row
from hoppersim.engine.compiled import arrivals, copies, exits, misses, requests
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.calendar import look_ahead, open_bucket, start_record, take_packet
from hoppersim.engine.compiled.inlined import inlined
from hoppersim.engine.interface import LOAD, MULTICAST

PACKET_MARGIN = 64
LOG_MARGIN = 64


@inlined
def _dispatch(t, s, p, now):  # noqa: C901, PLR0912 - one branch for each kind of event
    kind = s.packets[p].kind
    if kind == c.REQUEST:
        requests.request(t, s, p, now)
    elif kind == c.SLICE:
        requests.at_slice(t, s, p, now)
    elif kind == c.OUT:
        exits.at_exit(t, s, p, now)
    elif kind == c.INGRESS:
        arrivals.at_ingress(t, s, p, now)
    elif kind == c.FAN_OUT:
        arrivals.at_fan_out(t, s, p, now)
    elif kind == c.ROOM:
        arrivals.at_room(t, s, p, now)
    elif kind == c.HOME:
        misses.at_home(t, s, p, now)
    elif kind == c.HBM:
        misses.at_hbm(t, s, p, now)
    elif kind == c.FILL:
        misses.at_fill(t, s, p, now)
    elif kind == c.RETURN:
        misses.at_return(t, s, p, now)
    elif kind == c.SEND:
        copies.send(t, s, p, now)
    elif kind == c.WRITE:
        copies.at_write(t, s, p, now)
    else:
        copies.at_written(t, s, p, now)


def advance(t, s, horizon, lookahead):
    """Process every event before `horizon`; stop `lookahead` after the first new log entry.

    Returns `columns.DONE`, or why the caller must make room first: `NEED_PACKETS`, `LOG_FULL`.
    """
    while s.scalars[c.ACTIVE] > 0:
        p = s.scalars[c.DUE]
        if p < 0 and not _next_bucket(s, horizon):
            break
        p = s.scalars[c.DUE]
        if p < 0:
            continue
        now = s.packets[p].time
        if now >= horizon:
            break
        if s.scalars[c.PACKETS_LEFT] < PACKET_MARGIN:
            return c.NEED_PACKETS
        if s.scalars[c.LOG_COUNT] > s.log.shape[0] - LOG_MARGIN:
            return c.LOG_FULL
        s.scalars[c.DUE] = s.packets[p].next
        s.scalars[c.ACTIVE] -= 1
        before = s.scalars[c.LOG_COUNT]
        _dispatch(t, s, p, now)
        for index in range(before, s.scalars[c.LOG_COUNT]):
            horizon = min(horizon, s.log[index, 0] + lookahead)
    s.scalars[c.NOW] = max(s.scalars[c.NOW], horizon)
    if s.scalars[c.ACTIVE] == 0:
        s.scalars[c.BUCKET] = s.scalars[c.NOW] >> c.BUCKET_BITS
    return c.DONE


@inlined
def _next_bucket(s, horizon):
    """Open the next bucket that holds packets, unless it begins at `horizon` or later."""
    number = s.scalars[c.BUCKET] + 1
    end = (horizon - 1) >> c.BUCKET_BITS
    look_ahead(s, number)
    while number < end and s.wheel[number & (c.BUCKETS - 1)] < 0:
        number += 1
        look_ahead(s, number)
    if number > end:
        return False
    open_bucket(s, number)
    return True


def inject(t, s, values):
    """Take transfers in order: of each the given columns, then (SM, barrier) of each receiver."""
    at = 0
    while at < values.shape[0]:
        r = s.scalars[c.FREE_RECORD]
        s.scalars[c.FREE_RECORD] = s.records[r, c.R_NEXT]
        s.scalars[c.RECORDS_LEFT] -= 1
        rec = s.records[r]
        for column in range(c.GIVEN_COLUMNS):
            rec[column] = values[at + column]
        at += c.GIVEN_COLUMNS
        for axis in range(4):
            rec[c.R_INDEX + axis] = 0
        rec[c.R_AT] = rec[c.R_ADDRESS]
        rec[c.R_BEFORE] = 0
        rec[c.R_ALIVE] = rec[c.R_DESTINATIONS]
        rec[c.R_NEXT] = -1
        lines = _pieces_of_record(rec)
        for slot in range(rec[c.R_DESTINATIONS]):
            reach = s.destinations[r, slot]
            reach[c.D_SM] = values[at]
            reach[c.D_BARRIER] = values[at + 1]
            reach[c.D_LINES] = lines
            reach[c.D_BYTES] = rec[c.R_BYTES]
            at += 2
        queue = rec[c.R_SM] + (0 if rec[c.R_KIND] == LOAD or rec[c.R_KIND] == MULTICAST else t.sms)
        _enqueue(t, s, r, queue)


@inlined
def _pieces_of_record(rec):
    total = before = 0
    for i3 in range(rec[c.R_COUNT + 3]):
        for i2 in range(rec[c.R_COUNT + 2]):
            for i1 in range(rec[c.R_COUNT + 1]):
                base = rec[c.R_ADDRESS] + i3 * rec[c.R_STRIDE + 3] + i2 * rec[c.R_STRIDE + 2]
                for i0 in range(rec[c.R_COUNT]):
                    row = base + i1 * rec[c.R_STRIDE + 1] + i0 * rec[c.R_STRIDE]
                    total += pieces_of_row(row, rec[c.R_BYTES_ROW], before)
                    before = after_row(before, rec[c.R_BYTES_ROW])
    return total


@inlined
def _enqueue(t, s, r, queue):
    tail = s.queue_tail[queue]
    s.queue_tail[queue] = r
    if tail >= 0:
        s.records[tail, c.R_NEXT] = r
        return
    s.queue_head[queue] = r
    engine = take_packet(s)
    s.packets[engine].sm = s.records[r, c.R_SM]
    start_record(t, s, engine, queue, r, s.queue_ready[queue])


def warm(t, s, first, last):
    """Bring the lines from `first` up to `last` into the slices of every partition, in order."""
    for line in range(first, last):
        local = slice_in_partition(line, t.slices_per_partition)
        for partition in range(t.partitions):
            install(s.places, s.present, partition * t.slices_per_partition + local, partition, line)
