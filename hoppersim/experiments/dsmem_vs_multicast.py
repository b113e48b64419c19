"""Scheme A against scheme B: read a tile where it lies, or multicast it once and read it locally.

A: rank 0 of a cluster holds the tile, and all its CTAs read it there at each use, remotely. B: rank 0
multicasts the tile into all of them, and each reads its own copy. Both have one stage, four reading warps,
one load from the L2 for each tile and cluster, and one CTA on an SM; they differ in where the reads go.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hoppersim.dataset import measured_cycles
from hoppersim.errors import InputError
from hoppersim.experiments.study import Column, Row, Study, against_silicon, is_measured, model_error
from hoppersim.machine.machine import Machine
from hoppersim.program.builders import dsmem_pull
from hoppersim.program.canonical import work_hash
from hoppersim.program.cases import Case, build_case
from hoppersim.program.work import Work
from hoppersim.result.api import IllegalWorkError, simulate
from hoppersim.units import format_bytes

CLUSTERS = (2, 4, 8, 16)
TILES, QUICK_TILES = (2048, 8192, 16384, 32768), (16384,)
REUSES, QUICK_REUSES = (1, 2, 4, 8, 16), (1, 4, 8)
ITERATIONS = 16
"""Tiles in turn: as many as the dataset's remote reads ran with."""
WARPS = 4
ROW_BYTES = 128
A, B, LEVEL = "A", "B", "level"
ERROR_KINDS = ("mode dsmem pull", "mode multicast")
L2_SECTORS = "lts__t_sectors_srcunit_tex_op_read.sum"


class Point(msgspec.Struct, frozen=True):
    """One point: CTAs of a cluster, bytes of a tile, and how often each CTA reads it."""

    cluster: int
    tile_bytes: int
    reuse: int


def points(machine: Machine, quick: bool) -> list[Point]:
    """List the points, tile by tile and cluster by cluster."""
    tiles, reuses = (QUICK_TILES, QUICK_REUSES) if quick else (TILES, REUSES)
    return [
        Point(cluster, tile, reuse)
        for tile in tiles
        for cluster in CLUSTERS
        if cluster <= machine.spec.launch.cluster_max
        for reuse in reuses
    ]


def works(point: Point) -> tuple[Work, Work]:
    """Build what both schemes run at a point."""
    multicast = Case(
        "multicast",
        cluster=point.cluster,
        rows=point.tile_bytes // ROW_BYTES,
        row_bytes=ROW_BYTES,
        stages=1,
        iterations=ITERATIONS,
        consumer="warps",
        consumer_warps=WARPS,
        reads=point.reuse,
    )
    remote = dsmem_pull(point.cluster, point.tile_bytes, point.reuse, ITERATIONS, WARPS)
    return remote, build_case(multicast)


def measure(machine: Machine, point: Point) -> Row:
    """Simulate both schemes at one point; what the machine cannot hold gives a row that says so."""
    row: Row = {
        "machine": machine.name,
        "provisional": machine.provisional_count,
        "mode": "A against B",
        "cluster": point.cluster,
        "tile_bytes": point.tile_bytes,
        "tile": format_bytes(point.tile_bytes),
        "reuse": point.reuse,
        "iterations": ITERATIONS,
        "model_error": max(map(model_error, ERROR_KINDS)),
        "status": "ok",
    }
    try:
        remote, multicast = works(point)
        a, b = simulate(machine, remote), simulate(machine, multicast)
    except (InputError, IllegalWorkError) as error:
        return row | dict.fromkeys(_FIGURES) | {"status": str(error)}
    uses = ITERATIONS * point.reuse
    silicon = [measured_cycles().get(work_hash(work)) for work in (remote, multicast)]
    if not is_measured(machine):
        silicon = [None, None]
    figures = (
        a.ctas,
        *(result.work_hash for result in (a, b)),
        *(result.cycles for result in (a, b)),
        *(result.cycles / uses for result in (a, b)),
        *silicon,
        *(cycles and cycles / uses for cycles in silicon),
        *(result.counters[L2_SECTORS] for result in (a, b)),
        a.cycles / b.cycles,
        _winner(a.cycles / b.cycles, row["model_error"]),
        (point.cluster - 1) * point.tile_bytes * uses / a.cycles,
        point.tile_bytes,
        point.cluster * point.tile_bytes,
    )
    return row | dict(zip(_FIGURES, figures, strict=True))


