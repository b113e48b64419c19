"""Where a line lives: its home partition, its slice and its DRAM channel.

Models: pages of 4 KB alternate between the two partitions by an exclusive-or of page-number bits (published
for one H100 PCIe part, the best public figure). Inside a partition a hash of the line number draws the
slice, and another the channel: one 32 KB tile read by the whole chip is held to 36 % of the L2's rate,
which is what 256 random draws among the slices give, and what an even spread would not.

Leaves out: the real hash inside a partition, which nothing public gives; physical page scattering.
"""

from __future__ import annotations

from numba.extending import register_jitable

LINES_PER_PAGE_BITS = 5
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
    return mix(3 * line + 1) % slices


@register_jitable
def channel_of(line: int, channels: int) -> int:
    """DRAM channel of the line."""
    return mix(5 * line + 2) % channels
