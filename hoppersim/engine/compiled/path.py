"""The places on a line's path, in the compiled fabric: each serves the line, decides, and sends it on."""

from __future__ import annotations

from numba import njit

from hoppersim.blocks.addresses import channel_of, home_partition, slice_in_partition
from hoppersim.blocks.l2 import install, look_up
from hoppersim.blocks.lrc import may_merge, may_open
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.calendar import (
    drop_packet, find, link, next_record, schedule, serve, take_packet, unlink, walk,
)  # fmt: skip
from hoppersim.engine.interface import COPY
from hoppersim.units import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE


@njit(_nrt=False, forceinline=True)
def request(t, s, engine, now):
    """The next line of an c.SM's TMA engine reaches the coalescer of its c.GPC."""
    sm = s.packets[engine, c.SM]
    p = take_packet(s)
    last = walk(s, s.queue_head[sm], p)
    coalesce(t, s, p, sm, now)
    if last:
        next_record(t, s, sm, engine, now + t.line_interval + t.box_interval)
    else:
        schedule(s, engine, now + t.line_interval, sm, c.REQUEST)


@njit(_nrt=False, forceinline=True)
def coalesce(t, s, p, sm, now):
    """Let the line join one that is under way, or send it to its slice."""
    row = s.packets[p]
    row[c.MERGED] = -1
    row[c.READERS] = 1
    row[c.HOLDS] = 0
    gpc = t.gpc_of[sm]
    multicast = s.records[row[c.RECORD], c.R_DESTINATIONS] > 1
    s.scalars[c.LINES] += 1
    s.count[c.N_LINES, sm] += 1
    s.count[c.N_MULTICAST, sm] += multicast
    s.count[c.N_LRC, gpc] += 1
    leave = serve(s, t.lrc_server + gpc, now, t.lrc_service)
    if t.lrc_enabled and not multicast:
        entry = find(s, s.lrc_chain, gpc, row[c.LINE], row[c.SECTORS])
        if entry >= 0 and may_merge(s.packets[entry, c.READERS], t.lrc_max_merged):
            s.packets[entry, c.READERS] += 1
            row[c.MERGED] = s.packets[entry, c.MERGED]
            s.packets[entry, c.MERGED] = p
            s.count[c.N_LRC_MERGED, gpc] += row[c.SECTORS]
            return
        if entry < 0 and may_open(s.lrc_open[gpc], t.lrc_entries):
            link(s, s.lrc_chain, p, gpc, row[c.LINE])
            s.lrc_open[gpc] += 1
            row[c.HOLDS] = 1
    s.count[c.N_LRC_OUT, gpc] += row[c.SECTORS]
    local = slice_in_partition(row[c.LINE], t.slices_per_partition)
    row[c.PIECE] = t.partition_of_gpc[gpc] * t.slices_per_partition + local
    schedule(s, p, leave + t.to_slice[sm, row[c.PIECE]], t.lrc_server + gpc, c.SLICE)


@njit(_nrt=False, forceinline=True)
def home_slice(t, line):
    return home_partition(line, t.partitions) * t.slices_per_partition + slice_in_partition(line, t.slices_per_partition)


@njit(_nrt=False, forceinline=True)
def respond(t, s, p, now):
    """The slice of the reader's partition sends the line to the c.GPC's port."""
    row = s.packets[p]
    piece = row[c.PIECE]
    leave = serve(s, t.slice_server + piece, now, t.slice_service[row[c.SECTORS]])
    schedule(s, p, leave + t.from_slice[row[c.SM], piece], t.slice_server + piece, c.GPC)


@njit(_nrt=False, forceinline=True)
def open_miss(s, p, piece):
    """Queue the packet behind a miss of its line at slice `piece`; return whether it is the first."""
    line = s.packets[p, c.LINE]
    entry = find(s, s.miss_chain, piece, line, 0)
    first = entry < 0
    if first:
        entry = take_packet(s)
        s.packets[entry, c.LINE] = line
        s.packets[entry, c.WAITING] = -1
        link(s, s.miss_chain, entry, piece, line)
    s.packets[p, c.WAITING] = s.packets[entry, c.WAITING]
    s.packets[entry, c.WAITING] = p
    return first


@njit(_nrt=False, forceinline=True)
def close_miss(s, line, piece):
    """Drop the miss entry and return the head of its waiting packets, the first one first."""
    entry = find(s, s.miss_chain, piece, line, 0)
    unlink(s, s.miss_chain, entry)
    at = s.packets[entry, c.WAITING]
    drop_packet(s, entry)
    head = -1
    while at >= 0:
        after = s.packets[at, c.WAITING]
        s.packets[at, c.WAITING] = head
        head = at
        at = after
    return head