_FIGURES = (
    "ctas",
    *(f"{scheme}_work_hash" for scheme in "ab"),
    *(f"{scheme}_cycles" for scheme in "ab"),
    *(f"{scheme}_use_cycles" for scheme in "ab"),
    *(f"{scheme}_silicon_cycles" for scheme in "ab"),
    *(f"{scheme}_silicon_use_cycles" for scheme in "ab"),
    *(f"{scheme}_l2_sectors" for scheme in "ab"),
    "a_over_b",
    "winner",
    "owner_bytes_per_cycle",
    *(f"{scheme}_tile_bytes_of_cluster" for scheme in "ab"),
)


def _winner(ratio: float, error: float) -> str:
    """Say which scheme is faster by the time of A over that of B, if the model can tell."""
    return B if ratio > 1 + error else A if ratio < 1 / (1 + error) else LEVEL


def finding(rows: list[Row]) -> list[str]:
    """Say where each scheme wins, what a use costs in each, what A saves, and how sure that is."""
    known = [row for row in rows if row["a_cycles"]]
    if not known:
        return []
    return [*_winners(known), *_uses(known), _memory(known), *_against_silicon(known)]


def _winners(known: list[Row]) -> list[str]:
    sides: tuple[tuple[str, str, Callable[[Row], float]], ...] = (
        (B, "Multicast and local reads (B)", lambda row: row["a_over_b"]),
        (A, "Remote reads (A)", lambda row: 1 / row["a_over_b"]),
    )
    sentences = []
    for winner, name, lead in sides:
        won = sorted((row for row in known if row["winner"] == winner), key=lead)
        text = f"{name} win at {len(won)} of {len(known)} points"
        if won:
            ends = " to ".join(f"{lead(row):.1f}x ({_where(row)})" for row in (won[0], won[-1]))
            text += f", from {ends}"
        sentences.append(f"{text}.")
    level = [row for row in known if row["winner"] == LEVEL]
    if level:
        sentences.append(
            f"At {len(level)} of {len(known)} points the difference is within the model's error of "
            f"{max(row['model_error'] for row in level):.0%}: {'; '.join(map(_where, level[:3]))}"
            f"{' and others' if len(level) > 3 else ''}."
        )
    return sentences


def _where(row: Row) -> str:
    times = "once" if row["reuse"] == 1 else f"{row['reuse']} times"
    return f"{format_bytes(row['tile_bytes'])} read {times} in clusters of {row['cluster']}"


def _uses(known: list[Row]) -> list[str]:
    """Say what one more use of a tile costs, and whether a fresh multicast would cost less."""
    lines = _lines(known)
    remote = {key: cost for key, line in lines.items() if (cost := _use_cost(line, "a_cycles"))}
    if not remote:
        return []
    tile = max({tile for tile, _ in remote}, key=lambda size: (size == QUICK_TILES[0], size))
    few, many = (
        lines[tile, pick(cluster for size, cluster in remote if size == tile)] for pick in (min, max)
    )
    costs = [[_use_cost(line, f"{scheme}_cycles") for line in (few, many)] for scheme in ("a", "b")]
    measured = [_use_cost(line, "a_silicon_cycles") for line in (few, many)]
    silicon = f" (H200: {measured[0]:,.0f} and {measured[1]:,.0f})" if all(measured) else ""
    text = (
        f"One more use of a tile of {format_bytes(tile)} takes A {costs[0][0]:,.0f} cycles in clusters of "
        f"{few[0]['cluster']} and {costs[0][1]:,.0f} in clusters of {many[0]['cluster']}{silicon}, where all "
        f"read from one owner; B, where each reads its own copy, {costs[1][0]:,.0f} and {costs[1][1]:,.0f}."
    )
    sentences = [text]
    anew = {key: line[0]["b_use_cycles"] for key, line in lines.items() if line[0]["reuse"] == 1}
    error = known[0]["model_error"]
    winners = [_winner(remote[key] / anew[key], error) for key in remote if key in anew]
    if winners:
        sentences.append(
            f"A fresh multicast for every use, without any reuse, would take less time than one more remote "
            f"use in {winners.count(B)} of {len(winners)} combinations of tile and cluster, and more in "
            f"{winners.count(A)}."
        )
    return sentences


