"""Cluster scaling: what a larger cluster buys, by unicast and by multicast, from the L2 and from HBM.

At every point each CTA receives the same bytes, so times compare directly; clusters that do not fill every
GPC strand SMs, which the rate per SM of the chip shows. Two more views keep the cluster and change how many
tiles are in flight (stages), and in how many boxes a tile is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from hoppersim.experiments.study import (
    MEMORIES,
    MEMORY_NAMES,
    MODE_NAMES,
    Column,
    Row,
    Study,
    against_silicon,
    case_row,
    within_error,
)
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import MODES, Case, Mode

View = Literal["clusters", "stages", "boxes"]
CLUSTERS = (1, 2, 4, 8, 16)
QUICK_MODES: tuple[Mode, ...] = ("unicast", "unicast_distinct", "multicast")
ITERATIONS, QUICK_ITERATIONS = 32, 8
PLAIN = Case("unicast", rows=256, row_bytes=128, stages=4, pattern="sweep")
"""What the points change: tiles of 32 KiB, one box each, four stages."""
VIEW_CLUSTER = 4
VIEW_STAGES, QUICK_VIEW_STAGES, STAGE_ROWS = (1, 2, 4, 8), (1, 4), 128
"""Stages, and rows of a tile of which eight fit; more in flight than lies between CTAs would be merged."""
VIEW_BOXES, QUICK_VIEW_BOXES, BOX_ROWS = (1, 2, 4, 8), (1, 8), 64
"""Boxes, and rows of a tile small enough for what issuing a box costs to show."""
TIE = 0.98
"""Rates within this share of the best one count as level with it."""
ENOUGH = 0.95
"""Share of the best rate that counts as having reached it."""


class Point(msgspec.Struct, frozen=True):
    """One point: a case, which says where its tiles come from, and the view that shows it."""

    case: Case
    view: View = "clusters"


def points(machine: Machine, quick: bool) -> list[Point]:
    """List the points, view by view, memory by memory and way by way.

    A CTA alone loads its tile in the same way whether it is called shared or its own, sliced or not.
    """
    modes = QUICK_MODES if quick else MODES
    plain = replace(PLAIN, iterations=QUICK_ITERATIONS if quick else ITERATIONS)
    clusters = [
        Point(replace(plain, mode=mode, cluster=cluster, memory=memory))
        for memory in MEMORIES
        for mode in modes
        for cluster in CLUSTERS
        if cluster > 1 or mode in ("unicast", "multicast")
    ]
    plain = replace(plain, cluster=VIEW_CLUSTER)
    deep, split = _smaller(plain, STAGE_ROWS), _smaller(plain, BOX_ROWS)
    stages = [
        Point(replace(deep, mode=mode, memory=memory, stages=count), "stages")
        for memory in (MEMORIES[:1] if quick else MEMORIES)
        for mode in modes
        for count in (QUICK_VIEW_STAGES if quick else VIEW_STAGES)
    ]
    boxes = [
        Point(replace(split, mode=mode, rows=split.rows // count, boxes=count), "boxes")
        for mode in modes
        for count in (QUICK_VIEW_BOXES if quick else VIEW_BOXES)
    ]
    return [*clusters, *stages, *boxes]


def _smaller(case: Case, rows: int) -> Case:
    """Take smaller tiles, and as many more as bring the same bytes."""
    return replace(case, rows=rows, iterations=case.iterations * case.rows // rows)


def measure(machine: Machine, point: Point) -> Row:
    """Simulate one point; a cluster that the machine cannot hold gives a row that says so."""
    table = f"{point.view}, {MEMORY_NAMES[point.case.memory]}"
    return {"view": point.view, "table": table} | case_row(machine, point.case)


def finding(rows: list[Row]) -> list[str]:
    """Say where multicast pays, where it does not, what limits it, and what the other views add."""
    known = [row for row in rows if row["cycles"]]
    clusters = [row for row in known if row["view"] == "clusters"]
    sentences = []
    for memory in MEMORIES:
        by_point = {(row["mode"], row["cluster"]): row for row in clusters if row["memory"] == memory}
        if by_point:
            sentences += _memory_finding(MEMORY_NAMES[memory], by_point)
    sentences += [*_stranded(clusters), *_enough_stages(known), *_price_of_boxes(known)]
    return [*sentences, *against_silicon(rows)]


def _memory_finding(name: str, known: dict[tuple[str, int], Row]) -> list[str]:
    gains = _gains(known, "cycles")
    if not gains:
        return []
    best = max(gains, key=gains.__getitem__)
    multicast, distinct = known["multicast", best], known["unicast_distinct", best]
    rates = [f"{row['used_sm_bytes_per_cycle']:.1f}" for row in (multicast, distinct)]
    text = (
        f"{name}: multicast gains most in clusters of {best}: {gains[best]:.2f}x over distinct tiles"
        f"{within_error(gains[best], multicast)}, "
        f"{rates[0]} against {rates[1]} B/cycle per used SM; it is limited by {_limit(multicast)}, "
        f"distinct tiles by {_limit(distinct)}."
    )
    lines = [text, *_measured_gain(name, _gains(known, "silicon_cycles"), best)]
    shared = known.get(("unicast", best))
    if shared is not None:
        slower = shared["cycles"] / multicast["cycles"]
        reads = shared["l2_sectors"] / multicast["l2_sectors"]
        text = (
            f"{name}: in clusters of {best}, unicast of one tile, whose reads the L2 request coalescer (LRC) "
            f"merges where it can, takes {slower:.2f}x the time of multicast"
            f"{within_error(slower, multicast)} and reads {reads:.2f}x its L2 sectors."
        )
        lines.append(text)
    top = max(known.values(), key=lambda row: row["chip_sm_bytes_per_cycle"])
    level = [row for row in known.values() if row["chip_bytes_per_cycle"] > TIE * top["chip_bytes_per_cycle"]]
    sizes: dict[str, list[str]] = {}
    for row in level:
        sizes.setdefault(MODE_NAMES[row["mode"]], []).append(str(row["cluster"]))
    where = "; ".join(f"{way}, in clusters of {' and '.join(listed)}" for way, listed in sizes.items())
    rate = top["chip_bytes_per_cycle"]
    return [*lines, f"{name}: the chip as a whole receives most, {rate:,.0f} B/cycle, by {where}."]


def _gains(known: dict[tuple[str, int], Row], time: str) -> dict[int, float]:
    """Give what multicast gains over distinct tiles by cluster size, where both times are known."""
    pairs = {
        cluster: (known["unicast_distinct", cluster][time], row[time])
        for (mode, cluster), row in known.items()
        if mode == "multicast" and cluster > 1 and ("unicast_distinct", cluster) in known
    }
    return {cluster: old / new for cluster, (old, new) in pairs.items() if old and new}


def _measured_gain(name: str, gains: dict[int, float], simulated: int) -> list[str]:
    """Say in which clusters multicast gains most on silicon, and what it gains in those of the simulation."""
    if not gains:
        return []
    best = max(gains, key=gains.__getitem__)
    other = simulated in gains and simulated != best
    beside = f", and {gains[simulated]:.2f}x in clusters of {simulated}" if other else ""
    most = f"{gains[best]:.2f}x at most, in clusters of {best}"
    return [f"{name}: measured on an H200, multicast gains {most}{beside}."]


def _limit(row: Row) -> str:
    return f"{row['limiter']} ({row['limiter_share']:.0%} busy)"


def stranded(rows: Sequence[Row]) -> dict[int, int]:
    """Give the SMs that no cluster reaches, by cluster size, in ascending order of it."""
    found = {row["cluster"]: row["sms_of_chip"] - row["sms_used"] for row in rows}
    return dict(sorted(found.items()))


def _stranded(clusters: Sequence[Row]) -> list[str]:
    """Say how many SMs each cluster size strands."""
    lost = stranded(clusters)
    if not any(lost.values()):
        return []
    sms = clusters[0]["sms_of_chip"]
    listed = ", ".join(
        f"{count} ({count / sms:.0%}) by clusters of {size}" for size, count in lost.items() if count
    )
    return [f"SMs that no cluster reaches, of {sms}: {listed}. The rate of the chip lacks that share."]


def _series(known: Sequence[Row], view: str) -> dict[tuple[str, str], list[Row]]:
    """Give the rows of a view by memory and way."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in known:
        if row["view"] == view:
            found.setdefault((row["memory"], row["mode"]), []).append(row)
    return found


