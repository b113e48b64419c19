"""How the lines of a tile with a number go through the compiled fabric: the ticks that each stage takes."""

from __future__ import annotations

from numba import njit

from hoppersim.engine.compiled import columns as c
from hoppersim.engine.interface import AT_PORT, IN_ENGINE, IN_L2, IN_LRC, STAGES
from hoppersim.engine.tables import SUBTICK_BITS


@njit(_nrt=False, forceinline=True)
def set_out(s, p, now):
    """A packet leaves its engine, in which its time is told from when the engine could begin its box."""
    r = s.packets[p].record
    s.packets[p].tile = s.records[r, c.R_TILE]
    if s.packets[p].tile >= 0:
        for column in range(STAGES):
            s.passages[p, column] = 0
        s.passages[p, c.P_SINCE] = s.records[r, c.R_START]
        spend(s, p, IN_ENGINE, now)


@njit(_nrt=False, forceinline=True)
def spend(s, p, stage, tick):
    """Tell the time of a packet up to `tick` as spent in a stage; nothing where nobody asks."""
    if s.packets[p].tile >= 0:
        passage = s.passages[p]
        passage[stage] += tick - passage[c.P_SINCE]
        passage[c.P_SINCE] = tick


@njit(_nrt=False, forceinline=True)
def queue_up(t, s, p, piece, tick):
    """Remember how long ports have held up a slice's exit until `tick`, from which the packet waits there."""
    if s.packets[p].tile >= 0:
        opens = s.free_at[t.slice_server + piece] - t.slice_service[s.packets[p].sectors]
        s.passages[p, c.P_HELD] = s.held[piece] - max(0, opens - (tick << SUBTICK_BITS))


@njit(_nrt=False, forceinline=True)
def leave_queue(s, p, ready, held, now):
    """Tell the wait of a packet at its slice: for data, for ports that held up the exit, for other lines."""
    if s.packets[p].tile >= 0:
        begun = max(ready, s.passages[p, c.P_SINCE])
        spend(s, p, IN_LRC, begun)
        held_up = max(0, held - s.passages[p, c.P_HELD]) >> SUBTICK_BITS
        spend(s, p, AT_PORT, begun + min(now - begun, held_up))
        spend(s, p, IN_L2, now)


@njit(_nrt=False, forceinline=True)
def copy_passage(s, p, copy):
    """Give a copy of a packet what is told of the packet."""
    s.packets[copy].tile = s.packets[p].tile
    if s.packets[p].tile >= 0:
        for column in range(c.PASSAGE_COLUMNS):
            s.passages[copy, column] = s.passages[p, column]


@njit(_nrt=False, forceinline=True)
def arrive(s, p, destination, tick):
    """Hand back the passage of the last line to a destination."""
    if s.packets[p].tile >= 0:
        row = s.ended[s.scalars[c.ENDED]]
        s.scalars[c.ENDED] += 1
        row[0] = s.packets[p].tile
        row[1] = destination
        row[2] = tick
        for stage in range(STAGES):
            row[3 + stage] = s.passages[p, stage]
