"""What leaves an SM for others, in the compiled fabric: copies to peers and stores.

Lines of copies, stored lines and the requests of loads share an SM's way out, first come, first served.
"""

from __future__ import annotations

from hoppersim.blocks.addresses import channel_of
from hoppersim.blocks.l2 import install, look_up
from hoppersim.blocks.tma import written_sectors
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.arrivals import deliver
from hoppersim.engine.compiled.calendar import (
    drop_packet,
    next_record,
    schedule,
    serve,
    take_packet,
    walk,
    whole_tick,
)
from hoppersim.engine.compiled.inlined import inlined
from hoppersim.engine.compiled.misses import home_slice
from hoppersim.engine.compiled.passages import note_arrival, note_copy
from hoppersim.engine.interface import COPY, STORE
from hoppersim.units import LINE_BYTES, SECTORS_PER_LINE


@inlined
def send(t, s, engine, now):
    """The next line of a copy or store leaves an SM, unless too many wait for its slice already."""
    sm = s.packets[engine].sm
    r = s.queue_head[t.sms + sm]
    p = take_packet(s)
    last = walk(s, r, p)
    packet = s.packets[p]
    kind = s.records[r, c.R_KIND]
    if kind != STORE:
        leave = serve(s, t.copy_server + sm, now, t.copy_service[packet.sectors])
        to = s.destinations[r, 0, c.D_SM]
        across = t.tpc_of[sm] != t.tpc_of[to]
        service = t.peer_service[1 if across else 0, packet.sectors]
        passed = serve(s, t.peer_server + t.cpc_of[sm], leave, service)
        s.count[c.N_DSMEM_OUT if kind == COPY else c.N_REMOTE_OUT, sm] += packet.data
        packet.piece = 0
        packet.sm = to
        note_copy(s.packets, s.passages, p, now, passed)
        note_arrival(s.packets, s.passages, p, passed + t.pair[sm, to])
        schedule(s, p, passed + t.pair[sm, to], t.copy_server + sm, c.INGRESS)
        go_on(t, s, engine, last, max(leave, s.records[r, c.R_BEGUN] + t.copy_interval) if last else leave)
        return
    written = written_sectors(packet.sectors, packet.data)
    passed = serve(s, t.store_server + t.cpc_of[sm], now, t.cpc_store_service[written])
    leave = max(passed, serve(s, t.copy_server + sm, now, t.store_service[written]))
    piece = home_slice(t, packet.line)
    packet.piece = piece
    packet.merged = engine
    packet.ends = 1 if last else 0
    packet.waiting = -1
    packet.time = leave
    if s.store_count[piece] < t.store_lines:
        depart(t, s, p, leave)
    elif s.store_head[piece] < 0:
        s.store_head[piece] = p
        s.store_tail[piece] = p
    else:
        s.packets[s.store_tail[piece]].waiting = p
        s.store_tail[piece] = p


@inlined
def go_on(t, s, engine, last, leave):
    """The engine takes its next line, or rests."""
    sm = s.packets[engine].sm
    if last:
        next_record(t, s, t.sms + sm, engine, leave)
    else:
        schedule(s, engine, leave, t.sms + sm, c.SEND)


@inlined
def depart(t, s, p, leave):
    """A stored line leaves for its slice; with the last one, the store has read shared memory."""
    packet = s.packets[p]
    sm = packet.sm
    s.store_count[packet.piece] += 1
    schedule(s, p, leave + t.to_slice[sm, packet.piece], t.copy_server + sm, c.WRITE)
    go_on(t, s, packet.merged, packet.ends == 1, leave)
    deliver(t, s, p, 0, leave, leave + t.completion)


@inlined
def at_write(t, s, p, now):
    """A stored line reaches its home slice; one that the slice does not hold is written to DRAM as well."""
    packet = s.packets[p]
    piece = packet.piece
    written = written_sectors(packet.sectors, packet.data)
    done = serve(s, t.write_server + piece, now, t.write_service[written])
    partition = piece // t.slices_per_partition
    if not look_up(s.present, partition, packet.line):
        channel = channel_of(packet.line, t.channels)
        s.count[c.N_HBM_WRITTEN, channel] += LINE_BYTES
        service = t.hbm_service[SECTORS_PER_LINE]
        serve(s, t.hbm_server + channel, now, service)
        done = max(done, whole_tick(s.free_at[t.hbm_server + channel] - t.store_lines * service))
        install(s.places, s.present, piece, partition, packet.line)
    schedule(s, p, done, t.slice_server + piece, c.WRITTEN)


@inlined
def at_written(t, s, p, now):
    """The slice has taken the line in; the first that waits for the slice may leave its SM."""
    piece = s.packets[p].piece
    drop_packet(s, p)
    s.store_count[piece] -= 1
    waiting = s.store_head[piece]
    if waiting >= 0:
        s.store_head[piece] = s.packets[waiting].waiting
        depart(t, s, waiting, max(now, s.packets[waiting].time))
