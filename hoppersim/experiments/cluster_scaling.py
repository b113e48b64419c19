"""Cluster scaling: what a larger cluster buys, by unicast and by multicast, from the L2 and from HBM.

At every point each CTA receives the same bytes, so times compare directly; clusters that do not fill every
GPC strand SMs, which the rate per SM of the chip shows.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from hoppersim.errors import InputError
from hoppersim.experiments.study import Column, Row, Study
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case, Mode
from hoppersim.program.cases import build_case
from hoppersim.result.api import simulate
from hoppersim.result.schema import Result

Memory = Literal["l2", "hbm"]
CLUSTERS = (1, 2, 4, 8, 16)
MEMORIES: tuple[Memory, ...] = ("l2", "hbm")
MODES: tuple[Mode, ...] = ("unicast", "unicast_distinct", "multicast", "multicast_slices")
MODE_NAMES = {
    "unicast": "unicast, shared tile",
    "unicast_distinct": "unicast, own tiles",
    "multicast": "multicast, leader",
    "multicast_slices": "multicast, slices",
}
MEMORY_NAMES = {"l2": "L2-resident", "hbm": "HBM stream"}
ROWS, ROW_BYTES, STAGES = 256, 128, 4
QUICK_MODES: tuple[Mode, ...] = ("unicast", "unicast_distinct", "multicast")
ITERATIONS, QUICK_ITERATIONS = 32, 8


class Point(msgspec.Struct, frozen=True):
    """One point: a case and where its tiles come from."""

    case: Case


def points(machine: Machine, quick: bool) -> list[Point]:
    """List the points, memory by memory and way by way.

    A CTA alone loads its tile in the same way whether it is called shared or its own, sliced or not.
    """
    modes = QUICK_MODES if quick else MODES
    iterations = QUICK_ITERATIONS if quick else ITERATIONS
    return [
        Point(_case(mode, cluster, memory, iterations))
        for memory in MEMORIES
        for mode in modes
        for cluster in CLUSTERS
        if cluster > 1 or mode in ("unicast", "multicast")
    ]


def _case(mode: Mode, cluster: int, memory: Memory, iterations: int) -> Case:
    return Case(
        mode,
        cluster=cluster,
        rows=ROWS,
        row_bytes=ROW_BYTES,
        stages=STAGES,
        iterations=iterations,
        pattern="sweep",
        memory=memory,
    )


def measure(machine: Machine, point: Point) -> Row:
    """Simulate one point; a cluster that the machine cannot hold gives a row that says so."""
    case = point.case
    row: Row = {
        "memory": case.memory,
        "mode": case.mode,
        "cluster": case.cluster,
        "tile_bytes": case.tile_bytes,
        "stages": case.stages,
        "iterations": case.iterations,
        "bytes_per_cta": case.bytes_per_cta,
    }
    try:
        result = simulate(machine, build_case(case))
    except InputError as error:
        return row | dict.fromkeys(_FIGURES) | {"status": str(error)}
    return row | _figures(result) | {"status": "ok"}


_FIGURES = (
    "work_hash",
    "ctas",
    "sms_used",
    "cycles",
    "microseconds",
    "delivered_bytes",
    "chip_bytes_per_cycle",
    "used_sm_bytes_per_cycle",
    "chip_sm_bytes_per_cycle",
    "limiter",
    "limiter_share",
    "bound_cycles",
    "bound_link",
    "bound_used_sm_bytes_per_cycle",
    "bound_chip_sm_bytes_per_cycle",
    "l2_sectors",
    "dram_bytes",
    "provisional",
)


def _figures(result: Result) -> Row:
    bound = result.bounds
    bound_rate = result.delivered_bytes / bound.merged_cycles if bound is not None else None
    values = (
        result.work_hash,
        result.ctas,
        result.sms_used,
        result.cycles,
        result.seconds * 1e6,
        result.delivered_bytes,
        result.rates.chip,
        result.rates.used_sm,
        result.rates.chip_sm,
        result.limiter.name,
        result.limiter.share,
        bound.merged_cycles if bound is not None else None,
        bound.merged_link if bound is not None else None,
        bound_rate / result.sms_used if bound_rate is not None else None,
        bound_rate / result.sms_of_chip if bound_rate is not None else None,
        result.counters["lts__t_sectors_srcunit_tex_op_read.sum"],
        result.counters["dram__bytes_read.sum"],
        result.provisional,
    )
    return dict(zip(_FIGURES, values, strict=True))


def finding(rows: list[Row]) -> list[str]:
    """Say where multicast pays, where it does not, and what limits it."""
    sentences = []
    for memory in MEMORIES:
        chosen = [row for row in rows if row["memory"] == memory and row["cycles"]]
        known = {(row["mode"], row["cluster"]): row for row in chosen}
        if known:
            sentences += _memory_finding(MEMORY_NAMES[memory], known)
    return sentences


def _memory_finding(name: str, known: dict[tuple[str, int], Row]) -> list[str]:
    gains = {
        cluster: known["unicast_distinct", cluster]["cycles"] / row["cycles"]
        for (mode, cluster), row in known.items()
        if mode == "multicast" and cluster > 1 and ("unicast_distinct", cluster) in known
    }
    if not gains:
        return []
    best = max(gains, key=gains.__getitem__)
    multicast, distinct = known["multicast", best], known["unicast_distinct", best]
    rates = [f"{row['used_sm_bytes_per_cycle']:.1f}" for row in (multicast, distinct)]
    text = (
        f"{name}: multicast gains most in clusters of {best}: {gains[best]:.2f}x over tiles of one's own, "
        f"{rates[0]} against {rates[1]} B/cycle per used SM; it is limited by {_limit(multicast)}, "
        f"tiles of one's own by {_limit(distinct)}."
    )
    lines = [text]
    shared = known.get(("unicast", best))
    if shared is not None:
        lines.append(
            f"{name}: over unicast of the same tile, which the LRC merges where it can, that is "
            f"{shared['cycles'] / multicast['cycles']:.2f}x, with "
            f"{shared['l2_sectors'] / multicast['l2_sectors']:.2f}x the L2 sectors read by unicast."
        )
    top = max(known.values(), key=lambda row: row["chip_sm_bytes_per_cycle"])
    lines.append(
        f"{name}: the chip as a whole receives most with {MODE_NAMES[top['mode']]} in clusters of "
        f"{top['cluster']}: {top['chip_bytes_per_cycle']:,.0f} B/cycle on {top['sms_used']} SMs."
    )
    return lines


def _limit(row: Row) -> str:
    return f"{row['limiter']} ({row['limiter_share']:.0%} busy)"


STUDY = Study(
    name="cluster_scaling",
    title="Cluster scaling: delivered bandwidth by way of loading and cluster size",
    question="What does a larger cluster buy, by unicast and by multicast, from the L2 and from HBM?",
    points=points,
    measure=measure,
    columns=(
        Column("mode", "way"),
        Column("cluster", "cluster", "d"),
        Column("sms_used", "SMs", "d"),
        Column("cycles", "cycles", ",.0f"),
        Column("chip_bytes_per_cycle", "chip B/cyc", ",.0f"),
        Column("used_sm_bytes_per_cycle", "used SM", ".1f"),
        Column("chip_sm_bytes_per_cycle", "chip SM", ".1f"),
        Column("bound_used_sm_bytes_per_cycle", "bound", ".1f"),
        Column("limiter", "limited by"),
        Column("limiter_share", "busy", ".0%"),
    ),
    group=Column("memory", "memory"),
    finding=finding,
)
