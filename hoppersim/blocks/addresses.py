"""Where a line lives: its home partition, its slice and its DRAM channel.

Models: pages of 4 KB alternate between the two partitions by an exclusive-or of page-number bits (published
for one H100 PCIe part, the best public figure). Inside a partition a kilobyte lies in two slices, whose
pairs of lines alternate (latencies of 256 neighbouring lines from every SM, docs/probe.md). The first
halves of eight kilobytes, a turn, lie in eight slices in a row; the second halves begin `OTHER` places
behind them, in steps of `STEP`. Four turns begin `TURN` places apart, the next 32 KB `STRETCH` places
later, and after as many of these as there are slices, which have had the same by then, anew at a random
one. The strides were chosen for 47 slices a side so that the fullest one holds what the hardware counter of
it and loops of one tile say: one, two, two, two and three halves of four lines of one tile of 4, 8, 12, 24
and 32 KB; of tiles of 4, 16, 32 and 128 KB by 66 clusters 1.78, 1.42, 1.25 and 1.05 times the mean; of four
megabytes swept by all 1.01 times. A page of 4 KB lies in one channel, drawn by a hash: so few bytes in
flight leave channels idle, as measured, where lines spread one by one would not.

Leaves out: the real hash inside a partition, which nothing public gives; physical page scattering.
"""

from __future__ import annotations

from numba.extending import register_jitable

LINES_PER_PAGE_BITS = 5
LINES_PER_BLOCK_BITS = 3
BLOCKS_PER_TURN_BITS, TURNS_PER_STRETCH_BITS = 3, 2
IN_TURN, IN_STRETCH = 7, 3
TURN, STRETCH, OTHER, STEP = 35, 32, 29, 11
PLACE_BITS = 8
_MIX_1 = 0x2C1B3C6D
_MIX_2 = 0x297A2D39
_MASK_31 = 0x7FFFFFFF


@register_jitable
def mix(value: int) -> int:
    """Hash a non-negative integer to 31 bits; the same in compiled and in plain Python."""
    value = (value ^ (value >> 16)) & _MASK_31
    value = (value * _MIX_1) & _MASK_31
    value = value ^ (value >> 12)
    value = (value * _MIX_2) & _MASK_31
    return value ^ (value >> 15)


@register_jitable
def home_partition(line: int, partitions: int) -> int:
    """Partition whose DRAM holds the line."""
    if partitions == 1:
        return 0
    page = line >> LINES_PER_PAGE_BITS
    return (page ^ (page >> 1) ^ (page >> 4) ^ (page >> 5) ^ (page >> 7)) & 1


@register_jitable
def slice_in_partition(line: int, slices: int) -> int:
    """Slice of a partition that holds the line, as home or as a local copy."""
    block, half = line >> LINES_PER_BLOCK_BITS, line >> 1 & 1
    turn, place = block >> BLOCKS_PER_TURN_BITS, block & IN_TURN
    stretch = turn >> TURNS_PER_STRETCH_BITS
    before = stretch // slices
    if half:
        place = OTHER + place * STEP
    place += (turn & IN_STRETCH) * TURN + (stretch - before * slices) * STRETCH
    place += mix(2 * before) >> PLACE_BITS
    return place % slices


@register_jitable
def page_draw(line: int, draws: int) -> int:
    """Say which latency offset the DRAM page of the line has drawn; `draws` is a power of two."""
    return mix((line >> LINES_PER_PAGE_BITS) + 11) & (draws - 1)


@register_jitable
def channel_of(line: int, channels: int) -> int:
    """DRAM channel of the line's page."""
    return mix(5 * (line >> LINES_PER_PAGE_BITS) + 2) % channels
