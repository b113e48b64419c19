"""The places on a line's path, in the compiled fabric: each serves the line, decides, and sends it on."""

from __future__ import annotations

from numba import njit

from hoppersim.blocks.addresses import channel_of, home_partition, page_draw, slice_in_partition
from hoppersim.blocks.l2 import install, look_up
from hoppersim.blocks.lrc import may_merge, may_open
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.calendar import (
    drop_packet,
    find,
    link,
    next_record,
    schedule,
    serve,
    take_packet,
    unlink,
    walk,
    whole_tick,
)
from hoppersim.engine.compiled.prefetch import prefetch
from hoppersim.engine.interface import COPY, LOAD, MULTICAST
from hoppersim.engine.tables import SUBTICK_BITS
from hoppersim.units import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE


@njit(_nrt=False, forceinline=True)
def request(t, s, engine, now):
    """The next line of an SM's TMA engine sets out for the slice of the SM's own partition."""
    sm = s.packets[engine].sm
    p = take_packet(s)
    last = walk(s, s.queue_head[sm], p)
    packet = s.packets[p]
    packet.merged = -1
    packet.readers = 1
    packet.holds = 0
    s.scalars[c.LINES] += 1
    s.count[c.N_LINES, sm] += 1
    s.count[c.N_MULTICAST, sm] += s.records[packet.record, c.R_KIND] == MULTICAST
    first = t.partition_of_gpc[t.gpc_of[sm]] * t.slices_per_partition
    packet.piece = first + slice_in_partition(packet.line, t.slices_per_partition)
    schedule(s, p, now + t.to_slice[sm, packet.piece], sm, c.SLICE)
    if last:
        next_record(t, s, sm, engine, now + t.line_interval + t.box_interval)
    else:
        schedule(s, engine, now + t.line_interval, sm, c.REQUEST)


@njit(_nrt=False, forceinline=True)
def at_slice(t, s, p, now):
    """The coalescer lets the line join one that is under way, or has it looked up."""
    packet = s.packets[p]
    piece = packet.piece
    s.count[c.N_LRC, piece] += 1
    shares_look_up = False
    if t.lrc_enabled and s.records[packet.record, c.R_KIND] == LOAD:
        entry = find(s, s.lrc_chain, piece, packet.line, packet.sectors)
        if entry >= 0 and not may_merge(s.packets[entry].readers, t.lrc_max_merged):
            close_entry(s, entry, piece)
            entry = -1
        if entry >= 0:
            s.packets[entry].readers += 1
            shares_look_up = reads_already(s, entry, packet.sm)
            if not shares_look_up:
                packet.merged = s.packets[entry].merged
                s.packets[entry].merged = p
                s.count[c.N_LRC_MERGED, piece] += packet.sectors
                return
        elif may_open(s.lrc_open[piece], t.lrc_entries):
            link(s, s.lrc_chain, p, piece, packet.line)
            s.lrc_open[piece] += 1
            packet.holds = 1
    s.count[c.N_LRC_OUT, piece] += packet.sectors
    look_up_line(t, s, p, piece, now, 0 if shares_look_up else packet.sectors)


@njit(_nrt=False, forceinline=True)
def close_entry(s, entry, piece):
    """Take no more readers into an open entry."""
    unlink(s, s.lrc_chain, entry)
    s.packets[entry].holds = 0
    s.lrc_open[piece] -= 1


@njit(_nrt=False, forceinline=True)
def reads_already(s, entry, sm):
    """Say whether an SM is among the readers of an open entry."""
    at = entry
    while at >= 0:
        if s.packets[at].sm == sm:
            return True
        at = s.packets[at].merged
    return False


