"""Names of the fields, columns, kinds and scalars in the arrays of the compiled fabric."""

from __future__ import annotations

import numpy as np

from hoppersim.engine.interface import STAGES

BUCKET_BITS = 2  # a bucket of the calendar holds 2**BUCKET_BITS ticks
BUCKETS = 1 << 16
AHEAD = 4  # buckets between the fetches of the first and of the second packet, and the use
CHAINS = 1 << 17
MAX_DESTINATIONS = 16

PACKET = np.dtype(
    [
        ("time", "i8"),  # tick of the event that comes next
        ("line", "i4"),
        ("entry", "i4"),  # of its coalescer, while others may join the response; -1 otherwise
        ("next", "i4"),  # in the list of its bucket, in the queue of its slice, or in the free list
        ("port", "i4"),  # upstream port
        ("piece", "u4"),  # slice; behind the GPC port, index of the destination
        ("record", "i4"),
        ("merged", "i4"),  # next of the readers that joined
        ("waiting", "i4"),  # next of those that wait for the same miss, or in the same lane
        ("chain", "i4"),  # next in the chain of a hash slot
        ("place", "i4"),  # slice of a miss; behind the port, lane of its CPC
        ("turn", "i4"),  # number in the queue of its slice; -1 before it has one
        ("tile", "i4"),  # number of its tile, whose passage is noted; -1 where nobody asks
        ("sm", "u2"),
        ("data", "u2"),  # bytes of the box in the line
        ("ends", "i1"),  # of a copied line: whether it is the last of its packet
        ("sectors", "u1"),
        ("kind", "u1"),  # of the event that comes next
        ("from_dram", "i1"),  # whether it was read from DRAM
    ],
    align=True,
)
"""A packet: one line of the processor's cache, 64 bytes.

What is never negative is unsigned: the compiler need not ask whether such an index counts from the end.
"""
assert PACKET.itemsize == 64

ENTRY = np.dtype(
    [("line", "i4"), ("chain", "i4"), ("leader", "i4"), ("place", "i4"),
     ("readers", "i2"), ("shared", "i1"), ("sectors", "i1"), ("left", "u4"), ("seen", "i8")],
    align=True,
)  # fmt: skip
"""A line that a coalescer keeps for a GPC.

Next in its chain, packet of the latest response, its place among the different lines of the slice, how many
reads it has served (none: it is in no chain any more), whether a read has shared its look-up, sectors, SM
cycle at which the latest response left, and SMs that have read it: half a line of the processor's cache.
"""
assert ENTRY.itemsize == 32

# what `advance` returns
DONE, NEED_PACKETS, LOG_FULL = range(3)
# packet kinds: the event that comes next
REQUEST, SLICE, HOME, HBM, FILL, RETURN, OUT, INGRESS, FAN_OUT, ROOM, SEND, WRITE, WRITTEN = range(13)
# record columns: what `inject` is given of a transfer, then box walk and bookkeeping
R_KIND, R_SM, R_ADDRESS, R_BYTES_ROW = range(4)
R_COUNT, R_STRIDE = 4, 8  # four columns each
R_BYTES, R_DESTINATIONS, R_START, R_TILE, R_PAIRED = range(12, 17)
GIVEN_COLUMNS = 17
R_INDEX = 17  # four columns
R_AT, R_ALIVE, R_NEXT, R_BEGUN, R_BEFORE = range(21, 26)
RECORD_COLUMNS = 26
# destination columns
D_SM, D_BARRIER, D_LINES, D_BYTES = range(4)
# passage columns: ticks of a line whose tile has a number; HELD in subticks, SOURCE is a stage
P_SENT, P_REACHED, P_READY, P_OUT, P_THROUGH, P_HELD, P_SOURCE, P_ARRIVED = range(8)
PASSAGE_COLUMNS = 8
# log columns; those from L_TILE on tell the passage of a tile with a number, which is -1 otherwise
L_TICK, L_BARRIER, L_BYTES, L_TILE, L_DESTINATION, L_STAGES = range(6)
LOG_COLUMNS = L_STAGES + STAGES
# scalars
NOW, ACTIVE, FREE_PACKET, FREE_RECORD, PACKETS_LEFT, RECORDS_LEFT, LOG_COUNT, LINES, BUCKET, DUE = range(10)
ENDED = 10
SCALARS = 11
# counters: row numbers of `count`, in the order of `hoppersim.engine.output.COUNTER_NAMES`
(N_LINES, N_MULTICAST, N_SELF, N_MULTICAST_BYTES, N_DSMEM_IN, N_DSMEM_OUT, N_LRC, N_LRC_OUT, N_LRC_MERGED,
 N_GPC, N_DELIVERED, N_SECTORS, N_HITS, N_MISSES, N_FABRIC, N_HBM, N_LOADED,
 N_HBM_WRITTEN, N_REMOTE_IN, N_REMOTE_OUT) = range(20)  # fmt: skip
COUNTERS = 20
N_HELD = COUNTERS  # subticks for which ports have held up the exit of a slice; no counter that is told
