"""Cuts tiles that overlap in part into pieces: two tiles have a piece in common whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoppersim.program.tiles import Ints, Shape

MOST_RUNS = 2**22
"""Runs of bytes, or pieces over all readers, above which all tiles are taken as one piece."""
_SEED = 20240229


class Pieces(NamedTuple):
    """Which tile holds which piece, sorted by tile.

    `bytes` are what a read of the tile moves of the piece; `distinct_bytes`, by piece, are what no other
    piece holds.
    """

    tile: Ints
    piece: Ints
    bytes: Ints
    distinct_bytes: Ints


def cut(address: Ints, shape: Ints, shapes: Sequence[Shape], readers: Ints) -> Pieces:
    """Cut distinct tiles into pieces; a piece is all the bytes that the same tiles hold.

    Parameters
    ----------
    address
        First byte of every tile.
    shape
        Place of its shape in `shapes`.
    shapes
        The shapes.
    readers
        How often each tile will be looked up.

    Returns
    -------
    Pieces
        If there were too many, one piece without distinct bytes: that can only lower a bound.
    """
    offsets = [form.offsets for form in shapes]
    runs = np.array([len(starts) for starts in offsets])[shape]
    length = np.array([form.run_bytes for form in shapes])[shape]
    tiles = np.arange(len(address))
    whole = Pieces(tiles, np.zeros_like(tiles), runs * length, np.zeros(1, np.int64))
    if runs.sum() > MOST_RUNS:
        return whole
    tile = np.repeat(tiles, runs)
    start = np.concatenate([offsets[form] for form in shape]) + address[tile]
    end = start + length[tile]
    order = np.argsort(start)
    if (start[order][1:] >= end[order][:-1]).all():
        return Pieces(tiles, tiles, runs * length, runs * length)
    edges = np.sort(np.concatenate((start, end)))
    cuts = edges[np.diff(edges, prepend=-1) > 0]
    first = np.searchsorted(cuts, start)
    parts = np.searchsorted(cuts, end) - first
    if parts.sum() > MOST_RUNS:
        return whole
    found = _pieces(np.repeat(tile, parts), ragged(first, parts), np.diff(cuts))
    return whole if readers[found.tile].sum() > MOST_RUNS else found


def _pieces(tile: Ints, part: Ints, size: Ints) -> Pieces:
    """Join the parts between two cuts that the same tiles hold."""
    holders = np.zeros(len(size), np.uint64)
    np.add.at(holders, part, random_weights(int(tile.max(initial=0)) + 1)[tile])
    kinds, kind = np.unique(holders, return_inverse=True)
    pairs, place = np.unique(tile * len(kinds) + kind[part], return_inverse=True)
    moved = np.bincount(place, weights=size[part]).astype(np.int64)
    distinct = np.bincount(kind, weights=size * (holders > 0)).astype(np.int64)
    return Pieces(pairs // max(1, len(kinds)), pairs % max(1, len(kinds)), moved, distinct)


def ragged(first: Ints, counts: Ints) -> Ints:
    """Give ``first[i], first[i] + 1, ...``, `counts[i]` numbers, for every i in turn."""
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(counts.sum())


def random_weights(count: int) -> NDArray[np.uint64]:
    """Give weights by which sets can be compared: those of equal sums are taken as equal."""
    return np.random.default_rng(_SEED).integers(1, 2**62, count, dtype=np.uint64)
