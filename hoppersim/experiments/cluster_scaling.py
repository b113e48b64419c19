"""Cluster scaling: what a larger cluster buys, by unicast and by multicast, from the L2 and from HBM.

At every point each CTA receives the same bytes, so times compare directly; clusters that do not fill every
GPC strand SMs, which the rate per SM of the chip shows.
"""

from __future__ import annotations

from statistics import median
from typing import Literal

import msgspec

from hoppersim.errors import InputError
from hoppersim.experiments.silicon import silicon_cycles
from hoppersim.experiments.study import Column, Row, Study
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case, Mode
from hoppersim.program.cases import build_case
from hoppersim.result.api import IllegalWorkError, simulate
from hoppersim.result.schema import Result

Memory = Literal["l2", "hbm"]
CLUSTERS = (1, 2, 4, 8, 16)
MEMORIES: tuple[Memory, ...] = ("l2", "hbm")
MODES: tuple[Mode, ...] = ("unicast", "unicast_distinct", "multicast", "multicast_slices")
MODE_NAMES = {
    "unicast": "unicast, shared tile",
    "unicast_distinct": "unicast, distinct tiles",
    "multicast": "multicast, leader",
    "multicast_slices": "multicast, slices",
}
MEMORY_NAMES = {"l2": "L2-resident", "hbm": "HBM stream"}
ROWS, ROW_BYTES, STAGES = 256, 128, 4
QUICK_MODES: tuple[Mode, ...] = ("unicast", "unicast_distinct", "multicast")
ITERATIONS, QUICK_ITERATIONS = 32, 8
TIE = 0.98
"""Rates within this share of the best one count as level with it."""


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
        "machine": machine.name,
        "sms_of_chip": machine.sm_count,
        "cycles_per_second": machine.cycles_per_second,
        "provisional": machine.provisional_count,
        "memory": case.memory,
        "mode": case.mode,
        "cluster": case.cluster,
        "tile_bytes": case.tile_bytes,
        "stages": case.stages,
        "iterations": case.iterations,
        "bytes_per_cta": case.bytes_per_cta,
        "status": "ok",
    }
    try:
        result = simulate(machine, build_case(case))
    except (InputError, IllegalWorkError) as error:
        return row | dict.fromkeys(_FIGURES) | {"status": str(error)}
    # What distinct tiles could gain from merging is no part of their idea.
    figures = _figures(result)
    kind = "unmerged" if case.mode == "unicast_distinct" else "merged"
    return (
        row
        | figures
        | {"bound_cycles": figures[f"bound_{kind}_cycles"], "silicon_cycles": silicon_cycles(case)}
    )


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
    "l2_sectors",
    "dram_bytes",
    "bound_merged_cycles",
    "bound_merged_link",
    "bound_unmerged_cycles",
    "bound_unmerged_link",
    "bound_cycles",
    "silicon_cycles",
)


def _figures(result: Result) -> Row:
    row: Row = {
        "work_hash": result.work_hash,
        "ctas": result.ctas,
        "sms_used": result.sms_used,
        "cycles": result.cycles,
        "microseconds": result.seconds * 1e6,
        "delivered_bytes": result.delivered_bytes,
        "chip_bytes_per_cycle": result.rates.chip,
        "used_sm_bytes_per_cycle": result.rates.used_sm,
        "chip_sm_bytes_per_cycle": result.rates.chip_sm,
        "limiter": result.limiter.name,
        "limiter_share": result.limiter.share,
        "l2_sectors": result.counters["lts__t_sectors_srcunit_tex_op_read.sum"],
        "dram_bytes": result.counters["dram__bytes_read.sum"],
        "bound_merged_cycles": None,
        "bound_merged_link": None,
        "bound_unmerged_cycles": None,
        "bound_unmerged_link": None,
    }
    if result.bounds is not None:
        row |= {f"bound_{name}": value for name, value in msgspec.to_builtins(result.bounds).items()}
    return row


def finding(rows: list[Row]) -> list[str]:
    """Say where multicast pays, where it does not, and what limits it."""
    sentences = []
    for memory in MEMORIES:
        chosen = [row for row in rows if row["memory"] == memory and row["cycles"]]
        known = {(row["mode"], row["cluster"]): row for row in chosen}
        if known:
            sentences += _memory_finding(MEMORY_NAMES[memory], known)
    return [*sentences, *_against_silicon(rows)]


def _against_silicon(rows: list[Row]) -> list[str]:
    """Say how far the times are from those of an H200, where it was measured."""
    pairs = [
        (row["cycles"], row["silicon_cycles"]) for row in rows if row["cycles"] and row["silicon_cycles"]
    ]
    if not pairs:
        return []
    errors = sorted(((mine - theirs) / min(mine, theirs) for mine, theirs in pairs), key=abs)
    typical, worst = median(map(abs, errors)), errors[-1]
    text = (
        f"Against an H200 at {len(pairs)} of these points: the simulated time is off by {typical:.0%} in the "
        f"median, by {worst:+.0%} at worst; differences below that are no finding."
    )
    return [text]


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
        f"{name}: multicast gains most in clusters of {best}: {gains[best]:.2f}x over distinct tiles, "
        f"{rates[0]} against {rates[1]} B/cycle per used SM; it is limited by {_limit(multicast)}, "
        f"distinct tiles by {_limit(distinct)}."
    )
    lines = [text]
    shared = known.get(("unicast", best))
    if shared is not None:
        slower = shared["cycles"] / multicast["cycles"]
        reads = shared["l2_sectors"] / multicast["l2_sectors"]
        text = (
            f"{name}: in clusters of {best}, unicast of one tile, whose reads the L2 request coalescer (LRC) "
            f"merges where it can, takes {slower:.2f}x the time of multicast and reads {reads:.2f}x its "
            f"L2 sectors."
        )
        lines.append(text)
    top = max(known.values(), key=lambda row: row["chip_sm_bytes_per_cycle"])
    level = [row for row in known.values() if row["chip_bytes_per_cycle"] > TIE * top["chip_bytes_per_cycle"]]
    where = ", ".join(f"{MODE_NAMES[row['mode']]} in clusters of {row['cluster']}" for row in level)
    lines.append(
        f"{name}: the chip as a whole receives most with {where}: {top['chip_bytes_per_cycle']:,.0f} B/cycle."
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
        Column("mode", "mode"),
        Column("cluster", "cluster", "d"),
        Column("sms_used", "SMs", "d"),
        Column("cycles", "cycles", ",.0f"),
        Column("silicon_cycles", "H200 cycles", ",.0f"),
        Column("bound_cycles", "bound cycles", ",.0f"),
        Column("chip_bytes_per_cycle", "chip B/cyc", ",.0f"),
        Column("used_sm_bytes_per_cycle", "used SM B/cyc", ".1f"),
        Column("chip_sm_bytes_per_cycle", "chip SM B/cyc", ".1f"),
        Column("limiter", "limited by"),
        Column("limiter_share", "busy", ".0%"),
    ),
    group=Column("memory", "memory"),
    finding=finding,
)
