"""Writes a timeline in Perfetto's native format, through the protocol buffers of its Python package.

One SM cycle is written as one microsecond, so a tick of 1/256 cycle keeps its place among the viewer's
nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from hoppersim.errors import InputError
from hoppersim.result.files import require_place, write_whole
from hoppersim.trace.timeline import Edge, Timeline, Track, Value, edges
from hoppersim.units import TICKS_PER_CYCLE

SUFFIXES = (".pftrace", ".perfetto-trace")
_NANOSECONDS = 1000
_SEQUENCE = 1


def require_writer(field: str, path: Path) -> None:
    """Refuse, before anything runs, a trace that cannot be written.

    Raises
    ------
    InputError
        If Perfetto's package is not installed, or the file has another suffix or could not be written.
    """
    if path.suffix not in SUFFIXES:
        rule = f"a trace in Perfetto's format ends in {' or '.join(SUFFIXES)}"
        raise InputError(field, str(path), rule, path.with_suffix(SUFFIXES[0]))
    require_place(field, path)
    if find_spec("perfetto") is None:
        rule = "needs the package perfetto; install it with: pip install 'hoppersim[trace]'"
        raise InputError(field, str(path), rule)


def write_trace(timeline: Timeline, path: Path) -> None:
    """Write a timeline, whole or not at all."""
    write_whole(path, lambda temporary: _write(timeline, temporary))


def nanoseconds(tick: int) -> int:
    """Give the time in the file of a tick: a microsecond for each SM cycle."""
    return tick * _NANOSECONDS // TICKS_PER_CYCLE


def _write(timeline: Timeline, path: Path) -> None:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos
    from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

    with path.open("wb") as file:
        builder = StreamingTraceProtoBuilder(file)
        for track in timeline.tracks:
            packet = builder.create_packet()
            _describe(track, packet.track_descriptor, protos)
            builder.write_packet(packet)
        for event in sorted(_events(timeline), key=lambda event: event.tick):
            packet = builder.create_packet()
            packet.timestamp = nanoseconds(event.tick)
            packet.trusted_packet_sequence_id = _SEQUENCE
            fill = _fill_edge if isinstance(event, Edge) else _fill_value
            fill(event, packet.track_event, protos)  # type: ignore[arg-type]
            builder.write_packet(packet)


def _events(timeline: Timeline) -> Iterator[Edge | Value]:
    """Give all events, those of a track in their order."""
    by_track = sorted(timeline.slices, key=lambda item: item.track)
    for _, slices in groupby(by_track, key=lambda item: item.track):
        yield from edges(list(slices))
    yield from timeline.values


def _describe(track: Track, descriptor: Any, protos: Any) -> None:
    descriptor.uuid = track.uuid
    descriptor.name = track.name
    descriptor.child_ordering = protos.TrackDescriptor.EXPLICIT
    descriptor.sibling_order_rank = track.uuid
    if track.parent:
        descriptor.parent_uuid = track.parent
    if track.unit:
        descriptor.counter.unit_name = track.unit


def _fill_edge(edge: Edge, event: Any, protos: Any) -> None:
    event.track_uuid = edge.slice.track
    if not edge.begins:
        event.type = protos.TrackEvent.TYPE_SLICE_END
        return
    event.type = protos.TrackEvent.TYPE_SLICE_BEGIN
    event.name = edge.slice.name
    event.flow_ids.extend(edge.slice.leaving)
    event.terminating_flow_ids.extend(edge.slice.arriving)
    for name, value in edge.slice.notes.items():
        note = event.debug_annotations.add(name=name)
        if isinstance(value, int):
            note.int_value = value
        else:
            note.string_value = value


def _fill_value(value: Value, event: Any, protos: Any) -> None:
    event.track_uuid = value.track
    event.type = protos.TrackEvent.TYPE_COUNTER
    event.double_counter_value = value.value
