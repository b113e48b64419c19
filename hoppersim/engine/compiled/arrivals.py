"""Where lines arrive, in the compiled fabric: the CPC that hands out copies, the SM, and the barrier."""

from __future__ import annotations

from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.calendar import drop_packet, schedule, serve, take_packet, whole_tick
from hoppersim.engine.compiled.inlined import inlined
from hoppersim.engine.compiled.passages import tell_stages
from hoppersim.engine.interface import BETWEEN_SMS, COPY, MULTICAST
from hoppersim.engine.tables import NARROW_RECEIVERS
from hoppersim.units import SECTOR_BYTES, SECTORS_PER_LINE


@inlined
def deliver(t, s, p, index, now, tick):
    """Count a line at its destination; log its bytes with the last one, or each where that is asked."""
    r = s.packets[p].record
    reach = s.destinations[r, index]
    reach[c.D_LINES] -= 1
    last = reach[c.D_LINES] == 0
    amount = s.packets[p].data
    if last or not t.granular:
        amount = reach[c.D_BYTES]
    reach[c.D_BYTES] -= amount if (last or t.granular) else 0
    if last or t.granular:
        entry = s.log[s.scalars[c.LOG_COUNT]]
        entry[c.L_TICK] = tick
        entry[c.L_BARRIER] = reach[c.D_BARRIER]
        entry[c.L_BYTES] = amount
        entry[c.L_TILE] = -1
        if last and s.packets[p].tile >= 0:
            entry[c.L_TILE] = s.packets[p].tile
            entry[c.L_DESTINATION] = index
            tell_stages(s.passages[p], entry, s.records[r, c.R_START], now)
            s.scalars[c.ENDED] += 1
        s.scalars[c.LOG_COUNT] += 1
    if last:
        s.records[r, c.R_ALIVE] -= 1
        if s.records[r, c.R_ALIVE] == 0:
            s.records[r, c.R_NEXT] = s.scalars[c.FREE_RECORD]
            s.scalars[c.FREE_RECORD] = r
            s.scalars[c.RECORDS_LEFT] += 1


@inlined
def enter(t, s, p, now):
    """The line enters an SM and is written to its shared memory."""
    packet = s.packets[p]
    sm = packet.sm
    r = packet.record
    wide = s.records[r, c.R_DESTINATIONS] > NARROW_RECEIVERS
    service = t.wide_service if wide else t.sm_service
    leave = serve(s, t.sm_server + sm, now, service[packet.sectors])
    kind = s.records[r, c.R_KIND]
    if kind in BETWEEN_SMS:
        serve(s, t.copy_server + sm, now, t.acknowledge)
        s.count[c.N_DSMEM_IN if kind == COPY else c.N_REMOTE_IN, sm] += packet.data
    else:
        s.count[c.N_LOADED, sm] += packet.data
        s.count[c.N_MULTICAST_BYTES if kind == MULTICAST else c.N_SELF, sm] += packet.sectors * SECTOR_BYTES
    deliver(t, s, p, packet.piece, now, leave + t.completion)
    drop_packet(s, p)


@inlined
def at_ingress(t, s, p, now):
    """A line reaches the SM that alone asked for it."""
    enter(t, s, p, now)


@inlined
def at_fan_out(t, s, p, now):
    """A response to several SMs of a CPC joins the lane that its slice feeds."""
    lane = t.cpc_of[s.packets[p].sm] * t.cpc_lanes + s.packets[p].place
    s.packets[p].waiting = -1
    tail = s.lane_tail[lane]
    s.lane_tail[lane] = p
    if tail >= 0:
        s.packets[tail].waiting = p
        return
    s.lane_head[lane] = p
    run_lane(t, s, lane, now)


@inlined
def run_lane(t, s, lane, now):
    """Hand out the responses of a lane, in order, until the first one finds an SM without room."""
    while s.lane_head[lane] >= 0:
        p = s.lane_head[lane]
        latest = now
        full = -1
        at = p
        while at >= 0:
            ready = room_at(t, s, s.packets[at].sm)
            if ready > latest:
                latest = ready
                full = s.packets[at].sm
            at = s.packets[at].merged
        if full >= 0:
            wait_for_room(t, s, lane, full, latest)
            return
        s.lane_head[lane] = s.packets[p].waiting
        at = p
        while at >= 0:
            after = s.packets[at].merged
            enter(t, s, at, now)
            at = after
    s.lane_tail[lane] = -1


@inlined
def room_at(t, s, sm):
    """Tick from which an SM has room for one more response to several SMs."""
    return whole_tick(s.free_at[t.sm_server + sm] - t.ingress_lines * t.sm_service[SECTORS_PER_LINE])


@inlined
def wait_for_room(t, s, lane, sm, ready):
    """Queue a lane at an SM without room; the first one is woken when there is room."""
    s.lane_next[lane] = -1
    tail = s.wait_tail[sm]
    s.wait_tail[sm] = lane
    if tail >= 0:
        s.lane_next[tail] = lane
        return
    s.wait_head[sm] = lane
    clerk = take_packet(s)
    s.packets[clerk].sm = sm
    schedule(s, clerk, ready, t.sm_server + sm, c.ROOM)


@inlined
def at_room(t, s, clerk, now):
    """An SM has room again: the lane that waits longest goes on."""
    sm = s.packets[clerk].sm
    lane = s.wait_head[sm]
    following = s.lane_next[lane]
    s.wait_head[sm] = following
    if following < 0:
        s.wait_tail[sm] = -1
        drop_packet(s, clerk)
        run_lane(t, s, lane, now)
    else:
        run_lane(t, s, lane, now)
        schedule(s, clerk, max(now, room_at(t, s, sm)), t.sm_server + sm, c.ROOM)
