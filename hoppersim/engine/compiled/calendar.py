"""Moves of the compiled fabric that every place uses: packets, calendar, servers, box walk, hash chains."""

from __future__ import annotations

from hoppersim.blocks.addresses import LINES_PER_PAGE_BITS, mix
from hoppersim.blocks.tma import LINE_BITS, after_row, piece_end, sectors_between
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.inlined import inlined
from hoppersim.engine.compiled.prefetch import prefetch
from hoppersim.engine.tables import SUBTICK_BITS

SUBTICK_CEILING = (1 << SUBTICK_BITS) - 1


@inlined
def take_packet(s):
    """Take a packet from the free list."""
    p = s.scalars[c.FREE_PACKET]
    s.scalars[c.FREE_PACKET] = s.packets[p].next
    s.scalars[c.PACKETS_LEFT] -= 1
    return p


@inlined
def drop_packet(s, p):
    """Put a packet back into the free list."""
    s.packets[p].next = s.scalars[c.FREE_PACKET]
    s.scalars[c.FREE_PACKET] = p
    s.scalars[c.PACKETS_LEFT] += 1


@inlined
def schedule(s, p, time, port, kind):
    """Put a packet in the calendar."""
    packet = s.packets[p]
    packet.time = time
    packet.port = port
    packet.kind = kind
    s.scalars[c.ACTIVE] += 1
    number = time >> c.BUCKET_BITS
    if number == s.scalars[c.BUCKET]:
        insert_due(s, p)
    else:
        packet.next = s.wheel[number & (c.BUCKETS - 1)]
        s.wheel[number & (c.BUCKETS - 1)] = p


@inlined
def _comes_before(time, port, other):
    return time < other.time or (time == other.time and port < other.port)


@inlined
def insert_due(s, p):
    """Sort a packet into the present bucket, behind all of the same tick with the same or a lower port."""
    time = s.packets[p].time
    port = s.packets[p].port
    before = -1
    at = s.scalars[c.DUE]
    while at >= 0 and not _comes_before(time, port, s.packets[at]):
        before = at
        at = s.packets[at].next
    s.packets[p].next = at
    if before < 0:
        s.scalars[c.DUE] = p
    else:
        s.packets[before].next = p


@inlined
def open_bucket(s, number):
    """Sort a bucket; what waits there for a later turn of the calendar stays."""
    slot = number & (c.BUCKETS - 1)
    at = s.wheel[slot]
    s.wheel[slot] = -1
    s.scalars[c.BUCKET] = number
    first = -1
    while at >= 0:
        after = s.packets[at].next
        s.packets[at].next = first
        first = at
        at = after
    while first >= 0:
        after = s.packets[first].next
        if s.packets[first].time >> c.BUCKET_BITS == number:
            insert_due(s, first)
        else:
            s.packets[first].next = s.wheel[slot]
            s.wheel[slot] = first
        first = after


@inlined
def whole_tick(subticks):
    """The first whole tick that is not before a time in subticks."""
    return (subticks + SUBTICK_CEILING) >> SUBTICK_BITS


@inlined
def look_ahead(s, number):
    """Fetch the first two packets of buckets that will soon be opened into the processor's cache."""
    prefetch(s.packets, s.wheel[(number + 2 * c.AHEAD) & (c.BUCKETS - 1)])
    first = s.wheel[(number + c.AHEAD) & (c.BUCKETS - 1)]
    if first >= 0:
        prefetch(s.packets, s.packets[first].next)


@inlined
def serve(s, server, now, service):
    """Serve first come first served; return the tick at which the line leaves."""
    end = max(now << SUBTICK_BITS, s.free_at[server]) + service
    s.free_at[server] = end
    s.busy[server] += service
    return whole_tick(end)


@inlined
def walk(s, r, p):
    """Put the next piece of a record into packet `p`; return whether it was the last."""
    rec = s.records[r]
    address = rec[c.R_ADDRESS]
    row_bytes = rec[c.R_BYTES_ROW]
    at = rec[c.R_AT]
    end = piece_end(address, row_bytes, at, rec[c.R_BEFORE])
    s.packets[p].line = at >> LINE_BITS
    s.packets[p].sectors = sectors_between(at, end)
    s.packets[p].data = end - at
    s.packets[p].record = r
    s.packets[p].sm = rec[c.R_SM]
    s.packets[p].tile = rec[c.R_TILE]
    if end < address + row_bytes:
        rec[c.R_AT] = end
        return False
    rec[c.R_BEFORE] = after_row(rec[c.R_BEFORE], row_bytes)
    for axis in range(4):
        rec[c.R_INDEX + axis] += 1
        rec[c.R_ADDRESS] += rec[c.R_STRIDE + axis]
        if rec[c.R_INDEX + axis] < rec[c.R_COUNT + axis]:
            rec[c.R_AT] = rec[c.R_ADDRESS]
            return False
        rec[c.R_ADDRESS] -= rec[c.R_COUNT + axis] * rec[c.R_STRIDE + axis]
        rec[c.R_INDEX + axis] = 0
    return True


@inlined
def next_record(t, s, queue, p, ready):
    """Take the finished record off its engine's queue and start the next, or let the engine rest."""
    s.queue_ready[queue] = ready
    head = s.records[s.queue_head[queue], c.R_NEXT]
    s.queue_head[queue] = head
    if head < 0:
        s.queue_tail[queue] = -1
        drop_packet(s, p)
    else:
        start_record(t, s, p, queue, head, ready)


@inlined
def start_record(t, s, p, queue, r, ready):
    """Let an engine begin a record as soon as it is ready and the record is there."""
    start = max(ready, s.records[r, c.R_START])
    s.records[r, c.R_BEGUN] = start
    schedule(s, p, start, queue, c.REQUEST if queue < t.sms else c.SEND)


@inlined
def chain_slot(line):
    """Slot of a hash chain, shared by all places: pages are spread, the lines of a page lie side by side."""
    return (line + mix(line >> LINES_PER_PAGE_BITS)) & (c.CHAINS - 1)


@inlined
def find(s, chain, place, line):
    """Find the entry of `line` at `place`."""
    p = chain[chain_slot(line)]
    while p >= 0:
        packet = s.packets[p]
        if packet.line == line and packet.place == place:
            return p
        p = packet.chain
    return p


@inlined
def link(s, chain, p, place, line):
    """Make a packet the entry of `line` at `place`."""
    slot = chain_slot(line)
    s.packets[p].place = place
    s.packets[p].chain = chain[slot]
    chain[slot] = p


@inlined
def unlink(s, chain, p):
    """Take an entry out of its chain."""
    slot = chain_slot(s.packets[p].line)
    at = chain[slot]
    if at == p:
        chain[slot] = s.packets[p].chain
        return
    while s.packets[at].chain != p:
        at = s.packets[at].chain
    s.packets[at].chain = s.packets[p].chain