@njit(_nrt=False, forceinline=True)
def ask_hbm(t, s, p, piece, now):
    schedule(s, p, now + t.to_hbm, t.slice_server + piece, c.HBM)


@njit(_nrt=False, forceinline=True)
def at_slice(t, s, p, now):
    """The line is looked up in the slice of the reader's own partition."""
    row = s.packets[p]
    piece = row[c.PIECE]
    s.count[c.N_SECTORS, piece] += row[c.SECTORS]
    if look_up(s.tags, piece, row[c.LINE]):
        s.count[c.N_HITS, piece] += row[c.SECTORS]
        respond(t, s, p, now)
        return
    s.count[c.N_MISSES, piece] += row[c.SECTORS]
    if not open_miss(s, p, piece):
        return
    if home_slice(t, row[c.LINE]) == piece:
        ask_hbm(t, s, p, piece, now)
    else:
        schedule(s, p, now + t.fabric_latency, t.slice_server + piece, c.HOME)


@njit(_nrt=False, forceinline=True)
def at_home(t, s, p, now):
    """The line is looked up in its home slice, on the other side of the fabric."""
    row = s.packets[p]
    piece = home_slice(t, row[c.LINE])
    if look_up(s.tags, piece, row[c.LINE]):
        cross(t, s, p, piece, now)
    elif open_miss_at_home(s, p, piece):
        ask_hbm(t, s, p, piece, now)


@njit(_nrt=False, forceinline=True)
def open_miss_at_home(s, p, piece):
    """Like `open_miss`, for a packet that already waits at its local slice and so stands for it here."""
    stand_in = take_packet(s)
    s.packets[stand_in, c.LINE] = s.packets[p, c.LINE]
    s.packets[stand_in, c.MERGED] = p
    s.packets[stand_in, c.RECORD] = -1
    return open_miss(s, stand_in, piece)


@njit(_nrt=False, forceinline=True)
def cross(t, s, p, piece, now):
    """The home slice sends the whole line across the fabric to the reader's side."""
    side = piece // t.slices_per_partition
    server = t.fabric_server + side
    at_slice = serve(s, t.slice_server + piece, now, t.slice_service[SECTORS_PER_LINE])
    leave = serve(s, server, at_slice, t.fabric_service[SECTORS_PER_LINE])
    s.count[c.N_FABRIC, 1 - side] += SECTORS_PER_LINE
    schedule(s, p, leave + t.fabric_latency, server, c.RETURN)


@njit(_nrt=False, forceinline=True)
def at_hbm(t, s, p, now):
    channel = channel_of(s.packets[p, c.LINE], t.channels)
    leave = serve(s, t.hbm_server + channel, now, t.hbm_service[SECTORS_PER_LINE])
    s.count[c.N_HBM, channel] += LINE_BYTES
    schedule(s, p, leave + t.from_hbm, t.hbm_server + channel, c.FILL)


@njit(_nrt=False, forceinline=True)
def at_fill(t, s, p, now):
    """A line arrives from DRAM at its home slice and serves all who wait there."""
    line = s.packets[p, c.LINE]
    piece = home_slice(t, line)
    install(s.tags, piece, line)
    at = close_miss(s, line, piece)
    while at >= 0:
        after = s.packets[at, c.WAITING]
        if s.packets[at, c.RECORD] < 0:
            cross(t, s, s.packets[at, c.MERGED], piece, now)
            drop_packet(s, at)
        else:
            respond(t, s, at, now)
        at = after


@njit(_nrt=False, forceinline=True)
def at_return(t, s, p, now):
    """A line arrives from the other partition and serves all who wait at the local slice."""
    line = s.packets[p, c.LINE]
    piece = s.packets[p, c.PIECE]
    install(s.tags, piece, line)
    at = close_miss(s, line, piece)
    while at >= 0:
        after = s.packets[at, c.WAITING]
        respond(t, s, at, now)
        at = after


@njit(_nrt=False, forceinline=True)
def at_gpc(t, s, p, now):
    """The response passes the c.GPC's port once and branches to every reader behind it."""
    row = s.packets[p]
    gpc = t.gpc_of[row[c.SM]]
    if row[c.HOLDS]:
        unlink(s, s.lrc_chain, p)
        s.lrc_open[gpc] -= 1
    leave = serve(s, t.gpc_server + gpc, now, t.gpc_service[row[c.SECTORS]])
    s.count[c.N_GPC, gpc] += row[c.SECTORS] * SECTOR_BYTES
    at = p
    while at >= 0:
        after = s.packets[at, c.MERGED]
        branch(t, s, at, gpc, leave + t.to_sm)
        at = after


