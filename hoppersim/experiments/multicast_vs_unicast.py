"""Multicast against unicast: over cluster, tile and memory, without the LRC, and with CTAs that start apart.

At every point the CTAs of a cluster receive the same bytes in three ways: rank 0 multicasts a tile to all of
them, each loads that tile for itself, or each loads a tile of its own. A gain is the other way's time over
that of multicast.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from hoppersim.dataset.schema import STABLE_SPREAD
from hoppersim.experiments.study import (
    MEMORIES,
    MEMORY_NAMES,
    MODE_NAMES,
    Column,
    Memory,
    Row,
    Study,
    against_silicon,
    case_row,
)
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case, Mode
from hoppersim.program.cases import build_case
from hoppersim.program.operations import Affine
from hoppersim.program.work import Work
from hoppersim.units import SECTOR_BYTES, format_bytes

View = Literal["tiles", "no_lrc", "skew"]
MODES: tuple[Mode, ...] = ("multicast", "unicast", "unicast_distinct")
GAINS = {"gain_same": "unicast", "gain_distinct": "unicast_distinct"}
"""Column of a gain, and the way that it is over."""
TIMES = ("work_hash", "cycles", "silicon_cycles")
VIEW_NAMES = {"tiles": "", "no_lrc": ", LRC off", "skew": ", CTAs start apart"}
CLUSTERS, QUICK_CLUSTERS = (2, 4, 8, 16), (2, 8)
ITERATIONS = {16: 96, 64: 64, 128: 48, 256: 24}
"""Iterations by the rows of a tile, each of 128 bytes."""
QUICK_ITERATIONS = {16: 32, 256: 8}
PLAIN = Case("multicast", row_bytes=128, stages=4, pattern="sweep")
SKEWS, QUICK_SKEWS = (0, 100, 200, 300, 400, 600, 800, 1600), (0, 200, 1600)
SKEW_CLUSTERS, SKEW_ROWS, QUICK_SKEW_ITERATIONS = (2, 4), 128, 24
LRC_ROWS = 256
LEVEL = 0.01
"""Simulated times that differ by less count as equal."""


class Point(msgspec.Struct, frozen=True):
    """One comparison: the multicast case, and whether the LRC is on, and how far the CTAs start apart.

    `skew` is the SM cycles by which the last CTA of a cluster starts after the first; the others lie
    evenly between.
    """

    case: Case
    view: View = "tiles"
    skew: int = 0


def points(machine: Machine, quick: bool) -> list[Point]:
    """List the points: tiles and clusters for each memory, then without the LRC, then with a skew."""
    iterations = QUICK_ITERATIONS if quick else ITERATIONS
    clusters = QUICK_CLUSTERS if quick else CLUSTERS
    tiles = [
        replace(PLAIN, cluster=cluster, rows=rows, iterations=count, memory=memory)
        for memory in MEMORIES
        for cluster in clusters
        for rows, count in iterations.items()
    ]
    unmerged = [case for case in tiles if case.rows == LRC_ROWS]
    late = replace(
        PLAIN, rows=SKEW_ROWS, iterations=QUICK_SKEW_ITERATIONS if quick else ITERATIONS[SKEW_ROWS]
    )
    return [
        *(Point(case) for case in tiles),
        *(Point(case, "no_lrc") for case in unmerged),
        *(
            Point(replace(late, cluster=cluster), "skew", skew)
            for cluster in (SKEW_CLUSTERS[:1] if quick else SKEW_CLUSTERS)
            for skew in (QUICK_SKEWS if quick else SKEWS)
        ),
    ]


def measure(machine: Machine, point: Point) -> Row:
    """Simulate a point in every way; a cluster that the machine cannot hold gives a row that says so.

    Distinct tiles are left out where only merging is in question.
    """
    case = point.case
    if point.view == "no_lrc":
        machine = without_lrc(machine)
    found: dict[str, Row] = {}
    for mode in MODES if point.view == "tiles" else MODES[:2]:
        one = replace(case, mode=mode)
        work = skewed(build_case(one), point.skew) if point.skew else None
        found[mode] = case_row(machine, one, work, silicon=point.view != "no_lrc")
    first = found["multicast"]
    row: Row = {
        "view": point.view,
        "table": MEMORY_NAMES[case.memory] + VIEW_NAMES[point.view],
        "machine": machine.name,
        "provisional": machine.provisional_count,
        "memory": case.memory,
        "cluster": case.cluster,
        "tile_bytes": case.tile_bytes,
        "stages": case.stages,
        "iterations": case.iterations,
        "lrc": int(machine.spec.lrc.enabled),
        "skew": point.skew,
        "model_error": first["model_error"],
        "status": first["status"],
    }
    for mode in MODES:
        known = found.get(mode, {})
        row |= {f"{mode}_{name}": known.get(name) for name in (*TIMES, "limiter", "limiter_share")}
    return row | _gains(row) | {"merged_share": _merged(found["unicast"])}


def without_lrc(machine: Machine) -> Machine:
    """Give the machine with its L2 request coalescer switched off."""
    lrc = replace(machine.spec.lrc, enabled=0)
    return dataclasses.replace(machine, spec=replace(machine.spec, lrc=lrc))


def skewed(work: Work, skew: int) -> Work:
    """Let the CTAs of a cluster start one after the other, the last `skew` SM cycles after the first."""
    (flow,) = work.flows
    last = flow.launch.cluster_size - 1
    starts = tuple(skew * rank // last for rank in range(last + 1))
    return Work((replace(flow, launch=replace(flow.launch, skew=Affine(by_rank=starts))),))


def _gains(row: Row) -> Row:
    gains: Row = {}
    for column, other in GAINS.items():
        for name, kind in ((column, "cycles"), (f"silicon_{column}", "silicon_cycles")):
            ours, theirs = row[f"multicast_{kind}"], row[f"{other}_{kind}"]
            gains[name] = theirs / ours if ours and theirs else None
    return gains


def _merged(unicast: Row) -> float | None:
    """Give the share of the bytes of unicast that needed no L2 look-up of their own."""
    if not unicast["cycles"]:
        return None
    return max(0.0, 1 - float(unicast["l2_sectors"] * SECTOR_BYTES / unicast["delivered_bytes"]))


def finding(rows: list[Row]) -> list[str]:
    """Say from which tile on multicast pays, against what, and what LRC and skew have to do with it."""
    sentences = []
    for memory in MEMORIES:
        chosen = [row for row in rows if row["view"] == "tiles" and row["memory"] == memory]
        for gain in ("gain_distinct", "gain_same"):
            sentences += _crossover(memory, [row for row in chosen if row[gain]], gain)
    for memory in MEMORIES:
        sentences += _lrc(memory, [row for row in rows if row["memory"] == memory and row["gain_same"]])
    for cluster in SKEW_CLUSTERS:
        late = [row for row in rows if row["view"] == "skew" and row["cluster"] == cluster]
        sentences += _skew(cluster, [row for row in late if row["gain_same"]])
    return [*sentences, *_same_side(rows), *against_silicon(_each_way(rows))]


def pays(row: Row, gain: str) -> bool:
    """Say whether the gain exceeds the model's error."""
    return bool(row[gain] > 1 + row["model_error"])


