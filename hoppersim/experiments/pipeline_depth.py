"""Pipeline depth: bytes that must be in flight for the peak, by stages and boxes, from the L2 and from HBM.

Little's law: a rate cannot exceed the bytes in flight over the time that a load takes. That time is the
machine's own: what one SM alone spends on a tile with a single stage. The peak is the closed-form bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil

import msgspec
from msgspec.structs import replace

from hoppersim.experiments.study import MEMORY_NAMES, Column, Memory, Row, Study, against_silicon, case_row
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.result.api import simulate
from hoppersim.units import format_bytes

PLACES: dict[str, tuple[Memory, bool]] = {
    f"one SM, {MEMORY_NAMES['l2']}": ("l2", True),
    f"all SMs, {MEMORY_NAMES['l2']}": ("l2", False),
    f"all SMs, {MEMORY_NAMES['hbm']}": ("hbm", False),
}
"""Where the tiles come from, and whether one SM loads alone."""
ITERATIONS, QUICK_ITERATIONS = {32: 128, 64: 128, 128: 64, 256: 48}, {32: 32, 256: 8}
"""Iterations by the rows of a box, each of 128 bytes."""
ALONE = 4
"""Times as many iterations where one SM loads alone, which costs little and makes its start count little."""
STAGES, QUICK_STAGES = (1, 2, 4, 8), (1, 2, 4)
MOST_SHARED = 200 * 1024
"""Shared memory of the ring, of the 227 KB that a CTA can have [B]."""
FEW, MANY = 4, 20
"""Tiles of the two runs whose difference is the time of a load."""
ENOUGH = 0.90
"""Share of the peak that counts as having reached it."""


class Point(msgspec.Struct, frozen=True):
    """One point: a case, and the place whose panel shows it."""

    case: Case
    place: str


def points(machine: Machine, quick: bool) -> list[Point]:
    """List the points place by place and box by box, as far as the ring fits in shared memory."""
    return [
        Point(
            Case(
                "unicast_distinct",
                rows=rows,
                stages=stages,
                iterations=count * (ALONE if alone else 1),
                pattern="sweep",
                memory=memory,
                grid=1 if alone else "fill",
            ),
            place,
        )
        for place, (memory, alone) in PLACES.items()
        for rows, count in (QUICK_ITERATIONS if quick else ITERATIONS).items()
        for stages in (QUICK_STAGES if quick else STAGES)
        if rows * stages * 128 <= MOST_SHARED
    ]


def measure(machine: Machine, point: Point) -> Row:
    """Simulate one point, and the time of a load on an idle machine."""
    case = point.case
    row: Row = {"place": point.place} | case_row(machine, case)
    row["in_flight_bytes"] = case.stages * case.tile_bytes
    if row["status"] != "ok":
        return row | dict.fromkeys(("load_cycles", "law_rate", "peak_rate", "peak_link", "law_share"))
    load = load_cycles(machine, case.rows, case.memory)
    law = row["in_flight_bytes"] / load
    peak = row["delivered_bytes"] / row["bound_cycles"] / row["sms_used"]
    return row | {
        "load_cycles": load,
        "law_rate": law,
        "peak_rate": peak,
        "peak_link": row["bound_unmerged_link"],
        "law_share": row["used_sm_bytes_per_cycle"] / min(law, peak),
    }


@cache
def load_cycles(machine: Machine, rows: int, memory: Memory) -> float:
    """Give what one SM alone spends on a tile of one box with one stage, waits and issue included [cycle]."""
    fitting = machine.spec.l2.bytes // 4 if memory == "l2" else 0
    plain = Case(
        "unicast_distinct", rows=rows, stages=1, pattern="sweep", memory=memory, footprint=fitting, grid=1
    )
    times = [simulate(machine, build_case(replace(plain, iterations=n))).cycles for n in (FEW, MANY)]
    return (times[1] - times[0]) / (MANY - FEW)


def finding(rows: list[Row]) -> list[str]:
    """Say for each place what the peak asks for by Little's law, what the simulation needs, and the gap."""
    sentences = []
    for place in PLACES:
        known = [row for row in rows if row["place"] == place and row["cycles"]]
        if known:
            sentences += [_needs(place, known), _gap(place, known)]
    return [*sentences, *against_silicon(rows)]


def _needs(place: str, rows: Sequence[Row]) -> str:
    """Say how many stages each box needs: by the law, and in the simulation."""
    peak = rows[0]["peak_rate"]
    parts = []
    for tile in sorted({row["tile_bytes"] for row in rows}):
        series = sorted(
            (row for row in rows if row["tile_bytes"] == tile), key=lambda row: int(row["stages"])
        )
        asked = ceil(ENOUGH * peak * series[0]["load_cycles"] / tile)
        reached = next((row["stages"] for row in series if _share(row) >= ENOUGH), None)
        last = series[-1]
        got = (
            f"simulated {reached}"
            if reached
            else f"{last['stages']} give {_share(last):.0%}, limited by {last['limiter']}"
        )
        parts.append(f"{format_bytes(tile)}: law {asked}, {got}")
    return (
        f"{place}: the peak is {peak:.1f} B/cycle per SM, at {rows[0]['peak_link']}; stages of one box for "
        f"{ENOUGH:.0%} of it: {'; '.join(parts)}."
    )


def _share(row: Row) -> float:
    """Give the simulated rate over the peak."""
    return float(row["used_sm_bytes_per_cycle"] / row["peak_rate"])


def _gap(place: str, rows: Sequence[Row]) -> str:
    """Say where the simulation stays furthest below law and peak, and whether that means anything."""
    worst = min(rows, key=lambda row: float(row["law_share"]))
    ratio, error = 1 / worst["law_share"], worst["model_error"]
    doubt = "within" if ratio - 1 <= error else "beyond"
    return (
        f"{place}: law and peak allow at most {ratio:.2f}x the simulated rate, {doubt} the model's error of "
        f"{error:.0%}: with {worst['stages']} x {format_bytes(worst['tile_bytes'])} in flight, limited by "
        f"{worst['limiter']}."
    )


STUDY = Study(
    name="pipeline_depth",
    title="Pipeline depth: delivered bandwidth by bytes in flight",
    question="How many stages, of which box, does the peak of L2 or HBM ask for?",
    points=points,
    measure=measure,
    columns=(
        Column("tile_bytes", "box B", ",d"),
        Column("stages", "stages", "d"),
        Column("in_flight_bytes", "in flight B", ",d"),
        Column("load_cycles", "load cycles", ",.0f"),
        Column("law_rate", "law B/cyc", ".1f"),
        Column("peak_rate", "peak B/cyc", ".1f"),
        Column("used_sm_bytes_per_cycle", "SM B/cyc", ".1f"),
        Column("law_share", "of law or peak", ".0%"),
        Column("cycles", "cycles", ",.0f"),
        Column("silicon_cycles", "H200 cycles", ",.0f"),
        Column("limiter", "limited by"),
        Column("limiter_share", "busy", ".0%"),
    ),
    group=Column("place", "place"),
    finding=finding,
    named_by=("tile_bytes", "stages"),
)
