"""Time, size and rate: the units that the whole package speaks.

Simulated time is an integer number of ticks; one SM cycle is `TICKS_PER_CYCLE` ticks.
"""

from __future__ import annotations

from math import isfinite

TICKS_PER_CYCLE = 256
LINE_BYTES = 128
SECTOR_BYTES = 32
SECTORS_PER_LINE = LINE_BYTES // SECTOR_BYTES

_SIZE_SUFFIXES = {
    "": 1,
    "b": 1,
    "k": 2**10,
    "kb": 2**10,
    "kib": 2**10,
    "m": 2**20,
    "mb": 2**20,
    "mib": 2**20,
    "g": 2**30,
    "gb": 2**30,
    "gib": 2**30,
}


def to_ticks(cycles: float) -> int:
    """Round a duration in SM cycles to whole ticks, at least one."""
    return max(1, round(cycles * TICKS_PER_CYCLE))


def to_cycles(ticks: int) -> float:
    """Turn ticks into SM cycles."""
    return ticks / TICKS_PER_CYCLE


def parse_bytes(text: str) -> int:
    """Read a size such as ``32KB`` or ``4GiB``; K, M and G are powers of 1024.

    Raises
    ------
    ValueError
        If the text is not a non-negative number with a known suffix.
    """
    number = text.strip().lower().rstrip("bkmgi")
    factor = _SIZE_SUFFIXES.get(text.strip().lower()[len(number) :].strip())
    if factor is None or not number:
        raise ValueError(f"{text!r} is not a size; write for example 32KB or 4GiB")
    size = float(number) * factor
    if not isfinite(size) or size != int(size):
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(size)


def format_bytes(count: float) -> str:
    """Write a size with the largest fitting power of 1024."""
    for suffix in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024 or suffix == "GiB":
            return f"{count:.4g} {suffix}"
        count /= 1024
    raise AssertionError("unreachable")