def _lines(known: list[Row]) -> dict[tuple[int, int], list[Row]]:
    """Give the rows of each tile and cluster, by uses."""
    lines: dict[tuple[int, int], list[Row]] = {}
    for row in sorted(known, key=lambda row: (row["tile_bytes"], row["cluster"], row["reuse"])):
        lines.setdefault((row["tile_bytes"], row["cluster"]), []).append(row)
    return lines


def _use_cost(line: list[Row], key: str) -> float | None:
    """Give what one more use adds to a time [cycle], from the fewest and the most uses that have it."""
    timed = [row for row in line if row[key]]
    if len(timed) < 2:
        return None
    few, many = timed[0], timed[-1]
    cost: float = (many[key] - few[key]) / (many["reuse"] - few["reuse"]) / few["iterations"]
    return cost


def _memory(known: list[Row]) -> str:
    row = max(known, key=lambda row: row["b_tile_bytes_of_cluster"] / row["a_tile_bytes_of_cluster"])
    a, b = (format_bytes(row[f"{scheme}_tile_bytes_of_cluster"]) for scheme in "ab")
    reads = max(
        (row["a_l2_sectors"] / row["b_l2_sectors"] for row in known), key=lambda ratio: abs(ratio - 1)
    )
    traffic = "as much" if f"{reads:.2f}" == "1.00" else f"up to {reads:.2f}x as much"
    return (
        f"What A saves is shared memory, {a} for a tile against {b} in clusters of {row['cluster']}; from "
        f"the L2 it reads {traffic} as B."
    )


def _against_silicon(known: list[Row]) -> list[str]:
    """Say how far simulated times are from an H200's, and who wins with the H200's own."""
    fields = ("work_hash", "cycles", "silicon_cycles")
    runs = [{field: row[f"{scheme}_{field}"] for field in fields} for row in known for scheme in "ab"]
    measured = [row for row in known if row["a_silicon_cycles"] and not row["b_silicon_cycles"]]
    sentences = against_silicon(runs)
    if measured:
        ratios = [row["a_silicon_cycles"] / row["b_cycles"] for row in measured]
        winners = [_winner(ratio, row["model_error"]) for row, ratio in zip(measured, ratios, strict=True)]
        text = (
            f"With the H200's times for A and simulated ones for B, which was not measured, B wins at "
            f"{winners.count(B)} and A at {winners.count(A)} of {len(winners)} points: A takes "
            f"{min(ratios):.1f}x to {max(ratios):.1f}x the time of B."
        )
        sentences.append(text)
    return sentences


STUDY = Study(
    name="dsmem_vs_multicast",
    title="Scheme A (read the tile where it lies) against scheme B (multicast it, read it locally)",
    question="When is it faster to read a tile in a peer's shared memory than to multicast it once?",
    points=points,
    measure=measure,
    columns=(
        Column("cluster", "cluster", "d"),
        Column("reuse", "uses", "d"),
        Column("a_use_cycles", "A cycles/use", ",.0f"),
        Column("a_silicon_use_cycles", "A H200", ",.0f"),
        Column("b_use_cycles", "B cycles/use", ",.0f"),
        Column("b_silicon_use_cycles", "B H200", ",.0f"),
        Column("a_over_b", "A over B", ".2f"),
        Column("winner", "faster"),
        Column("owner_bytes_per_cycle", "A owner sends B/cyc", ".1f"),
        Column("a_tile_bytes_of_cluster", "A SMEM [B]", ",d"),
        Column("b_tile_bytes_of_cluster", "B SMEM [B]", ",d"),
    ),
    group=Column("tile", "tile"),
    finding=finding,
    named_by=("cluster", "reuse"),
)
