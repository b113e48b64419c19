"""What an L2 slice does not hold, in the compiled fabric: its home slice, the partition fabric and DRAM."""

from __future__ import annotations

from hoppersim.blocks.addresses import channel_of, home_partition, page_draw, slice_in_partition
from hoppersim.blocks.l2 import install, look_up
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.calendar import drop_packet, find, link, schedule, serve, take_packet, unlink
from hoppersim.engine.compiled.exits import respond
from hoppersim.engine.compiled.inlined import inlined
from hoppersim.units import LINE_BYTES, SECTORS_PER_LINE


@inlined
def home_slice(t, line):
    """Slice of the partition whose DRAM holds the line."""
    local = slice_in_partition(line, t.slices_per_partition)
    return home_partition(line, t.partitions) * t.slices_per_partition + local


@inlined
def open_miss(s, p, piece):
    """Queue the packet behind a miss of its line at slice `piece`; return whether it is the first."""
    line = s.packets[p].line
    entry = find(s, s.miss_chain, piece, line)
    first = entry < 0
    if first:
        entry = take_packet(s)
        s.packets[entry].line = line
        s.packets[entry].waiting = -1
        link(s, s.miss_chain, entry, piece, line)
    s.packets[p].waiting = s.packets[entry].waiting
    s.packets[entry].waiting = p
    return first


@inlined
def close_miss(s, line, piece):
    """Drop the miss entry and return the head of its waiting packets, the first one first."""
    entry = find(s, s.miss_chain, piece, line)
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


@inlined
def fetch(t, s, p, piece, now):
    """The packet waits for its line at slice `piece`; the first that does asks the line's home for it."""
    if not open_miss(s, p, piece):
        return
    if home_slice(t, s.packets[p].line) == piece:
        ask_hbm(t, s, p, piece, now)
    else:
        schedule(s, p, now + t.fabric_latency, t.slice_server + piece, c.HOME)


@inlined
def ask_hbm(t, s, p, piece, now):
    """Send a request for the line to its channel."""
    schedule(s, p, now + t.to_hbm, t.slice_server + piece, c.HBM)


@inlined
def at_home(t, s, p, now):
    """The line is looked up in its home slice, on the other side of the fabric."""
    packet = s.packets[p]
    piece = home_slice(t, packet.line)
    if look_up(s.present, piece // t.slices_per_partition, packet.line):
        cross(t, s, p, piece, now, 0)
    elif open_miss_at_home(s, p, piece):
        ask_hbm(t, s, p, piece, now)


@inlined
def open_miss_at_home(s, p, piece):
    """Like `open_miss`, for a packet that already waits at its local slice and so stands for it here."""
    stand_in = take_packet(s)
    s.packets[stand_in].line = s.packets[p].line
    s.packets[stand_in].merged = p
    s.packets[stand_in].record = -1
    return open_miss(s, stand_in, piece)


@inlined
def cross(t, s, p, piece, now, from_dram):
    """The home slice sends the whole line across the fabric to the reader's side."""
    side = piece // t.slices_per_partition
    server = t.fabric_server + side
    leave = serve(s, server, now, t.fabric_service[SECTORS_PER_LINE])
    s.count[c.N_FABRIC, 1 - side] += SECTORS_PER_LINE
    s.packets[p].from_dram = from_dram
    schedule(s, p, leave + t.fabric_latency, server, c.RETURN)


@inlined
def at_hbm(t, s, p, now):
    """The channel reads the line."""
    line = s.packets[p].line
    channel = channel_of(line, t.channels)
    leave = serve(s, t.hbm_server + channel, now, t.hbm_service[SECTORS_PER_LINE])
    s.count[c.N_HBM, channel] += LINE_BYTES
    back = t.from_hbm[page_draw(line, t.from_hbm.shape[0])]
    schedule(s, p, leave + back, t.hbm_server + channel, c.FILL)


@inlined
def at_fill(t, s, p, now):
    """A line arrives from DRAM at its home slice and serves all who wait there."""
    line = s.packets[p].line
    piece = home_slice(t, line)
    install(s.places, s.present, piece, piece // t.slices_per_partition, line)
    at = close_miss(s, line, piece)
    while at >= 0:
        after = s.packets[at].waiting
        if s.packets[at].record < 0:
            if s.packets[at].merged >= 0:
                cross(t, s, s.packets[at].merged, piece, now, 1)
            drop_packet(s, at)
        else:
            s.packets[at].from_dram = 1
            respond(t, s, at, now, True)
        at = after


@inlined
def at_return(t, s, p, now):
    """A line arrives from the other partition and serves all who wait at the local slice."""
    line = s.packets[p].line
    piece = s.packets[p].piece
    from_dram = s.packets[p].from_dram
    install(s.places, s.present, piece, piece // t.slices_per_partition, line)
    at = close_miss(s, line, piece)
    while at >= 0:
        after = s.packets[at].waiting
        if s.packets[at].record < 0:
            drop_packet(s, at)
        else:
            s.packets[at].from_dram = from_dram
            respond(t, s, at, now, True)
        at = after
