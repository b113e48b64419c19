"""Names of the columns, kinds and scalars in the arrays of the compiled fabric."""

from __future__ import annotations

WHEEL = 1 << 20
CHAINS = 1 << 14
MAX_DESTINATIONS = 16

# packet columns
TIME, PORT, KIND, NEXT, LINE, SM, PIECE, SECTORS, RECORD, DATA, MERGED, CHAIN, WAITING, READERS, PLACE, HOLDS = range(16)
PACKET_COLUMNS = 16
# packet kinds: the event that comes next
REQUEST, SLICE, HOME, HBM, FILL, RETURN, GPC, INGRESS, SEND, WRITE = range(10)
# record columns: next in queue, kind, source, box walk, bookkeeping
(R_NEXT, R_KIND, R_SM, R_ADDRESS, R_BYTES_ROW, R_LINE, R_COUNT, R_STRIDE, R_INDEX, R_BYTES, R_DESTINATIONS, R_ALIVE,
 R_START) = 0, 1, 2, 3, 4, 5, 6, 10, 14, 18, 19, 20, 21  # fmt: skip
RECORD_COLUMNS = 24
# destination columns
D_SM, D_BARRIER, D_LINES, D_BYTES = range(4)
# scalars
NOW, ACTIVE, FREE_PACKET, FREE_RECORD, PACKETS_LEFT, RECORDS_LEFT, LOG_COUNT, LINES = range(8)
# counters: row numbers of `count`, in the order of `hoppersim.engine.output.COUNTER_NAMES`
(N_LINES, N_MULTICAST, N_SELF, N_MULTICAST_BYTES, N_DSMEM_IN, N_DSMEM_OUT, N_LRC, N_LRC_OUT, N_LRC_MERGED, N_GPC,
 N_DELIVERED, N_SECTORS, N_HITS, N_MISSES, N_FABRIC, N_HBM) = range(16)  # fmt: skip
COUNTERS = 16
