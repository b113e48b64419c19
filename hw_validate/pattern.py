"""The words that fill global memory, their weights, and where a box's words lie on both sides."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from hoppersim.program.work import TensorMap

POISON = np.uint32(0xDEADBEEF)
MADE = np.uint32(0x5EED0000)
WEIGHT_SHIFT = np.uint32(0x7F4A7C15)
BATCH_WORDS = 2**22
Words = NDArray[np.uint32]
Checks = NDArray[np.uint64]


class NotFollowed(Exception):
    """The program does something that the check cannot follow; the message says what."""


def mix(index: Words) -> Words:
    """Give the word that the runner stores at each place of global memory."""
    k = index * np.uint32(0x9E3779B1)
    k = (k ^ (k >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
    return k ^ (k >> np.uint32(13))


@cache
def weights(words: int) -> Words:
    """Give the weights of the first words of a stage."""
    return mix(np.arange(words, dtype=np.uint32) + WEIGHT_SHIFT) | np.uint32(1)


def box_checks(spec: TensorMap, offset: int, first: list[int]) -> list[int]:
    """Give the check of the boxes that begin at some words of global memory, at one offset of a stage."""
    places, shifts = smem_words(spec, offset), word_shifts(spec)
    weight = weights(int(places.max()) + 1)[places]
    rows = max(1, BATCH_WORDS // len(shifts))
    found: list[int] = []
    for k in range(0, len(first), rows):
        begin = np.array(first[k : k + rows], np.uint64).astype(np.uint32)
        words = mix(begin[:, None] + shifts[None, :])
        found += (words * weight).sum(axis=1, dtype=np.uint64).tolist()
    return found


def word_shifts(spec: TensorMap) -> Words:
    """Give how many words each word of a box, innermost first, lies behind its first one in global memory."""
    counts = list(spec.box_elements)
    if counts[0] * spec.element_bytes % 4 or any(stride % 4 for stride in spec.byte_strides[1:]):
        raise NotFollowed("rows that are not whole words")
    shifts = np.arange(counts[0] * spec.element_bytes // 4, dtype=np.uint32)
    for dim in range(1, spec.rank):
        step = spec.element_strides[dim] if spec.element_strides else 1
        outer = np.arange(counts[dim], dtype=np.uint32) * np.uint32(step * spec.byte_strides[dim] // 4)
        shifts = (outer[:, None] + shifts[None, :]).reshape(-1)
    return shifts


def smem_words(spec: TensorMap, offset: int) -> NDArray[np.int64]:
    """Give the place in the stage, in words, of each word of a box."""
    if spec.interleave or (spec.swizzle and spec.box[0] * spec.element_bytes != spec.swizzle):
        raise NotFollowed("interleaved boxes, and swizzled ones narrower than the swizzle")
    byte = offset + 4 * np.arange(spec.box_bytes // 4, dtype=np.int64)
    if spec.swizzle:
        byte ^= (byte >> 7 & (spec.swizzle // 16 - 1)) << 4
    return byte // 4
