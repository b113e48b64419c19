"""The traffic table of a work: what every SM asks for in a run, for the closed-form bound.

Nothing is simulated. Tiles that several CTAs read are found by their addresses, so the table says what a
coalescer could merge at best, and what DRAM must deliver at least. Stores to global memory are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from hoppersim.machine import Machine, Placement, TrafficRow, resident, select_sms
from hoppersim.program.operands import mask_ranks
from hoppersim.program.operations import BulkCopy, Operand, RemoteLoad, RemoteStore, StAsync, TmaLoad
from hoppersim.program.pieces import cut, ragged, random_weights
from hoppersim.program.tiles import Ints, Shape, Tiles, box_tiles, loop_steps, operand_values
from hoppersim.program.walk import Visit, role_runs_on, walk_performed
from hoppersim.program.work import Flow, SmSet, Work

_PAGE = 2 * 2**20
_MOST_ROWS = 30_000


class Reader(NamedTuple):
    """One CTA's loads of one kind: who asks, who receives, and the tiles with their counts."""

    origin: int
    destinations: tuple[int, ...]
    tiles: Tiles
    counts: Ints


class _Reads(NamedTuple):
    """Pieces of tiles, each with its reader, how often it is read, and what that moves.

    `distinct_bytes` is by piece; the lines of a tile count with its first piece.
    """

    piece: Ints
    reader: Ints
    counts: Ints
    bytes: Ints
    lines: Ints
    distinct_bytes: Ints


def place_flow(machine: Machine, flow: Flow) -> Placement:
    """Place one wave of a flow's clusters on the machine.

    Raises
    ------
    InputError
        If the flow cannot be launched.
    """
    launch, sms = flow.launch, flow.launch.sms
    allowed = None
    if sms != SmSet():
        allowed = select_sms(machine.floorplan, sms.gpcs, sms.per_gpc, sms.spread)
    program = flow.program
    return resident(machine, launch.cluster_size, program.shared_bytes, program.threads, allowed)


def flow_clusters(flow: Flow, placement: Placement) -> tuple[tuple[int, ...], ...]:
    """List the SMs by rank of every cluster of a flow; waves reuse the SMs in turn."""
    clusters = placement.clusters
    if flow.launch.grid == "fill":
        return clusters
    return tuple(clusters[number % len(clusters)] for number in range(count_clusters(flow, placement)))