@njit(_nrt=False, forceinline=True)
def branch(t, s, p, gpc, arrival):
    """Hand the line of one request to each of its destinations."""
    r = s.packets[p, c.RECORD]
    count = s.records[r, c.R_DESTINATIONS]
    s.count[c.N_DELIVERED, gpc] += s.packets[p, c.SECTORS] * count
    for index in range(count):
        copy = p
        if index < count - 1:
            copy = take_packet(s)
            for column in (c.LINE, c.SECTORS, c.RECORD, c.DATA):
                s.packets[copy, column] = s.packets[p, column]
        s.packets[copy, c.PIECE] = index
        s.packets[copy, c.SM] = s.destinations[r, index, c.D_SM]
        schedule(s, copy, arrival, t.gpc_server + gpc, c.INGRESS)


@njit(_nrt=False, forceinline=True)
def at_ingress(t, s, p, now):
    """The line enters an c.SM and is written to its shared memory."""
    row = s.packets[p]
    sm = row[c.SM]
    r = row[c.RECORD]
    leave = serve(s, t.sm_server + sm, now, t.sm_service[row[c.SECTORS]])
    if s.records[r, c.R_KIND] == COPY:
        s.count[c.N_DSMEM_IN, sm] += row[c.DATA]
    elif s.records[r, c.R_DESTINATIONS] > 1:
        s.count[c.N_MULTICAST_BYTES, sm] += row[c.SECTORS] * SECTOR_BYTES
    else:
        s.count[c.N_SELF, sm] += row[c.SECTORS] * SECTOR_BYTES
    deliver(t, s, r, row[c.PIECE], row[c.DATA], leave + t.completion)
    drop_packet(s, p)


@njit(_nrt=False, forceinline=True)
def deliver(t, s, r, index, data, tick):
    """Count a line at its destination; log its bytes with the last one, or each where that is asked."""
    reach = s.destinations[r, index]
    reach[c.D_LINES] -= 1
    last = reach[c.D_LINES] == 0
    amount = data
    if last or not t.granular:
        amount = reach[c.D_BYTES]
    reach[c.D_BYTES] -= amount if (last or t.granular) else 0
    if last or t.granular:
        entry = s.log[s.scalars[c.LOG_COUNT]]
        entry[0] = tick
        entry[1] = reach[c.D_BARRIER]
        entry[2] = amount
        s.scalars[c.LOG_COUNT] += 1
    if last:
        s.records[r, c.R_ALIVE] -= 1
        if s.records[r, c.R_ALIVE] == 0:
            s.records[r, c.R_NEXT] = s.scalars[c.FREE_RECORD]
            s.scalars[c.FREE_RECORD] = r
            s.scalars[c.RECORDS_LEFT] += 1


@njit(_nrt=False, forceinline=True)
def send(t, s, engine, now):
    """The next line of a copy or store leaves an c.SM."""
    sm = s.packets[engine, c.SM]
    r = s.queue_head[t.sms + sm]
    p = take_packet(s)
    last = walk(s, r, p)
    row = s.packets[p]
    leave = serve(s, t.copy_server + sm, now, t.copy_service[row[c.SECTORS]])
    if s.records[r, c.R_KIND] == COPY:
        to = s.destinations[r, 0, c.D_SM]
        s.count[c.N_DSMEM_OUT, sm] += row[c.DATA]
        row[c.PIECE] = 0
        row[c.SM] = to
        schedule(s, p, leave + t.pair[sm, to], t.copy_server + sm, c.INGRESS)
    else:
        row[c.PIECE] = home_slice(t, row[c.LINE])
        schedule(s, p, leave + t.to_slice[sm, row[c.PIECE]], t.copy_server + sm, c.WRITE)
    if last:
        next_record(t, s, t.sms + sm, engine, leave)
    else:
        schedule(s, engine, leave, t.sms + sm, c.SEND)


@njit(_nrt=False, forceinline=True)
def at_write(t, s, p, now):
    """A stored line reaches its home slice, which keeps it; the store is done when word comes back."""
    row = s.packets[p]
    piece = row[c.PIECE]
    leave = serve(s, t.slice_server + piece, now, t.slice_service[row[c.SECTORS]])
    install(s.tags, piece, row[c.LINE])
    deliver(t, s, row[c.RECORD], 0, row[c.DATA], leave + t.from_slice[row[c.SM], piece])
    drop_packet(s, p)
