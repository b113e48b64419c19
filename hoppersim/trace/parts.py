"""Parts of a drawing that stand by themselves: use of links, transfers of TMA engines, phases of barriers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hoppersim.engine.interface import BETWEEN_SMS, COPY, LOAD, MULTICAST, REMOTE, STORE
from hoppersim.program.operations import StAsync
from hoppersim.trace.meter import Reading
from hoppersim.trace.replay import History, Receipt
from hoppersim.trace.timeline import Slice, Timeline, Track

KINDS = {LOAD: "load", COPY: "copy", STORE: "store", MULTICAST: "multicast", REMOTE: "remote access"}


def draw_links(timeline: Timeline, group: Track, readings: Sequence[Reading]) -> None:
    """Draw the use of links over time, those left out that did nothing."""
    used = {key for reading in readings for key, value in reading.values.items() if value}
    tracks = {
        (name, unit): timeline.track(f"{name} [{unit}]", group, unit)
        for name, unit in (readings[0].values if readings else ())
        if (name, unit) in used
    }
    for reading in readings:
        for key, track in tracks.items():
            timeline.value(track, reading.tick, reading.values[key])


def draw_engine(
    timeline: Timeline, group: Track, name: str, transfers: Sequence[Sequence[Receipt]]
) -> dict[int, Slice | None]:
    """Draw the transfers of one engine, those that overlap in time on lines beside each other.

    A transfer lasts from its issue to its last completion; of several receivers each has a slice inside.

    Returns
    -------
    dict
        The slice of each receipt, by the receipt's id.
    """
    found: dict[int, Slice | None] = {}
    lanes: list[tuple[Track, int]] = []
    for receipts in transfers:
        start = receipts[0].sent.transfer.tick
        end = max(_end(timeline, receipt) for receipt in receipts)
        free = next((place for place, (_, until) in enumerate(lanes) if until <= start), len(lanes))
        if free == len(lanes):
            lanes.append((timeline.track(name, group), 0))
        track = lanes[free][0]
        lanes[free] = (track, end)
        whole = timeline.slice(track, _transfer_name(receipts[0]), start, end, _transfer_notes(receipts))
        if len(receipts) == 1:
            found[id(receipts[0])] = whole
            continue
        in_order = sorted(receipts, key=lambda receipt: (-_end(timeline, receipt), receipt.place))
        for depth, receipt in enumerate(in_order, 1):
            sm = receipt.sent.transfer.destinations[receipt.place].sm
            found[id(receipt)] = timeline.slice(
                track, f"to SM {sm}", start, _end(timeline, receipt), None, depth
            )
    return found


def is_asynchronous_store(receipts: Sequence[Receipt]) -> bool:
    """Tell whether threads made a transfer by asynchronous stores, without the TMA engine."""
    return isinstance(receipts[0].sent.act.operation, StAsync)


def draw_barrier(timeline: Timeline, group: Track, name: str, history: History) -> None:
    """Draw the phases of one barrier, and what its present phase misses: arrivals and bytes."""
    phases = timeline.track(name, group)
    for phase in history.phases:
        end = phase.end if phase.end >= 0 else timeline.end
        timeline.slice(phases, f"phase {phase.number}", phase.start, end, {"completed": int(phase.end >= 0)})
    pending = timeline.track(f"{name} arrivals missing", group, "arrivals")
    missing = timeline.track(f"{name} bytes missing", group, "B")
    last = {max(state.tick, timeline.begin): state for state in history.states}
    for tick, state in last.items():
        timeline.value(pending, tick, state.pending)
        timeline.value(missing, tick, state.bytes)


def _end(timeline: Timeline, receipt: Receipt) -> int:
    return receipt.end if receipt.end >= 0 else timeline.end


def _transfer_name(receipt: Receipt) -> str:
    transfer = receipt.sent.transfer
    kind = "st_async" if is_asynchronous_store([receipt]) else KINDS[transfer.kind]
    return f"{kind} {transfer.bytes:,} B"


def _transfer_notes(receipts: Sequence[Receipt]) -> dict[str, int | str]:
    transfer = receipts[0].sent.transfer
    notes: dict[str, int | str] = {"bytes": transfer.bytes}
    if transfer.kind not in BETWEEN_SMS:
        notes["address"] = hex(transfer.address)
    notes["to SMs"] = ", ".join(str(destination.sm) for destination in transfer.destinations)
    if any(receipt.end < 0 for receipt in receipts):
        notes["completed"] = 0
    return notes


def names_of_barriers(barriers: Mapping[str, Sequence[int]]) -> dict[int, str]:
    """Name the barriers of a CTA by their numbers: ``full[2]``."""
    return {
        number: f"{name}[{stage}]"
        for name, numbers in barriers.items()
        for stage, number in enumerate(numbers)
    }
