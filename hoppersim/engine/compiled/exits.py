"""How a response leaves its L2 slice, in the compiled fabric: through the ports of the GPCs that read it."""

from __future__ import annotations

from hoppersim.blocks.l2 import bank_of
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.calendar import drop_packet, schedule, take_packet, whole_tick
from hoppersim.engine.compiled.coalescer import close_to_mergers
from hoppersim.engine.compiled.inlined import inlined
from hoppersim.engine.compiled.passages import note_arrival, note_exit, note_held, split_passage
from hoppersim.engine.compiled.prefetch import prefetch
from hoppersim.engine.interface import LOAD
from hoppersim.engine.tables import SUBTICK_BITS
from hoppersim.units import SECTOR_BYTES


@inlined
def leave_slice(t, s, p, piece, now):
    """Occupy the slice's exit once the port of the GPC that reads the line has room; return the subtick."""
    sectors = s.packets[p].sectors
    free = max(now << SUBTICK_BITS, s.free_at[t.slice_server + piece])
    port = t.gpc_server + t.gpc_of[s.packets[p].sm]
    start = max(free, s.free_at[port] - t.port_lines * t.gpc_service[sectors])
    at = p
    while at >= 0:
        note_held(s.packets, s.passages, s.count, at, piece)
        at = s.packets[at].merged
    if start > free:
        s.count[c.N_HELD, piece] += start - free
    s.free_at[t.slice_server + piece] = start + t.slice_service[sectors]
    s.busy[t.slice_server + piece] += t.slice_service[sectors]
    return start


@inlined
def branch(t, s, p, gpc, piece, ready, touched):
    """Make a copy of one request's line for each destination, by CPC; return how many CPCs are touched."""
    r = s.packets[p].record
    count = s.records[r, c.R_DESTINATIONS]
    s.count[c.N_DELIVERED, gpc] += s.packets[p].sectors * count
    for index in range(count):
        copy = p
        if index < count - 1:
            copy = take_packet(s)
            s.packets[copy].line = s.packets[p].line
            s.packets[copy].sectors = s.packets[p].sectors
            s.packets[copy].record = r
            s.packets[copy].data = s.packets[p].data
            split_passage(s.packets, s.passages, p, copy)
        sm = s.destinations[r, index, c.D_SM]
        cpc = t.cpc_of[sm]
        head = s.cpc_head[cpc]
        arrival = ready + t.from_slice[sm, piece]
        note_arrival(s.packets, s.passages, copy, arrival)
        if head < 0:
            s.touched[touched] = cpc
            touched += 1
        else:
            arrival = max(arrival, s.packets[head].time)
        packet = s.packets[copy]
        packet.piece = index
        packet.sm = sm
        packet.merged = head
        packet.time = arrival
        packet.place = piece % t.cpc_lanes
        s.cpc_head[cpc] = copy
    return touched


@inlined
def crossings(t, s, p):
    """How often a response passes the port of its GPC: once, or once for each SM where it branches before."""
    if t.branch_behind_port:
        return 1
    count = 0
    at = p
    while at >= 0:
        count += s.records[s.packets[at].record, c.R_DESTINATIONS]
        at = s.packets[at].merged
    return count


@inlined
def pass_port(t, s, p, start):
    """The response passes the port of its GPC; return the tick at which it is through."""
    gpc = t.gpc_of[s.packets[p].sm]
    port = t.gpc_server + gpc
    sectors = s.packets[p].sectors
    times = crossings(t, s, p)
    s.free_at[port] = max(s.free_at[port], start) + times * t.gpc_service[sectors]
    s.busy[port] += times * t.gpc_service[sectors]
    s.count[c.N_GPC, gpc] += times * sectors * SECTOR_BYTES
    return whole_tick(s.free_at[port])


@inlined
def send_out(t, s, p, piece, now):
    """The response leaves for its GPC, and behind the port for all that read the line."""
    filled = s.packets[p].time
    start = leave_slice(t, s, p, piece, now)
    through = pass_port(t, s, p, start)
    gpc = t.gpc_of[s.packets[p].sm]
    if s.packets[p].merged < 0 and s.records[s.packets[p].record, c.R_KIND] == LOAD:
        note_exit(s.packets, s.passages, p, p, filled, now, through)
        s.count[c.N_DELIVERED, gpc] += s.packets[p].sectors
        arrival = through + t.to_sm + t.from_slice[s.packets[p].sm, piece]
        note_arrival(s.packets, s.passages, p, arrival)
        s.packets[p].piece = 0
        schedule(s, p, arrival, t.slice_server + piece, c.INGRESS)
        return
    touched = 0
    at = p
    while at >= 0:
        after = s.packets[at].merged
        note_exit(s.packets, s.passages, at, p, filled, now, through)
        touched = branch(t, s, at, gpc, piece, through + t.to_sm + t.fan_out, touched)
        at = after
    for index in range(touched):
        cpc = s.touched[index]
        head = s.cpc_head[cpc]
        s.cpc_head[cpc] = -1
        schedule(s, head, s.packets[head].time, t.slice_server + piece, c.FAN_OUT)


@inlined
def respond(t, s, p, ready, reads):
    """A bank reads the data, in order; the response queues at the exit, which ports hold up."""
    packet = s.packets[p]
    piece = packet.piece
    start = max(ready << SUBTICK_BITS, s.read_at[piece])
    if reads:
        bank = piece * t.banks + bank_of(piece, s.slice_in[piece], t.banks)
        begin = max(ready << SUBTICK_BITS, s.bank_at[bank])
        s.bank_at[bank] = begin + t.bank_service[packet.sectors]
        start = max(start, begin)
    s.read_at[piece] = start + t.slice_service[packet.sectors]
    ready = whole_tick(start)
    packet.time = ready
    packet.next = -1
    packet.turn = s.slice_in[piece]
    s.slice_in[piece] += 1
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


@inlined
def at_exit(t, s, clerk, now):
    """The first response leaves the slice as soon as the ports of all GPCs that read it have room."""
    piece = s.packets[clerk].piece
    p = s.slice_head[piece]
    following = s.packets[p].next
    s.slice_head[piece] = following
    s.slice_out[piece] += 1
    close_to_mergers(s, p, now)
    send_out(t, s, p, piece, now)
    if following < 0:
        s.slice_tail[piece] = -1
        drop_packet(s, clerk)
    else:
        free = whole_tick(s.free_at[t.slice_server + piece])
        schedule(s, clerk, max(free, s.packets[following].time), t.slice_server + piece, c.OUT)
        prefetch(s.entries, s.packets[following].entry)
        prefetch(s.packets, s.packets[following].next)
