"""What leaves an SM, in the compiled fabric: copies to peers and stores."""

from __future__ import annotations

from numba import njit

from hoppersim.blocks.l2 import install
from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.arrivals import deliver
from hoppersim.engine.compiled.calendar import drop_packet, next_record, schedule, serve, take_packet, walk
from hoppersim.engine.compiled.misses import home_slice
from hoppersim.engine.compiled.passages import note_arrival, note_copy
from hoppersim.engine.interface import COPY, STORE


@njit(_nrt=False, forceinline=True)
def send(t, s, engine, now):
    """The next line of a copy or store leaves an SM; with its last line a store is done."""
    sm = s.packets[engine].sm
    r = s.queue_head[t.sms + sm]
    p = take_packet(s)
    last = walk(s, r, p)
    packet = s.packets[p]
    if s.records[r, c.R_KIND] == COPY:
        leave = serve(s, t.copy_server + sm, now, t.copy_service[packet.sectors])
        passed = serve(s, t.peer_server + t.gpc_of[sm], leave, t.peer_service[t.gpc_of[sm], packet.sectors])
        to = s.destinations[r, 0, c.D_SM]
        s.count[c.N_DSMEM_OUT, sm] += packet.data
        packet.piece = 0
        packet.sm = to
        note_copy(s.packets, s.passages, p, now, passed)
        note_arrival(s.packets, s.passages, p, passed + t.pair[sm, to])
        schedule(s, p, passed + t.pair[sm, to], t.copy_server + sm, c.INGRESS)
    else:
        leave = serve(s, t.copy_server + sm, now, t.store_service[packet.sectors])
        packet.piece = home_slice(t, packet.line)
        schedule(s, p, leave + t.to_slice[sm, packet.piece], t.copy_server + sm, c.WRITE)
    if last:
        next_record(t, s, t.sms + sm, engine, leave)
    else:
        schedule(s, engine, leave, t.sms + sm, c.SEND)
    if s.records[r, c.R_KIND] == STORE:
        deliver(t, s, p, 0, now, leave + t.completion)


@njit(_nrt=False, forceinline=True)
def at_write(t, s, p, now):
    """A stored line reaches its home slice, which keeps it."""
    packet = s.packets[p]
    piece = packet.piece
    serve(s, t.slice_server + piece, now, t.slice_service[packet.sectors])
    install(s.places, s.present, piece, piece // t.slices_per_partition, packet.line)
    drop_packet(s, p)
