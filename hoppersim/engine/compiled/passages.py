"""How the lines of a tile with a number go through the compiled fabric.

Ticks are noted on the way, for lines of such tiles only, and told apart into stages once, with the last line.
The functions take no more arrays than they need, which compiles faster than taking all of the state.
"""

from __future__ import annotations

from numba import njit

from hoppersim.engine.compiled import columns as c
from hoppersim.engine.interface import AT_PORT, IN_ENGINE, IN_HBM, IN_L2, IN_LANE, IN_LRC, ON_WAY, TO_SMEM
from hoppersim.engine.tables import SUBTICK_BITS


@njit(_nrt=False, forceinline=True)
def note_request(packets, passages, p, sent, reached):
    """Note when a line leaves its engine and reaches its slice."""
    if packets[p].tile >= 0:
        passages[p, c.P_SENT] = sent
        passages[p, c.P_REACHED] = reached


@njit(_nrt=False, forceinline=True)
def note_held(packets, passages, count, p, piece):
    """Note how long ports have held up the slice's exit since the line came to the slice."""
    if packets[p].tile >= 0:
        passages[p, c.P_HELD] = count[c.N_HELD, piece] - passages[p, c.P_HELD]


@njit(_nrt=False, forceinline=True)
def note_exit(packets, passages, p, leader, ready, now, through):
    """Note when the data of a line were ready, when its turn came, and when it is through the port."""
    if packets[p].tile >= 0:
        source = IN_HBM if packets[p].from_dram else IN_L2
        passages[p, c.P_SOURCE] = source if p == leader else IN_LRC
        passages[p, c.P_READY] = ready
        passages[p, c.P_OUT] = now
        passages[p, c.P_THROUGH] = through


@njit(_nrt=False, forceinline=True)
def note_copy(packets, passages, p, now, through):
    """Note when a line to a peer leaves its engine, and when it is through the ports."""
    if packets[p].tile >= 0:
        passages[p, c.P_SENT] = now
        passages[p, c.P_REACHED] = now
        passages[p, c.P_READY] = now
        passages[p, c.P_OUT] = now
        passages[p, c.P_SOURCE] = IN_L2
        passages[p, c.P_HELD] = 0
        passages[p, c.P_THROUGH] = through


@njit(_nrt=False, forceinline=True)
def note_arrival(packets, passages, p, tick):
    """Note when a line reaches its SM or the lane of its CPC."""
    if packets[p].tile >= 0:
        passages[p, c.P_ARRIVED] = tick


@njit(_nrt=False, forceinline=True)
def split_passage(packets, passages, p, copy):
    """Give a copy of a line what was noted of the line."""
    packets[copy].tile = packets[p].tile
    if packets[p].tile >= 0:
        for column in range(c.PASSAGE_COLUMNS):
            passages[copy, column] = passages[p, column]


@njit(_nrt=False, forceinline=True)
def tell_stages(passage, entry, start, now):
    """Turn the ticks of the last line to a destination, which enters its SM now, into stages in a log entry.

    The wait at the slice's exit is the port's as far as ports held up the exit meanwhile.
    """
    sent, reached, out = passage[c.P_SENT], passage[c.P_REACHED], passage[c.P_OUT]
    through, arrived, source = passage[c.P_THROUGH], passage[c.P_ARRIVED], passage[c.P_SOURCE]
    begun = max(passage[c.P_READY], reached)
    held = min(out - begun, max(0, passage[c.P_HELD]) >> SUBTICK_BITS)
    entry[c.L_STAGES + IN_ENGINE] = sent - start
    entry[c.L_STAGES + ON_WAY] = reached - sent + arrived - through
    entry[c.L_STAGES + IN_LRC] = begun - reached if source == IN_LRC else 0
    entry[c.L_STAGES + IN_HBM] = begun - reached if source == IN_HBM else 0
    entry[c.L_STAGES + IN_L2] = out - begun - held + (begun - reached if source == IN_L2 else 0)
    entry[c.L_STAGES + AT_PORT] = held + through - out
    entry[c.L_STAGES + IN_LANE] = now - arrived
    entry[c.L_STAGES + TO_SMEM] = entry[c.L_TICK] - now