def count_clusters(flow: Flow, placement: Placement) -> int:
    """Count the clusters of a flow."""
    if flow.launch.grid == "fill":
        return len(placement.clusters)
    return -(-int(flow.launch.grid) // flow.launch.cluster_size)


def count_waves(machine: Machine, work: Work) -> int:
    """Count the clusters that follow each other in one place, in the flow where they are most.

    Raises
    ------
    InputError
        If a flow cannot be launched.
    """
    waves = [1]
    for flow in work.flows:
        placement = place_flow(machine, flow)
        waves.append(-(-count_clusters(flow, placement) // max(1, len(placement.clusters))))
    return max(waves)


def traffic_table(
    machine: Machine, work: Work, placements: Sequence[Placement] | None = None
) -> list[TrafficRow]:
    """Make the traffic table of a work.

    Parameters
    ----------
    machine
        The machine.
    work
        The work; illegal work may raise any error.
    placements
        Where each flow's clusters run; None places them.

    Raises
    ------
    InputError
        If a flow cannot be launched.
    """
    places = placements or tuple(place_flow(machine, flow) for flow in work.flows)
    readers: list[Reader] = []
    rows: list[TrafficRow] = []
    base = 0
    cold = any(flow.launch.warm == 0 for flow in work.flows)
    for flow, placement in zip(work.flows, places, strict=True):
        clusters = flow_clusters(flow, placement)
        bases = {}
        for memory in flow.launch.allocations:
            bases[memory.name] = base + memory.base
            base += -(-(memory.bytes + memory.base) // _PAGE) * _PAGE
        for visit in walk_performed(flow.program):
            readers += load_readers(flow, visit, clusters, bases)
            rows += _peer_rows(visit, clusters)
    return _load_rows(machine, readers, cold) + _joined(rows)


def load_readers(
    flow: Flow, visit: Visit, clusters: Sequence[tuple[int, ...]], bases: dict[str, int]
) -> Iterator[Reader]:
    """Find the tiles of one load in every CTA that performs it."""
    load = visit.operation
    if not isinstance(load, TmaLoad):
        return
    tensor_map = flow.program.map(load.map)
    operands: tuple[Operand, ...] = (*load.coordinates, 0 if load.mask is None else load.mask)
    steps = loop_steps(operands, visit.loops)
    for number, cluster in enumerate(clusters):
        for rank, sm in enumerate(cluster):
            if not role_runs_on(visit.role, rank):
                continue
            *coordinates, masks = (
                operand_values(operand, column, number, rank)
                for operand, column in zip(operands, steps.columns, strict=True)
            )
            tiles = box_tiles(tensor_map, bases[tensor_map.allocation], coordinates)
            for mask in np.unique(masks):
                ranks = (rank,) if load.mask is None else mask_ranks(int(mask))
                own = masks == mask
                yield Reader(
                    sm,
                    tuple(cluster[peer] for peer in ranks),
                    tiles.only(own),
                    steps.counts[own],
                )


def _load_rows(machine: Machine, readers: list[Reader], cold: bool) -> list[TrafficRow]:
    """Sort the pieces of tiles into classes of equal readers, and make a row of each class and reader."""
    if not readers:
        return []
    reads = _reads(readers)
    uncached = 1.0 if cold else _uncached_share(machine, int(reads.distinct_bytes.sum()))
    pair, place = _pairs(reads, len(readers))
    moved, lines = (
        np.bincount(place, weights=part * reads.counts, minlength=len(pair)).tolist()
        for part in (reads.bytes, reads.lines)
    )
    once = np.bincount(place, weights=_first_bytes(reads), minlength=len(pair)) * uncached
    kinds = pair // len(readers)
    shared = (np.bincount(kinds) > 1).tolist()
    source: Literal["hbm", "l2"] = "hbm" if uncached else "l2"
    rows = []
    for who, kind, total, count, dram in zip(
        (pair % len(readers)).tolist(), kinds.tolist(), moved, lines, once.tolist(), strict=True
    ):
        tag = kind if shared[kind] else None
        origin, destinations = readers[who][:2]
        rows.append(TrafficRow(source, origin, destinations, int(total), tag, int(dram), int(count)))
    return rows


def _reads(readers: list[Reader]) -> _Reads:
    """Cut the tiles of all readers into pieces."""
    shapes = {shape: number for number, shape in enumerate(_distinct_shapes(readers))}
    shape = np.concatenate([np.array([shapes[s] for s in r.tiles.shapes])[r.tiles.shape] for r in readers])
    address, lines = (np.concatenate([r.tiles[field] for r in readers]) for field in (0, 2))
    _, first, tile, visits = np.unique(
        address * len(shapes) + shape, return_index=True, return_inverse=True, return_counts=True
    )
    pieces = cut(address[first], shape[first], tuple(shapes), visits)
    held = np.bincount(pieces.tile, minlength=len(first))
    parts = held[tile]
    place = ragged((np.cumsum(held) - held)[tile], parts)
    is_first = ragged(np.zeros_like(parts), parts) == 0
    reader = np.repeat(np.arange(len(readers)), [len(r.counts) for r in readers])
    counts = np.concatenate([r.counts for r in readers])
    return _Reads(
        pieces.piece[place],
        np.repeat(reader, parts),
        np.repeat(counts, parts),
        pieces.bytes[place],
        np.repeat(lines, parts) * is_first,
        pieces.distinct_bytes,
    )


def _distinct_shapes(readers: list[Reader]) -> dict[Shape, None]:
    return dict.fromkeys(shape for reader in readers for shape in reader.tiles.shapes)


def _first_bytes(reads: _Reads) -> Ints:
    """Give the distinct bytes of each piece where its reader first reads it, else 0."""
    key = reads.reader * len(reads.distinct_bytes) + reads.piece
    first = np.unique(key, return_index=True)[1]
    found = np.zeros_like(key)
    found[first] = reads.distinct_bytes[reads.piece[first]]
    return found


def _pairs(reads: _Reads, readers: int) -> tuple[Ints, Ints]:
    """Give the distinct (class, reader) pairs, as ``class * readers + reader``, and the pair of each read.

    Two pieces are of one class if the same readers read both equally often. If that makes too many rows,
    how often no longer counts, and at last all pieces are one class: each step can only lower the bound.
    """
    weights = random_weights(readers)[reads.reader]
    for often in (2 * reads.counts.astype(np.uint64) + 1, np.uint64(1)):
        signature = np.zeros(len(reads.distinct_bytes), np.uint64)
        np.add.at(signature, reads.piece, weights * often)
        kind = np.unique(signature, return_inverse=True)[1][reads.piece]
        pair, place = np.unique(kind * readers + reads.reader, return_inverse=True)
        if len(pair) <= _MOST_ROWS:
            return pair, place
    return np.unique(reads.reader, return_inverse=True)


def _uncached_share(machine: Machine, footprint: int) -> float:
    """Give the least share of so many distinct bytes that must come from DRAM."""
    return max(0.0, 1.0 - machine.spec.l2.bytes / footprint) if footprint else 0.0


def _peer_rows(visit: Visit, clusters: Sequence[tuple[int, ...]]) -> Iterator[TrafficRow]:
    """Make the rows of one operation between SMs; of a remote load the owner is the sender."""
    move = visit.operation
    if not isinstance(move, BulkCopy | StAsync | RemoteStore | RemoteLoad):
        return
    steps = loop_steps((move.rank,), visit.loops)
    for number, cluster in enumerate(clusters):
        for rank, sm in enumerate(cluster):
            if not role_runs_on(visit.role, rank):
                continue
            peers = operand_values(move.rank, steps.columns[0], number, rank)
            for peer, count in zip(peers.tolist(), steps.counts.tolist(), strict=True):
                if peer == rank:
                    continue
                ends = (sm, cluster[peer])
                sender, receiver = ends[::-1] if isinstance(move, RemoteLoad) else ends
                yield TrafficRow("sm", sender, (receiver,), move.bytes * count)


def _joined(rows: list[TrafficRow]) -> list[TrafficRow]:
    """Add up rows between the same two SMs."""
    totals: dict[tuple[int, tuple[int, ...]], int] = defaultdict(int)
    for row in rows:
        totals[row.origin_sm, row.destinations] += row.bytes
    return [TrafficRow("sm", origin, ends, total) for (origin, ends), total in totals.items()]
