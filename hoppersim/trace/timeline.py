"""A trace as plain data: tracks, slices that nest on them, counters, and arrows between slices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

Notes = dict[str, int | str]
"""What else there is to say of a slice: name and value, the unit in the name."""


@dataclass(frozen=True)
class Track:
    """A line of the viewer, or a group of lines; `unit` is set for counters only."""

    uuid: int
    parent: int
    name: str
    unit: str = ""


@dataclass(slots=True, eq=False)
class Slice:
    """A stretch of time on a track [tick]; slices of greater depth lie inside the one before.

    `leaving` and `arriving` are the numbers of arrows that start and end at it.
    """

    track: int
    depth: int
    start: int
    end: int
    name: str
    notes: Notes
    leaving: list[int] = field(default_factory=list)
    arriving: list[int] = field(default_factory=list)


class Value(NamedTuple):
    """The value of a counter from a tick on."""

    track: int
    tick: int
    value: float


@dataclass
class Timeline:
    """A whole trace; slices of a track stand in the order in which they begin, outer ones first."""

    begin: int
    end: int
    tracks: list[Track] = field(default_factory=list)
    slices: list[Slice] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    arrows: int = 0

    def track(self, name: str, parent: Track | None = None, unit: str = "") -> Track:
        """Add a track below its parent, behind the tracks that are there."""
        made = Track(len(self.tracks) + 1, parent.uuid if parent else 0, name, unit)
        self.tracks.append(made)
        return made

    def slice(
        self, track: Track, name: str, start: int, end: int, notes: Notes | None = None, depth: int = 0
    ) -> Slice | None:
        """Add a slice, clipped to the window; give None where nothing of it lies inside."""
        if start >= self.end or end < self.begin:
            return None
        made = Slice(track.uuid, depth, max(start, self.begin), min(end, self.end), name, notes or {})
        self.slices.append(made)
        return made

    def value(self, track: Track, tick: int, value: float) -> None:
        """Add a value of a counter; one from before the window counts from its begin on."""
        tick = max(tick, self.begin)
        if tick < self.end:
            self.values.append(Value(track.uuid, tick, value))

    def arrow(self, source: Slice | None, target: Slice | None) -> None:
        """Draw an arrow between two slices, if both are there and the first begins first."""
        if source is None or target is None or source is target or source.start > target.start:
            return
        self.arrows += 1
        source.leaving.append(self.arrows)
        target.arriving.append(self.arrows)


class Edge(NamedTuple):
    """Begin or end of a slice."""

    tick: int
    slice: Slice
    begins: bool


def edges(slices: list[Slice]) -> Iterator[Edge]:
    """Give begins and ends of the slices of one track in the order in which they nest."""
    open_: list[Slice] = []
    for item in slices:
        while open_ and open_[-1].depth >= item.depth:
            last = open_.pop()
            yield Edge(last.end, last, begins=False)
        open_.append(item)
        yield Edge(item.start, item, begins=True)
    while open_:
        last = open_.pop()
        yield Edge(last.end, last, begins=False)
