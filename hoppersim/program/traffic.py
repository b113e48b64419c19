"""The traffic table of a work: what every SM asks for in a run, for the closed-form bound.

Nothing is simulated. Tiles that several CTAs read are found by their addresses, so the table says what a
coalescer could merge at best, and what DRAM must deliver at least. Boxes that overlap in part count as
different data. Stores to global memory are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from hoppersim.machine import Machine, Placement, TrafficRow, resident, select_sms
from hoppersim.program.operands import mask_ranks
from hoppersim.program.operations import BulkCopy, Operand, RemoteLoad, RemoteStore, StAsync, TmaLoad
from hoppersim.program.tiles import Ints, box_tiles, loop_steps, operand_values
from hoppersim.program.walk import Visit, role_runs_on, walk
from hoppersim.program.work import Flow, SmSet, Work

_SEED = 20240229
_PAGE = 2 * 2**20
_MOST_ROWS = 30_000


class _Reader(NamedTuple):
    """One CTA's loads of one kind: who asks, who receives, and the tiles with their counts."""

    origin: int
    destinations: tuple[int, ...]
    address: Ints
    bytes: Ints
    lines: Ints
    counts: Ints


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
    count = -(-int(flow.launch.grid) // flow.launch.cluster_size)
    return tuple(clusters[number % len(clusters)] for number in range(count))


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
    readers: list[_Reader] = []
    rows: list[TrafficRow] = []
    base = 0
    cold = any(flow.launch.warm == 0 for flow in work.flows)
    for flow, placement in zip(work.flows, places, strict=True):
        clusters = flow_clusters(flow, placement)
        bases = {}
        for memory in flow.launch.allocations:
            bases[memory.name] = base + memory.base
            base += -(-(memory.bytes + memory.base) // _PAGE) * _PAGE
        readers += chain.from_iterable(_loads(flow, visit, clusters, bases) for visit in walk(flow.program))
        rows += chain.from_iterable(_peer_rows(visit, clusters) for visit in walk(flow.program))
    return _load_rows(machine, readers, cold) + _joined(rows)


def _loads(
    flow: Flow, visit: Visit, clusters: Sequence[tuple[int, ...]], bases: dict[str, int]
) -> Iterator[_Reader]:
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
                yield _Reader(
                    sm,
                    tuple(cluster[peer] for peer in ranks),
                    tiles.address[own],
                    tiles.bytes[own],
                    tiles.lines[own],
                    steps.counts[own],
                )


def _load_rows(machine: Machine, readers: list[_Reader], cold: bool) -> list[TrafficRow]:
    """Sort the tiles into classes of equal readers, and make a row of each class and reader."""
    if not readers:
        return []
    owner = np.repeat(np.arange(len(readers)), [len(reader.address) for reader in readers])
    address, size, lines, counts = (
        np.concatenate([reader[field] for reader in readers]) for field in range(2, 6)
    )
    uncached = _uncached_share(machine, address, size, cold)
    pair, place = _pairs(np.unique(address, return_inverse=True)[1], owner, counts)
    totals = [np.bincount(place, weights=part).tolist() for part in (size * counts, lines * counts, size)]
    kinds = pair // len(readers)
    shared = (np.bincount(kinds) > 1).tolist()
    rows = []
    for who, kind, total, count, once in zip(
        (pair % len(readers)).tolist(), kinds.tolist(), *totals, strict=True
    ):
        tag = kind if shared[kind] else None
        source: Literal["hbm", "l2"] = "hbm" if uncached else "l2"
        origin, destinations = readers[who][:2]
        rows.append(
            TrafficRow(source, origin, destinations, int(total), tag, int(once * uncached), int(count))
        )
    return rows


def _pairs(tile: Ints, owner: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Give the distinct (class, reader) pairs, as ``class * readers + reader``, and the pair of each item.

    Two tiles are of one class if the same readers read both equally often. If that makes too many rows,
    how often no longer counts, and at last all tiles are one class: each step can only lower the bound.
    """
    readers = int(owner.max()) + 1
    weights = np.random.default_rng(_SEED).integers(1, 2**62, readers, dtype=np.uint64)
    for often in (2 * counts.astype(np.uint64) + 1, np.ones(len(tile), np.uint64)):
        signature = np.zeros(int(tile.max()) + 1, np.uint64)
        np.add.at(signature, tile, weights[owner] * often)
        kind = np.unique(signature, return_inverse=True)[1][tile]
        pair, place = np.unique(kind * readers + owner, return_inverse=True)
        if len(pair) <= _MOST_ROWS:
            return pair, place
    return np.unique(owner, return_inverse=True)


def _uncached_share(machine: Machine, address: Ints, size: Ints, cold: bool) -> float:
    """Give the least share of the distinct bytes that must come from DRAM."""
    first = np.unique(address, return_index=True)[1]
    footprint = int(size[first].sum())
    if cold:
        return 1.0
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
