"""What global memory must hold after a flow's TMA stores, worked out like the checks of received data.

The runner sets the stored allocations to zero before the launch that verifies. Afterwards the check of an
allocation is the sum of ``word[k] * weight(k) mod 2**32`` over its words, so a store that is missing, holds
other words or lies elsewhere changes it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoppersim.program.operations import TmaStore
from hoppersim.program.work import Flow, TensorMap
from hw_validate.expected import Event, Expectation, follow
from hw_validate.lower.layout import walk
from hw_validate.pattern import POISON, WEIGHT_SHIFT, NotFollowed, Words, mix, smem_words, word_shifts

MOST_WORDS = 2**24
"""Words of a stored allocation up to which its check is worked out: 64 MB."""


class _Box(NamedTuple):
    """What was stored at one place: the map, and where its data came from (None: poison)."""

    spec: TensorMap
    source: tuple[TensorMap, int] | None


def stored_checks(flow: Flow, clusters: int) -> dict[str, Any]:
    """Work out the check of every allocation that a flow stores to.

    Parameters
    ----------
    flow
        The flow; its grid must be a number, or nobody knows how much is stored.
    clusters
        Clusters that run.

    Returns
    -------
    dict
        ``allocations``: check by name; ``why``: what keeps them from being known.
    """
    operations = [operation for role in flow.program.roles for operation in walk(role.body)]
    if not any(isinstance(operation, TmaStore) for operation in operations):
        return {"allocations": {}, "why": "nothing is stored"}
    try:
        return {"allocations": _checks(flow, clusters), "why": ""}
    except NotFollowed as reason:
        return {"allocations": {}, "why": str(reason)}


def _checks(flow: Flow, clusters: int) -> dict[str, int]:
    if flow.launch.grid == "fill":
        raise NotFollowed("a grid that is known on the GPU only")
    boxes = _stored_boxes(Expectation(flow, clusters), clusters)
    return {
        name: _allocation_check(flow.launch.allocation(name).bytes // 4, found)
        for name, found in boxes.items()
    }


def _stored_boxes(known: Expectation, clusters: int) -> dict[str, dict[int, _Box]]:
    """List what lies at last at each first word of an allocation; each place belongs to one CTA."""
    known.follow_loads()
    found: dict[str, dict[int, _Box]] = {}
    owners: dict[tuple[str, int], tuple[int, int]] = {}
    for role in known.program.roles:
        for rank in role.ranks or range(known.size):
            for event in follow(role):
                store = event.operation
                if not isinstance(store, TmaStore):
                    continue
                spec = known.program.map(store.map)
                places = known.first_words(spec, [known.vector(c, event, rank) for c in store.coordinates])
                sources = _sources(known, store, event, rank, clusters)
                for cluster, (place, source) in enumerate(zip(places.tolist(), sources, strict=True)):
                    if owners.setdefault((spec.allocation, place), (cluster, rank)) != (cluster, rank):
                        raise NotFollowed("CTAs that store to the same place")
                    found.setdefault(spec.allocation, {})[place] = _Box(spec, source)
    return found


def _sources(
    known: Expectation, store: TmaStore, event: Event, rank: int, clusters: int
) -> list[tuple[TensorMap, int] | None]:
    """Say for each cluster which box of global memory the stored bytes are; None where nothing was loaded."""
    boxes = known.boxes_at(store.buffer, event, rank)
    if not boxes:
        return [None] * clusters
    offset = known.plain(store.offset, event, rank)
    spec = known.program.map(store.map)
    same = [item for item in boxes if item[0] == offset and item[1].box_bytes == spec.box_bytes]
    if not same or smem_words(same[-1][1], 0).tolist() != smem_words(spec, 0).tolist():
        raise NotFollowed("stores of other boxes than were loaded")
    _, loaded, coordinates = same[-1]
    return [(loaded, place) for place in known.first_words(loaded, coordinates).tolist()]


def _allocation_check(words: int, boxes: dict[int, _Box]) -> int:
    """Weigh what the boxes leave in an allocation of zeros."""
    if words > MOST_WORDS:
        raise NotFollowed(f"more than {MOST_WORDS * 4 // 2**20} MB of stored data")
    free = np.ones(words, bool)
    total = 0
    for place, box in boxes.items():
        here = (np.int64(place) + word_shifts(box.spec)).astype(np.int64)
        if not free[here].all():
            raise NotFollowed("stored boxes that overlap")
        free[here] = False
        total += int((_values(box, len(here)) * _weights(here)).sum(dtype=np.uint64))
    return total % 2**64


def _values(box: _Box, words: int) -> Words:
    if box.source is None:
        return np.full(words, POISON, np.uint32)
    spec, place = box.source
    return mix(np.uint32(place % 2**32) + word_shifts(spec))


def _weights(places: NDArray[np.int64]) -> Words:
    return mix(places.astype(np.uint32) + WEIGHT_SHIFT) | np.uint32(1)