def _crossover(memory: Memory, rows: Sequence[Row], gain: str) -> list[str]:
    """Say in which clusters, and from which tile on, multicast beats the other way, and where it loses."""
    if not rows:
        return []
    error = f"the model's error of {rows[0]['model_error']:.0%}"
    wins = [row for row in rows if pays(row, gain)]
    losses = [row for row in rows if 1 / row[gain] > 1 + row["model_error"]]
    low, high = (pick(row[gain] for row in rows) for pick in (min, max))
    if wins:
        parts = [_from_tile(rows, gain, cluster) for cluster in sorted({row["cluster"] for row in wins})]
        text = f"pays beyond {error} in clusters of {', '.join(parts)}"
    else:
        text = f"pays nowhere beyond {error}; gains lie from {low:.2f}x to {high:.2f}x"
    if losses:
        worst = min(losses, key=lambda row: float(row[gain]))
        text += (
            f"; loses beyond it at {len(losses)} points, most ({worst[gain]:.2f}x) in clusters of "
            f"{worst['cluster']} with tiles of {format_bytes(worst['tile_bytes'])}"
        )
    return [f"{MEMORY_NAMES[memory]}: {MODE_NAMES['multicast']}, against {MODE_NAMES[GAINS[gain]]}, {text}."]


def _from_tile(rows: Iterable[Row], gain: str, cluster: int) -> str:
    """Say from which tile on multicast pays in clusters of one size, and how much it gains at most."""
    own = [row for row in rows if row["cluster"] == cluster]
    series = sorted(own, key=lambda row: int(row["tile_bytes"]))
    wins = [row for row in series if pays(row, gain)]
    if wins == series[-len(wins) :]:
        where = f"from {format_bytes(wins[0]['tile_bytes'])} on"
    else:
        where = "at " + " and ".join(format_bytes(row["tile_bytes"]) for row in wins)
    return f"{cluster} {where} (up to {max(row[gain] for row in wins):.2f}x)"


