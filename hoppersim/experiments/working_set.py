"""Working set: what a sweep costs as its footprint grows through the capacity of the L2.

All CTAs sweep one allocation, each from a place of its own, so every line is read again and again by SMs of
both partitions. A working set that no longer fits turns hits into DRAM reads; lines whose home is the other
partition cross the fabric between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec
from msgspec.structs import replace

from hoppersim.experiments.silicon import silicon_cycles
from hoppersim.experiments.study import MODE_NAMES, Column, Row, Study, against_silicon, case_row, is_measured
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case
from hoppersim.units import SECTOR_BYTES, format_bytes

MIB = 2**20
FOOTPRINTS, QUICK_FOOTPRINTS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 128), (16, 32, 48, 64, 128)
"""Bytes of the allocation [MiB]."""
PLAIN = Case("unicast_distinct", rows=256, stages=6, pattern="sweep")
CASES = (PLAIN, replace(PLAIN, mode="multicast", cluster=4))
"""Ways that are compared; the first was measured on silicon."""
MOST_ITERATIONS = 512
KEPT = 0.95
"""Share of the usual rate of a set that fits that counts as keeping it."""
LITTLE = 0.01
"""Share of the delivered bytes below which DRAM reads count as none."""


class Point(msgspec.Struct, frozen=True):
    """One point: a case, which has its footprint, and the iterations with which silicon ran it."""

    case: Case
    measured_iterations: int


def points(machine: Machine, quick: bool) -> list[Point]:
    """List the points way by way and footprint by footprint."""
    return [
        _point(case, size, quick) for case in CASES for size in (QUICK_FOOTPRINTS if quick else FOOTPRINTS)
    ]


def _point(case: Case, size: int, quick: bool) -> Point:
    """Choose iterations: as on silicon up to a limit, where it was measured, else two passes of the chip."""
    measured = max(128, 8 * size)
    wanted = min(measured, MOST_ITERATIONS) if case is PLAIN else max(32, 2 * size)
    iterations = max(16, size // 2) if quick else wanted
    return Point(replace(case, footprint=size * MIB, iterations=iterations), measured)


def measure(machine: Machine, point: Point) -> Row:
    """Simulate one point, and say where its bytes came from."""
    row = case_row(machine, point.case)
    row |= {"footprint_bytes": point.case.footprint, "l2_bytes": machine.spec.l2.bytes}
    if row["status"] != "ok":
        return row | dict.fromkeys(("silicon_rate", "hit_share", "dram_share", "fabric_share"))
    delivered, sms = row["delivered_bytes"], row["sms_used"]
    if is_measured(machine):
        row["silicon_cycles"] = _silicon(point)
    silicon = row["silicon_cycles"]
    return row | {
        "silicon_rate": delivered / silicon / sms if silicon else None,
        "hit_share": row["l2_hits"] / max(1, row["l2_hits"] + row["l2_misses"]),
        "dram_share": row["dram_bytes"] / delivered,
        "fabric_share": row["fabric_sectors"] * SECTOR_BYTES / delivered,
    }


def _silicon(point: Point) -> float | None:
    """Give the measured time [cycle], in proportion where the run there was longer."""
    longer = silicon_cycles(replace(point.case, iterations=point.measured_iterations))
    if longer is None:
        return silicon_cycles(point.case)
    return longer * point.case.iterations / point.measured_iterations


def finding(rows: list[Row]) -> list[str]:
    """Say up to which footprint each way keeps its rate, where DRAM comes in, and what a large one costs."""
    sentences = []
    for mode in dict.fromkeys(row["mode"] for row in rows):
        series = sorted(
            (row for row in rows if row["mode"] == mode and row["cycles"]),
            key=lambda row: int(row["footprint_bytes"]),
        )
        if series:
            sentences += [_knee(series), _traffic(series)]
    return [*sentences, *against_silicon(rows)]


def _fitting(series: Sequence[Row], rate: str) -> float:
    """Give the median rate of the sweeps that fit in the L2 [B/cycle]; of all where none fits."""
    fitting = [row[rate] for row in series if row["footprint_bytes"] <= row["l2_bytes"]]
    return float(median(fitting or [row[rate] for row in series]))


def _kept(series: Sequence[Row], rate: str) -> int:
    """Give the largest footprint up to which every sweep is about as fast as those that fit [B]."""
    least = KEPT * _fitting(series, rate)
    slow = next((n for n, row in enumerate(series) if n and row[rate] < least), len(series))
    return int(series[slow - 1]["footprint_bytes"])


def _knee(series: Sequence[Row]) -> str:
    """Say where the rate falls, here and on silicon, and what the largest sweep costs."""
    last = series[-1]
    rate, usual = last["used_sm_bytes_per_cycle"], _fitting(series, "used_sm_bytes_per_cycle")
    kept, size = _kept(series, "used_sm_bytes_per_cycle"), last["footprint_bytes"]
    text = (
        f"{_name(last)}: {KEPT:.0%} of the usual rate of a set that fits, {usual:.1f} B/cycle per SM, "
        f"is kept up to {format_bytes(kept)} of an L2 of {format_bytes(last['l2_bytes'])}"
    )
    measured = [row for row in series if row["silicon_rate"]]
    if len(measured) > 1:
        text += f", on an H200 up to {format_bytes(_kept(measured, 'silicon_rate'))}"
    error = last["model_error"]
    doubt = "within" if usual / rate - 1 <= error else "beyond"
    return (
        f"{text}; a sweep of {format_bytes(size)} takes {usual / rate:.2f}x the time a byte, "
        f"{doubt} the model's error of {error:.0%}, limited by {last['limiter']}."
    )


def _traffic(series: Sequence[Row]) -> str:
    """Say from which footprint on DRAM is read, and what hits, DRAM and fabric carry at the end."""
    last = series[-1]
    first = next((row for row in series if row["dram_share"] > LITTLE), None)
    start = f"begin at {format_bytes(first['footprint_bytes'])}" if first else "do not begin"
    return (
        f"{_name(last)}: DRAM reads {start}; at {format_bytes(last['footprint_bytes'])} "
        f"{last['hit_share']:.0%} of the look-ups hit, and each delivered byte costs "
        f"{last['dram_share']:.2f} B from DRAM and {last['fabric_share']:.2f} B across the partition fabric."
    )


def _name(row: Row) -> str:
    where = f", clusters of {row['cluster']}" if row["cluster"] > 1 else ""
    return f"{MODE_NAMES[row['mode']]}{where}"


STUDY = Study(
    name="working_set",
    title="Working set: rate and traffic by footprint",
    question="What does a sweep cost as it outgrows the L2?",
    points=points,
    measure=measure,
    columns=(
        Column("footprint_bytes", "footprint B", ",d"),
        Column("iterations", "tiles a CTA", "d"),
        Column("used_sm_bytes_per_cycle", "SM B/cyc", ".1f"),
        Column("silicon_rate", "H200 SM B/cyc", ".1f"),
        Column("hit_share", "hits", ".0%"),
        Column("dram_share", "DRAM B per B", ".2f"),
        Column("fabric_share", "fabric B per B", ".2f"),
        Column("cycles", "cycles", ",.0f"),
        Column("silicon_cycles", "H200 cycles", ",.0f"),
        Column("limiter", "limited by"),
        Column("limiter_share", "busy", ".0%"),
    ),
    group=Column("way", "way"),
    finding=finding,
    named_by=("footprint_bytes",),
)
