"""Moves of the compiled fabric that every place uses: packets, calendar, servers, box walk, hash chains."""

from __future__ import annotations

from numba import njit

from hoppersim.blocks.addresses import mix
from hoppersim.blocks.tma import bytes_in_line, sectors_in_line
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.tables import SUBTICK_BITS
from hoppersim.units import LINE_BYTES

SUBTICK_CEILING = (1 << SUBTICK_BITS) - 1


@njit(_nrt=False, forceinline=True)
def take_packet(s):
    p = s.scalars[c.FREE_PACKET]
    s.scalars[c.FREE_PACKET] = s.packets[p, c.NEXT]
    s.scalars[c.PACKETS_LEFT] -= 1
    return p


@njit(_nrt=False, forceinline=True)
def drop_packet(s, p):
    s.packets[p, c.NEXT] = s.scalars[c.FREE_PACKET]
    s.scalars[c.FREE_PACKET] = p
    s.scalars[c.PACKETS_LEFT] += 1


@njit(_nrt=False, forceinline=True)
def schedule(s, p, time, port, kind):
    """Put a packet in the calendar, behind all of the same tick with the same or a lower port."""
    packets = s.packets
    packets[p, c.TIME] = time
    packets[p, c.PORT] = port
    packets[p, c.KIND] = kind
    bucket = time & (c.WHEEL - 1)
    s.scalars[c.ACTIVE] += 1
    before = -1
    at = s.wheel[bucket]
    while at >= 0 and (packets[at, c.TIME] < time or (packets[at, c.TIME] == time and packets[at, c.PORT] <= port)):
        before = at
        at = packets[at, c.NEXT]
    packets[p, c.NEXT] = at
    if before < 0:
        s.wheel[bucket] = p
    else:
        packets[before, c.NEXT] = p


@njit(_nrt=False, forceinline=True)
def serve(s, server, now, service):
    """Serve first come first served; return the tick at which the line leaves."""
    start = max(now << SUBTICK_BITS, s.free_at[server])
    end = start + service
    s.free_at[server] = end
    s.busy[server] += service
    return (end + SUBTICK_CEILING) >> SUBTICK_BITS


@njit(_nrt=False, forceinline=True)
def walk(s, r, p):
    """Put the next line of a record into packet `p`; return whether it was the last."""
    rec = s.records[r]
    address = rec[c.R_ADDRESS]
    row_bytes = rec[c.R_BYTES_ROW]
    line = rec[c.R_LINE]
    s.packets[p, c.LINE] = line
    s.packets[p, c.SECTORS] = sectors_in_line(address, row_bytes, line)
    s.packets[p, c.DATA] = bytes_in_line(address, row_bytes, line)
    s.packets[p, c.RECORD] = r
    s.packets[p, c.SM] = rec[c.R_SM]
    if line < (address + row_bytes - 1) // LINE_BYTES:
        rec[c.R_LINE] = line + 1
        return False
    for axis in range(4):
        rec[c.R_INDEX + axis] += 1
        rec[c.R_ADDRESS] += rec[c.R_STRIDE + axis]
        if rec[c.R_INDEX + axis] < rec[c.R_COUNT + axis]:
            rec[c.R_LINE] = rec[c.R_ADDRESS] // LINE_BYTES
            return False
        rec[c.R_ADDRESS] -= rec[c.R_COUNT + axis] * rec[c.R_STRIDE + axis]
        rec[c.R_INDEX + axis] = 0
    return True


@njit(_nrt=False, forceinline=True)
def next_record(t, s, queue, p, ready):
    """Take the finished record off its engine's queue and start the next, or let the engine rest."""
    s.queue_ready[queue] = ready
    head = s.records[s.queue_head[queue], c.R_NEXT]
    s.queue_head[queue] = head
    if head < 0:
        s.queue_tail[queue] = -1
        drop_packet(s, p)
    else:
        kind = c.REQUEST if queue < t.sms else c.SEND
        schedule(s, p, max(ready, s.records[head, c.R_START]), queue, kind)


@njit(_nrt=False, forceinline=True)
def chain_slot(place, line):
    return (mix(line) ^ (place * 40503)) & (c.CHAINS - 1)


@njit(_nrt=False, forceinline=True)
def find(s, chain, place, line, sectors):
    """Find the entry of `line` at `place`, with the same sectors unless they do not matter (0)."""
    p = chain[chain_slot(place, line)]
    while p >= 0:
        row = s.packets[p]
        if row[c.LINE] == line and row[c.PLACE] == place and (sectors == 0 or row[c.SECTORS] == sectors):
            return p
        p = row[c.CHAIN]
    return p


@njit(_nrt=False, forceinline=True)
def link(s, chain, p, place, line):
    slot = chain_slot(place, line)
    s.packets[p, c.PLACE] = place
    s.packets[p, c.CHAIN] = chain[slot]
    chain[slot] = p


@njit(_nrt=False, forceinline=True)
def unlink(s, chain, p):
    slot = chain_slot(s.packets[p, c.PLACE], s.packets[p, c.LINE])
    at = chain[slot]
    if at == p:
        chain[slot] = s.packets[p, c.CHAIN]
        return
    while s.packets[at, c.CHAIN] != p:
        at = s.packets[at, c.CHAIN]
    s.packets[at, c.CHAIN] = s.packets[p, c.CHAIN]