@njit(_nrt=False, forceinline=True)
def look_up_line(t, s, p, piece, now, counted):
    """The line is looked up in the slice; what it does not hold is fetched from its home."""
    line = s.packets[p].line
    s.count[c.N_SECTORS, piece] += counted
    if look_up(s.present, piece // t.slices_per_partition, line):
        s.count[c.N_HITS, piece] += counted
        respond(t, s, p, now + t.access)
        return
    s.count[c.N_MISSES, piece] += counted
    if not open_miss(s, p, piece):
        return
    if home_slice(t, line) == piece:
        ask_hbm(t, s, p, piece, now)
    else:
        schedule(s, p, now + t.fabric_latency, t.slice_server + piece, c.HOME)


@njit(_nrt=False, forceinline=True)
def respond(t, s, p, ready):
    """The response queues at the exit of its slice, which serves one after the other."""
    packet = s.packets[p]
    piece = packet.piece
    packet.time = ready
    packet.next = -1
    tail = s.slice_tail[piece]
    s.slice_tail[piece] = p
    if tail >= 0:
        s.packets[tail].next = p
        return
    s.slice_head[piece] = p
    clerk = take_packet(s)
    s.packets[clerk].piece = piece
    free = whole_tick(s.free_at[t.slice_server + piece])
    schedule(s, clerk, max(ready, free), t.slice_server + piece, c.OUT)


@njit(_nrt=False, forceinline=True)
def at_exit(t, s, clerk, now):
    """The first response leaves the slice as soon as the ports of all GPCs that read it have room."""
    piece = s.packets[clerk].piece
    p = s.slice_head[piece]
    following = s.packets[p].next
    s.slice_head[piece] = following
    if s.packets[p].holds:
        close_entry(s, p, piece)
    send_out(t, s, p, piece, now)
    if following < 0:
        s.slice_tail[piece] = -1
        drop_packet(s, clerk)
    else:
        free = whole_tick(s.free_at[t.slice_server + piece])
        schedule(s, clerk, max(free, s.packets[following].time), t.slice_server + piece, c.OUT)
        prefetch(s.packets, s.packets[following].next)


@njit(_nrt=False, forceinline=True)
def send_out(t, s, p, piece, now):
    """Give the response a place at every port that it needs; each takes it once, for all readers behind."""
    sectors = s.packets[p].sectors
    service = t.gpc_service[sectors]
    start = max(now << SUBTICK_BITS, s.free_at[t.slice_server + piece])
    at = p
    while at >= 0:
        port = t.gpc_server + t.gpc_of[s.packets[at].sm]
        start = max(start, s.free_at[port] - t.port_lines * service)
        at = s.packets[at].merged
    s.free_at[t.slice_server + piece] = start + t.slice_service[sectors]
    s.busy[t.slice_server + piece] += t.slice_service[sectors]
    alone = s.packets[p].merged < 0 and s.records[s.packets[p].record, c.R_KIND] == LOAD
    extra = t.to_sm if alone else t.to_sm + t.fan_out
    passed = 0
    at = p
    while at >= 0:
        after = s.packets[at].merged
        gpc = t.gpc_of[s.packets[at].sm]
        port = t.gpc_server + gpc
        if not passed >> gpc & 1:
            passed |= 1 << gpc
            s.free_at[port] = max(s.free_at[port], start) + service
            s.busy[port] += service
            s.count[c.N_GPC, gpc] += sectors * SECTOR_BYTES
        arrival = whole_tick(s.free_at[port]) + t.from_slice[s.packets[at].sm, piece] + extra
        branch(t, s, at, gpc, piece, arrival)
        at = after


@njit(_nrt=False, forceinline=True)
def home_slice(t, line):
    """Slice of the partition whose DRAM holds the line."""
    local = slice_in_partition(line, t.slices_per_partition)
    return home_partition(line, t.partitions) * t.slices_per_partition + local


@njit(_nrt=False, forceinline=True)
def open_miss(s, p, piece):
    """Queue the packet behind a miss of its line at slice `piece`; return whether it is the first."""
    line = s.packets[p].line
    entry = find(s, s.miss_chain, piece, line, 0)
    first = entry < 0
    if first:
        entry = take_packet(s)
        s.packets[entry].line = line
        s.packets[entry].waiting = -1
        link(s, s.miss_chain, entry, piece, line)
    s.packets[p].waiting = s.packets[entry].waiting
    s.packets[entry].waiting = p
    return first


@njit(_nrt=False, forceinline=True)
def close_miss(s, line, piece):
    """Drop the miss entry and return the head of its waiting packets, the first one first."""
    entry = find(s, s.miss_chain, piece, line, 0)
    unlink(s, s.miss_chain, entry)
    at = s.packets[entry].waiting
    drop_packet(s, entry)
    head = -1
    while at >= 0:
        after = s.packets[at].waiting
        s.packets[at].waiting = head
        head = at
        at = after
    return head


@njit(_nrt=False, forceinline=True)
def ask_hbm(t, s, p, piece, now):
    """Send a request for the line to its channel."""
    schedule(s, p, now + t.to_hbm, t.slice_server + piece, c.HBM)


@njit(_nrt=False, forceinline=True)
def at_home(t, s, p, now):
    """The line is looked up in its home slice, on the other side of the fabric."""
    packet = s.packets[p]
    piece = home_slice(t, packet.line)
    if look_up(s.present, piece // t.slices_per_partition, packet.line):
        cross(t, s, p, piece, now)
    elif open_miss_at_home(s, p, piece):
        ask_hbm(t, s, p, piece, now)


@njit(_nrt=False, forceinline=True)
def open_miss_at_home(s, p, piece):
    """Like `open_miss`, for a packet that already waits at its local slice and so stands for it here."""
    stand_in = take_packet(s)
    s.packets[stand_in].line = s.packets[p].line
    s.packets[stand_in].merged = p
    s.packets[stand_in].record = -1
    return open_miss(s, stand_in, piece)


@njit(_nrt=False, forceinline=True)
def cross(t, s, p, piece, now):
    """The home slice sends the whole line across the fabric to the reader's side."""
    side = piece // t.slices_per_partition
    server = t.fabric_server + side
    leave = serve(s, server, now, t.fabric_service[SECTORS_PER_LINE])
    s.count[c.N_FABRIC, 1 - side] += SECTORS_PER_LINE
    schedule(s, p, leave + t.fabric_latency, server, c.RETURN)


@njit(_nrt=False, forceinline=True)
def at_hbm(t, s, p, now):
    """The channel reads the line."""
    line = s.packets[p].line
    channel = channel_of(line, t.channels)
    leave = serve(s, t.hbm_server + channel, now, t.hbm_service[SECTORS_PER_LINE])
    s.count[c.N_HBM, channel] += LINE_BYTES
    back = t.from_hbm[page_draw(line, t.from_hbm.shape[0])]
    schedule(s, p, leave + back, t.hbm_server + channel, c.FILL)


@njit(_nrt=False, forceinline=True)
def at_fill(t, s, p, now):
    """A line arrives from DRAM at its home slice and serves all who wait there."""
    line = s.packets[p].line
    piece = home_slice(t, line)
    install(s.places, s.present, piece, piece // t.slices_per_partition, line)
    at = close_miss(s, line, piece)
    while at >= 0:
        after = s.packets[at].waiting
        if s.packets[at].record < 0:
            cross(t, s, s.packets[at].merged, piece, now)
            drop_packet(s, at)
        else:
            respond(t, s, at, now)
        at = after


@njit(_nrt=False, forceinline=True)
def at_return(t, s, p, now):
    """A line arrives from the other partition and serves all who wait at the local slice."""
    line = s.packets[p].line
    piece = s.packets[p].piece
    install(s.places, s.present, piece, piece // t.slices_per_partition, line)
    at = close_miss(s, line, piece)
    while at >= 0:
        after = s.packets[at].waiting
        respond(t, s, at, now)
        at = after


@njit(_nrt=False, forceinline=True)
def branch(t, s, p, gpc, piece, arrival):
    """Hand the line of one request to each of its destinations."""
    r = s.packets[p].record
    count = s.records[r, c.R_DESTINATIONS]
    s.count[c.N_DELIVERED, gpc] += s.packets[p].sectors * count
    for index in range(count):
        copy = p
        if index < count - 1:
            copy = take_packet(s)
            s.packets[copy].line = s.packets[p].line
            s.packets[copy].sectors = s.packets[p].sectors
            s.packets[copy].record = s.packets[p].record
            s.packets[copy].data = s.packets[p].data
        s.packets[copy].piece = index
        s.packets[copy].sm = s.destinations[r, index, c.D_SM]
        schedule(s, copy, arrival, t.slice_server + piece, c.INGRESS)


@njit(_nrt=False, forceinline=True)
def at_ingress(t, s, p, now):
    """The line enters an SM and is written to its shared memory."""
    packet = s.packets[p]
    sm = packet.sm
    r = packet.record
    leave = serve(s, t.sm_server + sm, now, t.sm_service[packet.sectors])
    kind = s.records[r, c.R_KIND]
    s.count[c.N_DSMEM_IN if kind == COPY else c.N_LOADED, sm] += packet.data
    if kind != COPY:
        s.count[c.N_MULTICAST_BYTES if kind == MULTICAST else c.N_SELF, sm] += packet.sectors * SECTOR_BYTES
    deliver(t, s, r, packet.piece, packet.data, leave + t.completion)
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
    """The next line of a copy or store leaves an SM."""
    sm = s.packets[engine].sm
    r = s.queue_head[t.sms + sm]
    p = take_packet(s)
    last = walk(s, r, p)
    packet = s.packets[p]
    leave = serve(s, t.copy_server + sm, now, t.copy_service[packet.sectors])
    if s.records[r, c.R_KIND] == COPY:
        to = s.destinations[r, 0, c.D_SM]
        s.count[c.N_DSMEM_OUT, sm] += packet.data
        packet.piece = 0
        packet.sm = to
        schedule(s, p, leave + t.pair[sm, to], t.copy_server + sm, c.INGRESS)
    else:
        packet.piece = home_slice(t, packet.line)
        schedule(s, p, leave + t.to_slice[sm, packet.piece], t.copy_server + sm, c.WRITE)
    if last:
        next_record(t, s, t.sms + sm, engine, leave)
    else:
        schedule(s, engine, leave, t.sms + sm, c.SEND)


@njit(_nrt=False, forceinline=True)
def at_write(t, s, p, now):
    """A stored line reaches its home slice, which keeps it; the store is done when word comes back."""
    packet = s.packets[p]
    piece = packet.piece
    leave = serve(s, t.slice_server + piece, now, t.slice_service[packet.sectors])
    install(s.places, s.present, piece, piece // t.slices_per_partition, packet.line)
    deliver(t, s, packet.record, 0, packet.data, leave + t.from_slice[packet.sm, piece])
    drop_packet(s, p)
