"""The lines that a coalescer keeps for each GPC, in the compiled fabric: rings of the latest."""

from __future__ import annotations

from hoppersim.blocks.lrc import ALONE, MERGES, SHARES, still_merges
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.calendar import chain_slot
from hoppersim.engine.compiled.inlined import inlined


@inlined
def find_entry(t, s, queue, line, sectors, sm, piece, now):
    """Find the entry of a line for a GPC at a slice that a read joins: one whose response it may share first."""
    at = s.lrc_chain[chain_slot(line)]
    first = queue * t.lrc_held
    found = -1
    while at >= 0:
        kept = s.entries[at]
        if kept.line == line and first <= at < first + t.lrc_held and kept.sectors == sectors:
            met = meet(t, s, at, sm, piece, now)
            if met == MERGES:
                return at
            if met == SHARES and found < 0:
                found = at
        at = kept.chain
    return found


@inlined
def open_entry(t, s, p, queue, earlier):
    """Keep a line in place of the oldest; the packet is the one whose response others may join.

    An earlier entry of the line, or -1, is not met any more.
    """
    entry = queue * t.lrc_held + s.lrc_oldest[queue]
    s.lrc_oldest[queue] = (s.lrc_oldest[queue] + 1) % t.lrc_held
    if s.entries[entry].readers:
        unlink_entry(s, entry)
    kept, slot = s.entries[entry], chain_slot(s.packets[p].line)
    kept.line = s.packets[p].line
    kept.sectors = s.packets[p].sectors
    kept.readers = 1
    kept.shared = 0
    kept.leader = p
    kept.sm = s.packets[p].sm
    kept.chain = s.lrc_chain[slot]
    s.lrc_chain[slot] = entry
    s.packets[p].entry = entry


@inlined
def share_entry(s, p, entry):
    """Look nothing up for a packet, but send its response, which others may now join."""
    kept = s.entries[entry]
    kept.readers += 1
    kept.shared = 1
    kept.leader = p
    kept.sm = s.packets[p].sm
    s.packets[p].entry = entry


@inlined
def join(s, p, entry, piece):
    """Let a packet's SM take part in the response of the entry."""
    kept = s.entries[entry]
    kept.readers += 1
    s.packets[p].merged = s.packets[kept.leader].merged
    s.packets[kept.leader].merged = p
    s.count[c.N_LRC_MERGED, piece] += s.packets[p].sectors


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
def close_to_mergers(s, p):
    """The response leaves: reads may still share its look-up, but not join it."""
    s.packets[p].entry = -1


@inlined
def meet(t, s, entry, sm, piece, now):
    """Say how a read by an SM meets an entry of its GPC at a slice."""
    kept = s.entries[entry]
    if kept.readers >= t.lrc_max_merged:
        return ALONE
    leader = s.packets[kept.leader]
    if kept.sm != sm and leader.entry == entry and not reads_already(s, kept.leader, sm):
        behind = s.slice_in[piece]
        if leader.turn < 0 or leader.time > now:
            return MERGES
        if still_merges(behind - s.slice_out[piece], behind - leader.turn, t.lrc_entries, t.lrc_answers):
            return MERGES
    return ALONE if kept.shared else SHARES


@inlined
def reads_already(s, leader, sm):
    """Say whether an SM is among those that a response goes to."""
    at = leader
    while at >= 0:
        if s.packets[at].sm == sm:
            return True
        at = s.packets[at].merged
    return False
