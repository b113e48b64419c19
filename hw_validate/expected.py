"""What the check of received data must give, worked out by following the program without timing.

A check is the sum of ``word[k] * weight(k) mod 2**32`` over the words of a stage, chained modulo ``2**64``
over the tiles that a role waits for. Word k of an allocation holds ``mix(k)``, so no data are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoppersim.program.operands import constant_value, mask_ranks
from hoppersim.program.operations import (
    Affine,
    BulkCopy,
    For,
    Operand,
    Operation,
    RemoteStore,
    StAsync,
    TmaLoad,
    Wait,
)  # fmt: skip
from hoppersim.program.work import Flow, Role, TensorMap
from hw_validate.lower.frame import guarded_buffers
from hw_validate.lower.layout import walk
from hw_validate.lower.statements import CHECK_FACTOR
from hw_validate.pattern import MADE, POISON, Checks, NotFollowed, box_checks, weights


@dataclass(frozen=True)
class Event:
    """An operation at one point of its loops, with the stage and round that its ring has there."""

    operation: Operation
    loops: dict[str, int]
    ring: dict[int, tuple[int, int]]

    def place(self, stages: int) -> tuple[int, int]:
        """Give stage and round of something with so many stages."""
        return self.ring.get(stages, (0, 0))


def follow(role: Role) -> Iterator[Event]:
    """Yield a role's operations in the order in which it performs them.

    A loop that follows another of as many stages starts a round of its own, after those of the first.
    """
    positions: dict[int, int] = {}
    used: dict[int, int] = {}

    def visit(
        body: tuple[Operation, ...], loops: dict[str, int], ring: dict[int, tuple[int, int]]
    ) -> Iterator[Event]:
        for operation in body:
            if not isinstance(operation, For):
                yield Event(operation, loops, ring)
                continue
            stages = operation.stages
            positions.setdefault(id(operation), -(-used.get(stages, 0) // stages) * stages)
            for count in range(operation.n):
                position = positions[id(operation)]
                here = (position % operation.stages, position // operation.stages)
                yield from visit(
                    operation.body, loops | {operation.name: count}, ring | {operation.stages: here}
                )
                positions[id(operation)] = position + 1
                used[stages] = max(used.get(stages, 0), position + 1)

    yield from visit(role.body, {}, {})


@dataclass
class _Stage:
    """What one stage of a buffer holds: the check of each piece, by its offset."""

    words: int
    pieces: dict[int, tuple[int, Checks]] = field(default_factory=dict)

    def check(self, clusters: int) -> Checks:
        """Give the check of the whole stage for every cluster."""
        gap = np.ones(self.words, bool)
        total = np.zeros(clusters, np.uint64)
        for offset, (size, value) in self.pieces.items():
            if not gap[offset // 4 : (offset + size) // 4].all():
                raise NotFollowed("boxes overlap in a buffer")
            gap[offset // 4 : (offset + size) // 4] = False
            total = total + value
        rest = (weights(self.words)[gap] * POISON).sum(dtype=np.uint64)
        return np.asarray(total + rest, np.uint64)


class Expectation:
    """Follows one flow for a number of clusters at once."""

    def __init__(self, flow: Flow, clusters: int) -> None:
        self.flow = flow
        self.program = flow.program
        self.size = flow.launch.cluster_size
        self.clusters = np.arange(clusters, dtype=np.int64)
        self.guarded = guarded_buffers(flow.program)
        self._boxes: dict[tuple[str, int], dict[int, int]] = {}
        self._loaded: dict[tuple[int, str, int], dict[int, list[Any]]] = {}
        self._operations = [operation for role in flow.program.roles for operation in walk(role.body)]

    def checks(self) -> dict[str, list[list[int | None]]]:
        """Give the check of each role by cluster and rank; None where the role does not run."""
        arrived = self._arrivals()
        found = {}
        for role in self.program.roles:
            if any(
                isinstance(event.operation, Wait) and event.operation.barrier in self.guarded
                for event in follow(role)
            ):
                ranks = role.ranks or tuple(range(self.size))
                table: list[list[int | None]] = [[None] * self.size for _ in self.clusters]
                for rank in ranks:
                    for cluster, value in enumerate(self._chain(role, rank, arrived)):
                        table[cluster][rank] = int(value)
                if any(self._checked_waits(role)):
                    found[role.name] = table
        return found

    def _checked_waits(self, role: Role) -> Iterator[Event]:
        for event in follow(role):
            operation = event.operation
            if (
                isinstance(operation, Wait)
                and operation.phase == "full"
                and operation.barrier in self.guarded
            ):
                yield event

    def _chain(self, role: Role, rank: int, arrived: dict[Any, list[Any]]) -> Checks:
        """Chain the checks of the tiles that a role waits for in one rank."""
        total = np.zeros(len(self.clusters), np.uint64)
        held: dict[tuple[str, int], _Stage] = {}
        for event in self._checked_waits(role):
            assert isinstance(event.operation, Wait)
            barrier = event.operation.barrier
            stage, turn = event.place(self.program.barrier(barrier).stages)
            for buffer, place, offset, size, value in arrived.get((rank, barrier, stage, turn), ()):
                words = self.program.buffer(buffer).bytes // 4
                held.setdefault((buffer, place), _Stage(words)).pieces[offset] = (size, value)
            for name in self.guarded[barrier]:
                buffer = self.program.buffer(name)
                place = event.place(buffer.stages)[0]
                value = held.setdefault((name, place), _Stage(buffer.bytes // 4)).check(len(self.clusters))
                total = total * np.uint64(CHECK_FACTOR) + value
        return total

    def follow_loads(self) -> None:
        """Find out what loads leave in the buffers, which `boxes_at` then tells."""
        self._arrivals()

    def _arrivals(self) -> dict[Any, list[Any]]:
        """List what each phase of each barrier brings: (buffer, stage, offset, bytes, check by cluster)."""
        found: dict[Any, list[Any]] = {}
        copies: list[tuple[BulkCopy, Event, int]] = []
        for role in self.program.roles:
            for rank in role.ranks or range(self.size):
                for event in follow(role):
                    operation = event.operation
                    if isinstance(operation, RemoteStore):
                        raise NotFollowed("data of RemoteStore, which no barrier announces")
                    if isinstance(operation, TmaLoad):
                        self._add_load(found, operation, event, rank)
                    elif isinstance(operation, StAsync):
                        self._add_store(found, operation, event, rank)
                    elif isinstance(operation, BulkCopy):
                        copies.append((operation, event, rank))
        for copy, event, rank in copies:
            self._add_copy(found, copy, event, rank)
        return found

    def _add_load(self, found: dict[Any, list[Any]], load: TmaLoad, event: Event, rank: int) -> None:
        offset = self.plain(load.offset, event, rank)
        spec = self.program.map(load.map)
        coordinates = [self.vector(part, event, rank) for part in load.coordinates]
        value = self._box_check(spec, coordinates, offset)
        ranks = (rank,) if load.mask is None else mask_ranks(self.plain(load.mask, event, rank))
        stage, turn = event.place(self.program.barrier(load.barrier).stages)
        place, visit = event.place(self.program.buffer(load.buffer).stages)
        for target in ranks:
            entry = (load.buffer, place, offset, spec.box_bytes, value)
            found.setdefault((target, load.barrier, stage, turn), []).append(entry)
            boxes = self._loaded.setdefault((target, load.buffer, place), {})
            boxes.setdefault(visit, []).append((offset, spec, coordinates))

    def _add_store(self, found: dict[Any, list[Any]], store: StAsync, event: Event, rank: int) -> None:
        words = store.bytes // 4
        made = np.arange(words, dtype=np.uint32) + MADE
        value = np.full(len(self.clusters), (made * weights(words)).sum(dtype=np.uint64), np.uint64)
        stage, turn = event.place(self.program.barrier(store.barrier).stages)
        place = event.place(self.program.buffer(store.buffer).stages)[0]
        target = self.plain(store.rank, event, rank)
        found.setdefault((target, store.barrier, stage, turn), []).append(
            (store.buffer, place, 0, store.bytes, value)
        )

    def _add_copy(self, found: dict[Any, list[Any]], copy: BulkCopy, event: Event, rank: int) -> None:
        """Add what a bulk copy brings: the boxes of its source, or poison where none was loaded."""
        destination = self.program.buffer(copy.destination)
        if any(isinstance(op, BulkCopy) and op.destination == copy.source for op in self._operations):
            raise NotFollowed("data that bulk copies pass on")
        first, shift = (
            self.plain(copy.source_offset, event, rank),
            self.plain(copy.destination_offset, event, rank),
        )
        stage, turn = event.place(self.program.barrier(copy.barrier).stages)
        place = event.place(destination.stages)[0]
        target = self.plain(copy.rank, event, rank)
        arrived = found.setdefault((target, copy.barrier, stage, turn), [])
        boxes = self.boxes_at(copy.source, event, rank)
        for offset, spec, coordinates in boxes:
            if not first <= offset <= offset + spec.box_bytes <= first + copy.bytes:
                raise NotFollowed("bulk copies of parts of boxes")
            at = offset - first + shift
            value = self._box_check(spec, coordinates, at)
            arrived.append((copy.destination, place, at, spec.box_bytes, value))
        if not boxes:
            words = weights((shift + copy.bytes) // 4)[shift // 4 :] * POISON
            value = np.full(len(self.clusters), words.sum(dtype=np.uint64), np.uint64)
            arrived.append((copy.destination, place, shift, copy.bytes, value))

    def boxes_at(self, buffer: str, event: Event, rank: int) -> list[Any]:
        """Give the boxes that a stage of a buffer holds: those of its last visit so far."""
        place, visit = event.place(self.program.buffer(buffer).stages)
        visits = self._loaded.get((rank, buffer, place), {})
        before = [number for number in visits if number <= visit]
        return visits[max(before)] if before else []

    def vector(self, operand: Operand, event: Event, rank: int) -> NDArray[np.int64]:
        """Evaluate an operand for all clusters."""
        if isinstance(operand, int):
            return np.full(len(self.clusters), operand, np.int64)
        base = operand.base + operand.rank * rank + (operand.by_rank[rank] if operand.by_rank else 0)
        base += sum(step * event.loops[name] for name, step in operand.loops.items())
        values = base + operand.cluster * self.clusters
        return values % operand.wrap if operand.wrap else values

    def plain(self, operand: Operand, event: Event, rank: int) -> int:
        """Evaluate an operand that does not depend on the cluster."""
        if isinstance(operand, Affine) and operand.cluster and constant_value(operand) is None:
            raise NotFollowed("an offset, mask or rank depends on the cluster")
        return int(self.vector(operand, event, rank)[0])

    def first_words(self, spec: TensorMap, coordinates: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Give the word of the allocation at which each cluster's box begins; boxes lie inside the tensor."""
        counts = spec.box_elements
        inside = np.ones(len(self.clusters), bool)
        address = np.full(len(self.clusters), spec.base, np.int64)
        for dim, start in enumerate(coordinates):
            step = spec.element_strides[dim] if spec.element_strides and dim else 1
            inside &= (start >= 0) & (start + (counts[dim] - 1) * step < spec.dims[dim])
            address += start * spec.byte_strides[dim]
        if not inside.all() or (address % 4).any():
            raise NotFollowed("boxes that lie partly out of bounds, or off the word grid")
        return np.asarray(address // 4)

    def _box_check(self, spec: TensorMap, coordinates: list[NDArray[np.int64]], offset: int) -> Checks:
        """Give the check of a box at an offset of its stage, for the coordinates of every cluster."""
        first = self.first_words(spec, coordinates)
        known = self._boxes.setdefault((spec.name, offset), {})
        if missing := sorted(set(first.tolist()) - known.keys()):
            known.update(zip(missing, box_checks(spec, offset, missing), strict=True))
        return np.array([known[place] for place in first.tolist()], np.uint64)


def expected_checks(flow: Flow, clusters: int) -> dict[str, Any]:
    """Work out the checks of a flow for its first clusters; `why` says what keeps them from being known."""
    try:
        return {"roles": Expectation(flow, clusters).checks(), "why": ""}
    except NotFollowed as reason:
        return {"roles": {}, "why": str(reason)}