def _enough_stages(known: Sequence[Row]) -> list[str]:
    """Say how many stages each way needs to come near its best rate."""
    needed: dict[str, list[str]] = {}
    tile = 0
    for (memory, mode), rows in _series(known, "stages").items():
        best, tile = max(row["used_sm_bytes_per_cycle"] for row in rows), rows[0]["tile_bytes"]
        least = min(row["stages"] for row in rows if row["used_sm_bytes_per_cycle"] >= ENOUGH * best)
        needed.setdefault(memory, []).append(f"{least} for {MODE_NAMES[mode]}")
    return [
        f"{MEMORY_NAMES[memory]}, clusters of {VIEW_CLUSTER}, tiles of {tile // 1024} KiB: stages that give "
        f"{ENOUGH:.0%} of the best rate of those tried: {'; '.join(listed)}."
        for memory, listed in needed.items()
    ]


def _price_of_boxes(known: Sequence[Row]) -> list[str]:
    """Say what loading the same tile in more boxes costs each way."""
    ratios, beyond = {}, []
    for (_, mode), rows in _series(known, "boxes").items():
        few, many = (pick(rows, key=lambda row: row["boxes"]) for pick in (min, max))
        ratios[MODE_NAMES[mode]] = many["cycles"] / few["cycles"]
        if not within_error(ratios[MODE_NAMES[mode]], many):
            beyond.append(MODE_NAMES[mode])
    if not ratios:
        return []
    listed = "; ".join(f"{way} {ratio:.2f}x" for way, ratio in ratios.items())
    text = (
        f"{MEMORY_NAMES['l2']}, clusters of {VIEW_CLUSTER}: a tile of {many['tile_bytes'] // 1024} KiB in "
        f"{many['boxes']} boxes takes, against {few['boxes']}: {listed} the time. Beyond the model's error "
        f"of {many['model_error']:.0%}: {'; '.join(beyond) or 'none'}."
    )
    return [text]


STUDY = Study(
    name="cluster_scaling",
    title="Cluster scaling: delivered bandwidth by way of loading and cluster size",
    question="What does a larger cluster buy, by unicast and by multicast, from the L2 and from HBM?",
    points=points,
    measure=measure,
    columns=(
        Column("way", "way"),
        Column("cluster", "CTAs", "d"),
        Column("ring", "stages x boxes"),
        Column("sms_used", "SMs", "d"),
        Column("cycles", "cycles", ",.0f"),
        Column("silicon_cycles", "H200 cycles", ",.0f"),
        Column("bound_cycles", "bound cycles", ",.0f"),
        Column("used_sm_bytes_per_cycle", "used SM B/cyc", ".1f"),
        Column("chip_sm_bytes_per_cycle", "chip SM B/cyc", ".1f"),
        Column("limiter", "limited by"),
        Column("limiter_share", "busy", ".0%"),
    ),
    group=Column("table", "view"),
    finding=finding,
    named_by=("way", "cluster", "ring"),
)
