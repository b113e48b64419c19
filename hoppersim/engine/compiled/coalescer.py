"""The lines that a coalescer keeps for each GPC, in the compiled fabric: rings of the latest."""

from __future__ import annotations

from hoppersim.blocks.lrc import ALONE, MERGES, SHARES, still_merges
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.calendar import chain_slot
from hoppersim.engine.compiled.inlined import inlined
from hoppersim.units import TICKS_PER_CYCLE


@inlined
def find_entry(t, s, p, queue, piece, now):
    """Find the latest entry that a read merges with, or else shares; how they meet; its line's latest."""
    packet = s.packets[p]
    first, found, latest = queue * t.lrc_held, -1, -1
    at = s.lrc_chain[chain_slot(packet.line)]
    while at >= 0:
        kept = s.entries[at]
        if kept.line == packet.line and kept.sectors == packet.sectors and first <= at < first + t.lrc_held:
            met = meet(t, s, at, packet.sm, piece, now)
            if latest < 0:
                latest = at
            if met == MERGES:
                return at, MERGES, latest
            if met == SHARES and found < 0:
                found = at
        at = kept.chain
    return found, SHARES if found >= 0 else ALONE, latest


@inlined
def open_entry(t, s, p, queue, piece, latest):
    """Keep a line instead of the oldest; the packet is the one whose response others may join."""
    place = place_of(t, s, piece, latest)
    oldest = s.lrc_oldest[queue]
    entry = queue * t.lrc_held + oldest
    s.lrc_oldest[queue] = oldest + 1 if oldest + 1 < t.lrc_held else 0
    if s.entries[entry].readers:
        unlink_entry(s, entry)
    kept, slot = s.entries[entry], chain_slot(s.packets[p].line)
    kept.line = s.packets[p].line
    kept.sectors = s.packets[p].sectors
    kept.readers = 1
    kept.seen = t.bit_of[s.packets[p].sm]
    kept.shared = 0
    kept.leader = p
    kept.place = place
    kept.chain = s.lrc_chain[slot]
    s.lrc_chain[slot] = entry
    s.packets[p].entry = entry


@inlined
def share_entry(t, s, p, entry):
    """Look nothing up for a packet, but send its response, which others may now join."""
    kept = s.entries[entry]
    count_reader(t, s, p, entry)
    kept.shared = 1
    kept.leader = p
    s.packets[p].entry = entry


@inlined
def join(t, s, p, entry, piece):
    """Let a packet's SM take part in the response of the entry."""
    leader = s.packets[s.entries[entry].leader]
    count_reader(t, s, p, entry)
    s.packets[p].merged = leader.merged
    leader.merged = p
    s.count[c.N_LRC_MERGED, piece] += s.packets[p].sectors


@inlined
def count_reader(t, s, p, entry):
    """Note that an entry serves one more read."""
    kept = s.entries[entry]
    kept.readers += 1
    kept.seen = kept.seen | t.bit_of[s.packets[p].sm]


@inlined
def unlink_entry(s, entry):
    """Take an entry out of its chain."""
    s.entries[entry].readers = 0
    slot = chain_slot(s.entries[entry].line)
    at = s.lrc_chain[slot]
    if at == entry:
        s.lrc_chain[slot] = s.entries[entry].chain
        return
    while s.entries[at].chain != entry:
        at = s.entries[at].chain
    s.entries[at].chain = s.entries[entry].chain


@inlined
def close_to_mergers(s, p, now):
    """The response leaves: reads may still share its look-up for a while, but not join it."""
    entry = s.packets[p].entry
    if entry >= 0 and s.entries[entry].leader == p:
        s.entries[entry].left = now // TICKS_PER_CYCLE
    s.packets[p].entry = -1


@inlined
def meet(t, s, entry, sm, piece, now):
    """Say how a read by an SM meets an entry of its GPC at a slice."""
    kept = s.entries[entry]
    if kept.readers >= t.lrc_max_merged:
        return ALONE
    again = kept.seen & t.bit_of[sm]
    leader = s.packets[kept.leader]
    waits = leader.entry == entry
    if not waits and now // TICKS_PER_CYCLE > kept.left + t.lrc_linger:
        return ALONE
    if waits and not again:
        if leader.turn < 0:
            return MERGES
        before, since = leader.turn - s.slice_out[piece], lines_since(s, piece, entry)
        if still_merges(leader.time > now, before, since, t.lrc_entries, t.lrc_answers):
            return MERGES
    return ALONE if kept.shared or (again and kept.readers > 1) else SHARES


@inlined
def place_of(t, s, piece, latest):
    """Give a line's place among the different ones of its slice: that of its latest entry if still seen."""
    if latest >= 0 and lines_since(s, piece, latest) < t.lrc_entries:
        return s.entries[latest].place
    s.lrc_newest[piece] += 1
    return s.lrc_newest[piece]


@inlined
def lines_since(s, piece, entry):
    """Count the different lines that a slice was asked for since an entry's."""
    return s.lrc_newest[piece] - s.entries[entry].place