def _lrc(memory: Memory, rows: Sequence[Row]) -> list[str]:
    """Compare what multicast gains over unicast of one tile with the LRC and without."""
    off = {(row["cluster"], row["tile_bytes"]): row for row in rows if row["view"] == "no_lrc"}
    on = [row for row in rows if row["view"] == "tiles"]
    both = [(row, off[key]) for row in on if (key := (row["cluster"], row["tile_bytes"])) in off]
    if not both:
        return []
    listed = ", ".join(
        f"{one['gain_same']:.2f}x with and {bare['gain_same']:.2f}x without in clusters of {one['cluster']}"
        for one, bare in both
    )
    decided = [
        str(one["cluster"]) for one, bare in both if pays(bare, "gain_same") and not pays(one, "gain_same")
    ]
    if decided:
        end = f"it is the LRC that lets {MODE_NAMES['unicast']} keep up in clusters of {', '.join(decided)}"
    else:
        end = f"beyond the model's error of {both[0][0]['model_error']:.0%} the LRC changes no verdict"
    tile = format_bytes(both[0][0]["tile_bytes"])
    head = f"{MEMORY_NAMES[memory]}, LRC, tiles of {tile}: {MODE_NAMES['multicast']} gains"
    return [f"{head} {listed}; {end}."]


def _skew(cluster: int, rows: Sequence[Row]) -> list[str]:
    """Say at which skew merging breaks down, and from which on multicast pays."""
    series = sorted(rows, key=lambda row: int(row["skew"]))
    if len(series) < 2 or not series[0]["merged_share"]:
        return []
    start, last = series[0], series[-1]
    half = next((row for row in series if row["merged_share"] <= start["merged_share"] / 2), None)
    paying = next((row for row in series if pays(row, "gain_same")), None)
    share = "has halved" if half else f"is still {last['merged_share']:.0%}"
    gain = f"does not pay up to {last['skew']:,} cycles ({last['gain_same']:.2f}x)"
    if paying:
        gain = f"pays from {paying['skew']:,} cycles on ({paying['gain_same']:.2f}x)"
        gain += f", and gains {last['gain_same']:.2f}x at {last['skew']:,}"
    tile = format_bytes(start["tile_bytes"])
    text = (
        f"{MEMORY_NAMES[start['memory']]}, clusters of {cluster}, tiles of {tile}: "
        f"of the reads of {MODE_NAMES['unicast']} {start['merged_share']:.0%} are merged when all CTAs start "
        f"together; that share {share} when the last starts {(half or last)['skew']:,} cycles late; beyond "
        f"the model's error of {start['model_error']:.0%} {MODE_NAMES['multicast']} {gain}."
    )
    return [text]


def _same_side(rows: Iterable[Row]) -> list[str]:
    """Say how often an H200 finds the same way faster, where its times differ by more than their spread."""
    pairs = [
        (row[gain], row[f"silicon_{gain}"])
        for row in rows
        for gain in GAINS
        if row[gain] and row[f"silicon_{gain}"]
    ]
    decided = [(ours, theirs) for ours, theirs in pairs if max(theirs, 1 / theirs) > 1 + STABLE_SPREAD]
    if not decided:
        return []
    same = sum(ours > 1 + LEVEL if theirs > 1 else ours < 1 - LEVEL for ours, theirs in decided)
    text = (
        f"Of the {len(decided)} comparisons in which the times of an H200 differ by more than "
        f"{STABLE_SPREAD:.0%}, the simulator finds the same way faster, by more than {LEVEL:.0%}, in {same}."
    )
    return [text]


def _each_way(rows: Iterable[Row]) -> list[Row]:
    """Give the times of each way as rows of their own."""
    return [{name: row[f"{mode}_{name}"] for name in TIMES} for row in rows for mode in MODES]


STUDY = Study(
    name="multicast_vs_unicast",
    title="Multicast against unicast",
    question="From which tile, cluster and skew on does multicast pay, and against what?",
    points=points,
    measure=measure,
    columns=(
        Column("cluster", "CTAs", "d"),
        Column("tile_bytes", "tile B", ",d"),
        Column("skew", "skew", ",d"),
        *(Column(f"{mode}_cycles", f"{MODE_NAMES[mode]} cycles", ",.0f") for mode in MODES),
        Column("gain_same", "gain over shared", ".2f"),
        Column("silicon_gain_same", "H200", ".2f"),
        Column("gain_distinct", "gain over distinct", ".2f"),
        Column("silicon_gain_distinct", "H200", ".2f"),
        Column("merged_share", "merged", ".0%"),
        Column("multicast_limiter", "limited by"),
    ),
    group=Column("table", "tiles"),
    finding=finding,
    named_by=("cluster", "tile_bytes", "skew"),
)
