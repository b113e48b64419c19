"""How a line request reaches its L2 slice, in the compiled fabric: TMA engine, coalescer and look-up."""

from __future__ import annotations

from hoppersim.blocks.addresses import slice_in_partition
from hoppersim.blocks.l2 import look_up, other_of_pair
from hoppersim.blocks.lrc import ALONE, MERGES, SHARES
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.calendar import (
    next_record,
    schedule,
    serve,
    take_packet,
    walk,
    whole_tick,
)
from hoppersim.engine.compiled.coalescer import find_entry, join, open_entry, share_entry
from hoppersim.engine.compiled.exits import respond
from hoppersim.engine.compiled.inlined import inlined
from hoppersim.engine.compiled.misses import fetch
from hoppersim.engine.compiled.passages import note_request
from hoppersim.engine.interface import LOAD, MULTICAST
from hoppersim.engine.tables import SUBTICK_BITS


@inlined
def request(t, s, engine, now):
    """The next lines of an SM's TMA engine set out: some at once where nothing else can delay them."""
    sm = s.packets[engine].sm
    for _ in range(t.requests_together):
        now, last = set_out(t, s, sm, now)
        if last:
            next_record(t, s, sm, engine, now + t.box_interval)
            return
    schedule(s, engine, now, sm, c.REQUEST)


@inlined
def set_out(t, s, sm, now):
    """A line sets out for the slice of the SM's own partition.

    Returns the tick from which the next line may, and whether this was the last one.
    """
    p = take_packet(s)
    last = walk(s, s.queue_head[sm], p)
    packet = s.packets[p]
    packet.merged = -1
    packet.entry = -1
    packet.turn = -1
    packet.from_dram = 0
    s.scalars[c.LINES] += 1
    s.count[c.N_LINES, sm] += 1
    s.count[c.N_MULTICAST, sm] += s.records[packet.record, c.R_KIND] == MULTICAST
    start = max(now << SUBTICK_BITS, s.free_at[t.copy_server + sm])
    s.free_at[t.copy_server + sm] = start + t.request_service
    leave = whole_tick(start)
    first = t.partition_of_gpc[t.gpc_of[sm]] * t.slices_per_partition
    packet.piece = first + slice_in_partition(packet.line, t.slices_per_partition)
    arrival = leave + t.to_slice[sm, packet.piece]
    note_request(s.packets, s.passages, p, leave, arrival)
    schedule(s, p, arrival, sm, c.SLICE)
    return max(now + t.line_interval, leave), last


@inlined
def at_slice(t, s, p, now):
    """The coalescer lets the line join one that is under way, or has it looked up."""
    packet = s.packets[p]
    piece = packet.piece
    s.count[c.N_LRC, piece] += 1
    if packet.tile >= 0:  # note how long ports have held up the slice's exit so far
        opens = s.free_at[t.slice_server + piece] - t.slice_service[packet.sectors]
        s.passages[p, c.P_HELD] = s.count[c.N_HELD, piece] - max(0, opens - (now << SUBTICK_BITS))
    met = ALONE
    if t.lrc_enabled and s.records[packet.record, c.R_KIND] == LOAD:
        queue = piece * t.gpcs + t.gpc_of[packet.sm]
        entry, met, latest = find_entry(t, s, p, queue, piece, now)
        if met == MERGES:
            join(t, s, p, entry, piece)
            return
        if met == SHARES:
            share_entry(t, s, p, entry)
        else:
            open_entry(t, s, p, queue, piece, latest)
    s.count[c.N_LRC_OUT, piece] += packet.sectors
    look_up_line(t, s, p, piece, now, met)


@inlined
def look_up_line(t, s, p, piece, now, met):
    """The line is looked up in the slice; what it does not hold is fetched from its home."""
    line = s.packets[p].line
    counted = 0 if met == SHARES else s.packets[p].sectors
    now = serve(s, t.look_up_server + piece, now, t.look_up_service)
    s.count[c.N_SECTORS, piece] += counted
    if look_up(s.present, piece // t.slices_per_partition, line):
        s.count[c.N_HITS, piece] += counted
        respond(t, s, p, now + t.access, met != SHARES)
    else:
        s.count[c.N_MISSES, piece] += counted
        fetch(t, s, p, piece, now)
    if s.records[s.packets[p].record, c.R_PAIRED]:
        look_up_other(t, s, other_of_pair(line), piece, now)


@inlined
def look_up_other(t, s, line, piece, now):
    """The other line of a pair is looked up behind the first, and fetched though nobody waits for it."""
    now = serve(s, t.look_up_server + piece, now, t.look_up_service)
    if not look_up(s.present, piece // t.slices_per_partition, line):
        p = take_packet(s)
        packet = s.packets[p]
        packet.line = line
        packet.piece = piece
        packet.record = -1
        packet.merged = -1
        packet.tile = -1
        fetch(t, s, p, piece, now)
