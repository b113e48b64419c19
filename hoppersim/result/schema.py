"""The schema of a Result: what one run says, in the same form for the simulator and for silicon.

Every field names its unit and its meaning in its annotation, as a machine's specification does; "cycle" is an
SM cycle, "share" a fraction from 0 to 1. `docs/schema.md` is made from this file. A change that would mislead
a reader of older files raises `SCHEMA`; a field with a default may be added without.
"""

from __future__ import annotations

from html import escape
from typing import Annotated

import msgspec

from hoppersim.program.work import Work

SCHEMA = "hoppersim.result/1"


def _of(unit: str, description: str) -> msgspec.Meta:
    """State unit and meaning of a field; the unit is empty where a field has none."""
    return msgspec.Meta(description=description, extra={"unit": unit})


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Common shape of all parts of a Result."""


class Rates(_Part, frozen=True, kw_only=True):
    """Delivered bytes over the time of the run: `cycles`, or `window_cycles` in waves or with late bytes.

    All are 0 for a run that hung.
    """

    chip: Annotated[float, _of("B/cycle", "all SMs together")]
    used_sm: Annotated[float, _of("B/cycle", "for each SM with a CTA")]
    chip_sm: Annotated[float, _of("B/cycle", "for each SM of the chip, idle ones counted")]


class SmFigures(_Part, frozen=True, kw_only=True):
    """One SM that ran a CTA."""

    sm: Annotated[int, _of("", "id of the SM")]
    gpc: Annotated[int, _of("", "its GPC")]
    ctas: Annotated[int, _of("CTA", "CTAs that ran there")]
    bytes: Annotated[int, _of("B", "delivered to its shared memory")]
    cycles: Annotated[float, _of("cycle", "its longest CTA, first to last instruction")]
    rate: Annotated[
        float,
        _of("B/cycle", "bytes over cycles; in waves, over first start to last end of its CTAs; 0 in a hang"),
    ]


class GpcFigures(_Part, frozen=True, kw_only=True):
    """One GPC."""

    gpc: Annotated[int, _of("", "number of the GPC")]
    sms: Annotated[int, _of("SM", "SMs that ran a CTA")]
    port_bytes: Annotated[int, _of("B", "through its port, a line for several SMs once")]
    delivered_bytes: Annotated[int, _of("B", "handed to SMs behind the port")]
    port_use: Annotated[float, _of("share", "how busy the port was in the window")]


class LinkUse(_Part, frozen=True, kw_only=True):
    """How busy the units of a resource were while the work ran."""

    resource: Annotated[str, _of("", "the resource, such as GPC port or L2 slice")]
    units: Annotated[int, _of("unit", "units that did anything")]
    mean: Annotated[float, _of("share", "how busy those were on average")]
    peak: Annotated[float, _of("share", "how busy the busiest was")]
    busiest: Annotated[int, _of("", "number of the busiest unit")]


class Limiter(_Part, frozen=True, kw_only=True):
    """What sets the time."""

    name: Annotated[
        str, _of("", "a resource, or `latency`, or `issue` or `compute` of a thread; `none` of a hang")
    ]
    share: Annotated[float, _of("share", "how busy it was")]
    role: Annotated[str, _of("", "role of that thread; empty for a resource and for `latency`")] = ""

    def __str__(self) -> str:
        whose = f" of {self.role}" if self.role else ""
        return f"{self.name}{whose}, {self.share:.0%} busy"


class Bounds(_Part, frozen=True, kw_only=True):
    """Least time that the traffic can take, in closed form."""

    merged_cycles: Annotated[float, _of("cycle", "reads of one line by a cluster counted once")]
    merged_link: Annotated[str, _of("", "the link that binds then")]
    unmerged_cycles: Annotated[float, _of("cycle", "every read counted")]
    unmerged_link: Annotated[str, _of("", "the link that binds then")]


class Stage(_Part, frozen=True, kw_only=True):
    """What tiles spend in one stage between the instruction that issues them and the waiter that goes on.

    `docs/tiles.md` says what each stage is.
    """

    name: Annotated[str, _of("", "the stage")]
    mean: Annotated[float, _of("cycle", "on average; the means of all stages add up to that of the tile")]
    p50: Annotated[float, _of("cycle", "in the median")]
    p90: Annotated[float, _of("cycle", "in nine of ten tiles at most")]


class TileTimes(_Part, frozen=True, kw_only=True):
    """Where the time of tiles goes, from when their instruction starts to when their waiter goes on.

    A tile is what one tensor load, bulk copy or asynchronous store brings to one destination; its stages are
    those of its last line there.
    """

    flow: Annotated[int, _of("", "number of the flow; -1 for all")]
    kind: Annotated[str, _of("", "`load`, `multicast` or `copy`; `all`")]
    name: Annotated[str, _of("", "tensor map, or buffer that is filled; empty for all")]
    tiles: Annotated[int, _of("tile", "tiles that were followed")]
    total: Annotated[Stage, _of("", "the whole time of a tile")]
    stages: Annotated[
        tuple[Stage, ...], _of("", "its parts, in order; stages that take no time are left out")
    ]


class SmTiles(_Part, frozen=True, kw_only=True):
    """Where the time of the tiles that one SM receives goes."""

    sm: Annotated[int, _of("", "id of the SM")]
    tiles: Annotated[int, _of("tile", "tiles that were followed")]
    mean: Annotated[float, _of("cycle", "whole time of a tile, on average")]
    stages: Annotated[dict[str, float], _of("cycle", "its parts on average; they add up to it")]


class TileFigures(_Part, frozen=True, kw_only=True):
    """Where the time of tiles goes: of all that were followed, by traffic, and by SM."""

    every: Annotated[int, _of("", "one tile of so many of each operation was followed; 1: all")]
    all: Annotated[TileTimes, _of("", "all tiles that were followed")]
    by_traffic: Annotated[tuple[TileTimes, ...], _of("", "by flow, kind and name")]
    by_sm: Annotated[tuple[SmTiles, ...], _of("", "by SM that received them")]


class Speed(_Part, frozen=True, kw_only=True):
    """What the run cost to simulate; the only figures that differ from run to run."""

    wall_seconds: Annotated[float, _of("s", "wall time of the simulation")]
    lines: Annotated[int, _of("line", "requests of 128 bytes that were made")]
    lines_per_second: Annotated[float, _of("line/s", "lines over wall time")]
    cycles_per_second: Annotated[float, _of("cycle/s", "simulated time of the chip over wall time")]


class Relaxation(_Part, frozen=True, kw_only=True):
    """One thing made better, all else equal, and how much faster the work runs then."""

    name: Annotated[str, _of("", "what was relaxed")]
    change: Annotated[str, _of("", "how: twice the bandwidth, half the latency, half the cost")]
    settings: Annotated[dict[str, float], _of("", "parameters of the machine and the values they took")]
    cycles: Annotated[float, _of("cycle", "time of the whole work then, at the pace of the rerun")]
    speedup: Annotated[float, _of("ratio", "time without the change over time with it")]


class WhatIf(_Part, frozen=True, kw_only=True):
    """Reruns of the work with shortened loops, each with one thing relaxed, carried on to the whole work."""

    trips: Annotated[int, _of("trip", "trips of the main loop in the reruns (first flow)")]
    of_trips: Annotated[int, _of("trip", "trips of that loop in the work; equal if nothing was shortened")]
    base_cycles: Annotated[
        float, _of("cycle", "time of the whole work at the pace of a rerun with nothing relaxed")
    ]
    relaxations: Annotated[tuple[Relaxation, ...], _of("", "the reruns, largest gain first")]
    note: Annotated[str, _of("", "why there are none, where there are none")] = ""


class Design(_Part, frozen=True, kw_only=True):
    """One thing of the kernel changed, all else equal, and what the work takes then."""

    name: Annotated[str, _of("", "`stages`, `box` or `cluster`")]
    value: Annotated[str, _of("", "what it was changed to; a box as rows x bytes of a row")]
    smem_bytes: Annotated[
        int, _of("B", "shared memory that a CTA needs, padding of a case left out; 0: no such case")
    ]
    fits: Annotated[bool, _of("", "whether the machine gives a CTA that much")]
    ctas: Annotated[int, _of("CTA", "CTAs that run then; 0 if not run")]
    cycles: Annotated[
        float | None, _of("cycle", "time of the whole work, at the pace of its first trips; null if not run")
    ]
    speedup: Annotated[
        float | None, _of("ratio", "time per delivered byte as it is over that with the change")
    ]
    reason: Annotated[str, _of("", "why it was not run; empty if it was")] = ""


class Designs(_Part, frozen=True, kw_only=True):
    """Reruns of the work with one thing of the kernel changed at a time."""

    base_cycles: Annotated[float, _of("cycle", "time of the whole work as it is, at the same pace")]
    smem_bytes: Annotated[int, _of("B", "shared memory that a CTA needs as it is, likewise")]
    ctas: Annotated[int, _of("CTA", "CTAs that run as it is")]
    steps: Annotated[tuple[Design, ...], _of("", "the changes: stages, box, cluster, each ascending")]
    note: Annotated[str, _of("", "why there are none, or not all, where that is so")] = ""


class Measured(_Part, frozen=True, kw_only=True):
    """The same work on silicon, from the dataset that the package ships."""

    device: Annotated[str, _of("", "the part")]
    cycles: Annotated[float, _of("cycle", "median of the repeats, or in proportion from a longer run")]
    spread: Annotated[float, _of("share", "greatest less least repeat, over the median")]
    error: Annotated[float, _of("share", "(simulated - measured) / the smaller of both")]
    of_trips: Annotated[
        int, _of("trip", "trips of the loop that was measured, where it was a longer one")
    ] = 0


class Source(_Part, frozen=True, kw_only=True):
    """What ran where, complete, so that a stored Result can be run again."""

    work: Annotated[Work, _of("", "programs and launches, as in a flow file")]
    machine: Annotated[str, _of("", "the whole machine as text of a TOML file")]


class Result(_Part, frozen=True, kw_only=True):
    """What one run of a work says."""

    schema: Annotated[str, _of("", "version of this schema")] = SCHEMA
    executor: Annotated[str, _of("", "`simulator` or `hardware`")] = "simulator"
    machine: Annotated[str, _of("", "name of the machine")]
    machine_hash: Annotated[str, _of("", "hash of its numbers, floorplan and tables")] = ""
    work: Annotated[str, _of("", "names of the programs")]
    work_hash: Annotated[str, _of("", "hash of what the work means")]
    ctas: Annotated[int, _of("CTA", "CTAs that ran")]
    cluster: Annotated[int, _of("CTA", "CTAs of a cluster of the first flow")]
    sms_used: Annotated[int, _of("SM", "SMs with at least one CTA")]
    sms_of_chip: Annotated[int, _of("SM", "SMs of the chip")]
    cycles: Annotated[float, _of("cycle", "time of the slowest CTA from its first to its last instruction")]
    seconds: Annotated[float, _of("s", "`cycles` in seconds; in waves, `window_cycles`")]
    window_cycles: Annotated[
        float,
        _of("cycle", "makespan: first start to last end of all CTAs and their bytes; links refer to it"),
    ]
    waves: Annotated[
        int, _of("wave", "CTAs that follow each other in one place of an SM; 1 where all fit at once")
    ] = 1
    late_cycles: Annotated[
        float, _of("cycle", "of the window, after the last end: nobody waits for the last bytes")
    ] = 0.0
    delivered_bytes: Annotated[int, _of("B", "reached shared memory, every receiver of a multicast counted")]
    rates: Annotated[Rates, _of("", "delivered bytes over time")]
    counters: Annotated[dict[str, int], _of("", "totals, by Nsight Compute's names where it has one")]
    links: Annotated[tuple[LinkUse, ...], _of("", "use of each resource that did anything")]
    limiter: Annotated[Limiter, _of("", "what sets the time")]
    bounds: Annotated[Bounds | None, _of("", "closed-form bound; null where nothing moves")]
    speed: Annotated[Speed, _of("", "cost of the simulation")]
    provisional: Annotated[int, _of("number", "numbers of the machine that are not measured yet")]
    hung: Annotated[bool, _of("", "whether the work hung")] = False
    hang: Annotated[tuple[str, ...], _of("", "the report of the hang, line by line")] = ()
    hazards: Annotated[tuple[str, ...], _of("", "races and other findings of the run")] = ()
    per_gpc: Annotated[tuple[GpcFigures, ...], _of("", "figures by GPC")] = ()
    per_sm: Annotated[tuple[SmFigures, ...], _of("", "figures by SM that ran a CTA")] = ()
    tiles: Annotated[
        TileFigures | None, _of("", "where the time of tiles went; null where none were followed")
    ] = None
    what_if: Annotated[WhatIf | None, _of("", "relaxed reruns, where they were asked for")] = None
    designs: Annotated[Designs | None, _of("", "reruns of other designs, where they were asked for")] = None
    measured: Annotated[Measured | None, _of("", "the same work on silicon, where it was measured")] = None
    source: Annotated[Source | None, _of("", "work and machine, to run it again")] = None

    @property
    def run_cycles(self) -> float:
        """Time of the run [cycle]: `cycles` where all CTAs fit at once, else `window_cycles`."""
        return self.window_cycles if self.waves > 1 else self.cycles

    def __repr__(self) -> str:
        head = f"Result {self.work} on {self.machine}:"
        if self.hung:
            return f"<{head} hung after {self.cycles:,.0f} cycles>"
        return (
            f"<{head} {self.run_cycles:,.0f} cycles, {self.rates.used_sm:.1f} B/cycle per used SM, "
            f"limited by {self.limiter.name}>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{escape(value)}</td></tr>"
            for name, value in self.summary()
        )
        return f"<table>{rows}</table>"

    def summary(self) -> list[tuple[str, str]]:
        """List the main figures as (name, text) pairs, in reading order."""
        lines = [
            ("work", self.work),
            ("machine", self.machine),
            (
                "CTAs",
                f"{self.ctas} in clusters of {self.cluster}, on {self.sms_used} of {self.sms_of_chip} SMs",
            ),
            (
                "hung after" if self.hung else "time",
                f"{self.run_cycles:,.0f} cycles ({self.seconds * 1e6:,.2f} us)",
            ),
            ("delivered", f"{self.delivered_bytes:,} B"),
        ]
        if not self.hung:
            lines += [
                ("rate, chip", f"{self.rates.chip:,.1f} B/cycle"),
                ("rate, used SM", f"{self.rates.used_sm:.1f} B/cycle"),
                ("rate, SM of the chip", f"{self.rates.chip_sm:.1f} B/cycle"),
                ("limiter", str(self.limiter)),
            ]
        if self.bounds is not None:
            lines.append(("bound", f"{self.bounds.merged_cycles:,.0f} cycles ({self.bounds.merged_link})"))
        if self.provisional:
            lines.append(("provisional numbers", str(self.provisional)))
        return lines
