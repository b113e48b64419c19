"""The article's microbenchmark: what it claims, what an H200 does, what the simulator says.

Two kernels (unicast and multicast to clusters of 2, one 16 KiB tile in flight, a cluster sync after every
tile) in two scenarios: one hot tile for each cluster, and new tiles of a 32 MiB matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from hoppersim.dataset import Point as Measured
from hoppersim.dataset import load_dataset
from hoppersim.errors import InputError
from hoppersim.experiments.study import Column, Row, Study, model_error, within_error
from hoppersim.machine.machine import Machine
from hoppersim.program.article import TILE_BYTES, Pattern
from hoppersim.program.builders import article_multicast, article_unicast
from hoppersim.program.canonical import work_hash
from hoppersim.program.work import Work
from hoppersim.result.api import IllegalWorkError, simulate

Source = Literal["claim", "silicon", "simulator"]
CLUSTER = 2
ITERATIONS: dict[Pattern, int] = {"hot": 1000, "stream": 800}
"""As many as the dataset's loops ran; the article runs 5,000 and 2,000 of the same."""
QUICK_ITERATIONS: dict[Pattern, int] = {"hot": 100, "stream": 80}
SCENARIOS: dict[Pattern, str] = {"hot": "hot tile", "stream": "32 MiB matrix"}
KERNELS: dict[str, Callable[[Pattern, int, int], Work]] = {
    "unicast": article_unicast,
    "multicast": article_multicast,
}
SOURCES: dict[Source, str] = {"claim": "article", "silicon": "H200", "simulator": "simulator"}
CLAIM_TOLERANCE = 0.10
"""A measured ratio this near to the claimed one bears it out: the article's part is another one."""
ERROR_KINDS = ("mode article unicast", "mode article multicast")
L2_SECTORS, DRAM_BYTES = "lts__t_sectors_srcunit_tex_op_read.sum", "dram__bytes_read.sum"


class Claim(msgspec.Struct, frozen=True):
    """What the article reports of one scenario: unicast over multicast in time, L2 reads, and DRAM reads."""

    speedup: float
    l2_reads: float
    dram_reads: float
    source: str


_COUNTERS = "dram__bytes_read.sum and the lts__t_bytes family halve under multicast of 2"
CLAIMS: dict[Pattern, Claim] = {
    "hot": Claim(1.80, 2.0, 2.0, f"article, microbenchmark on an H100, 5,000 hot iterations; {_COUNTERS}"),
    "stream": Claim(1.78, 2.0, 2.0, f"article, microbenchmark on an H100, 2,000 streaming ones; {_COUNTERS}"),
}


class Point(msgspec.Struct, frozen=True):
    """One row of the table: a scenario, and who says what happens in it."""

    pattern: Pattern
    source: Source
    iterations: int


def points(machine: Machine, quick: bool) -> list[Point]:
    """List the points, scenario by scenario; silicon is always that of the measured loops."""
    simulated = QUICK_ITERATIONS if quick else ITERATIONS
    return [
        Point(pattern, source, (simulated if source == "simulator" else ITERATIONS)[pattern])
        for pattern in SCENARIOS
        for source in SOURCES
    ]


def works(point: Point) -> dict[str, Work]:
    """Build the two kernels of a point."""
    return {name: build(point.pattern, point.iterations, CLUSTER) for name, build in KERNELS.items()}


def measure(machine: Machine, point: Point) -> Row:
    """Give what a source says of a scenario: look it up, or simulate both kernels."""
    row: Row = {
        "machine": machine.name,
        "provisional": machine.provisional_count,
        "scenario": SCENARIOS[point.pattern],
        "pattern": point.pattern,
        "source": SOURCES[point.source],
        "mode": "both",
        "cluster": CLUSTER,
        "tile_bytes": TILE_BYTES,
        "iterations": None if point.source == "claim" else point.iterations,
        "model_error": max(map(model_error, ERROR_KINDS)),
        **dict.fromkeys(_FIGURES),
        "status": "ok",
    }
    if point.source == "claim":
        claim = CLAIMS[point.pattern]
        ratios = {"ratio": claim.speedup, "l2_ratio": claim.l2_reads, "dram_ratio": claim.dram_reads}
        return row | ratios | {"origin": claim.source}
    try:
        return row | (_silicon if point.source == "silicon" else _simulated)(machine, point)
    except (InputError, IllegalWorkError) as error:
        return row | {"status": str(error)}


_KERNEL_FIGURES = (
    "work_hash",
    "cycles",
    "iteration_cycles",
    "terabytes_per_second",
    "l2_sectors",
    "dram_bytes",
)
_FIGURES = (
    "ratio",
    *(f"{kernel}_{figure}" for kernel in KERNELS for figure in _KERNEL_FIGURES),
    "l2_ratio",
    "dram_ratio",
    "dram_share",
    "spread",
    "limiter",
    "busiest",
    "busiest_share",
    "origin",
)


def _simulated(machine: Machine, point: Point) -> Row:
    row: Row = {}
    results = {name: simulate(machine, work) for name, work in works(point).items()}
    for name, result in results.items():
        counters = [result.counters[counter] for counter in (L2_SECTORS, DRAM_BYTES)]
        rate = result.delivered_bytes / result.seconds / 1e12
        row |= _kernel(name, result.work_hash, result.cycles, point.iterations, rate, counters)
    unicast = results["unicast"]
    busiest = max(unicast.links, key=lambda link: link.peak)
    row |= {
        "limiter": unicast.limiter.name,
        "busiest": busiest.resource,
        "busiest_share": busiest.peak,
        "origin": f"simulated: {machine.name}",
    }
    return row | _ratios(row) | _dram_share(row, unicast.ctas, point.iterations)


def _silicon(machine: Machine, point: Point) -> Row:
    """Look both kernels up in the shipped dataset."""
    data = load_dataset()
    row: Row = {"spread": 0.0}
    for name, work in works(point).items():
        found = _measured(work_hash(work))
        if found is None or not found.cycles or not found.sm_ghz or not found.ctas:
            return {"status": f"the {name} loop was not measured"}
        counters = [data.counters_of(found).get(counter) for counter in (L2_SECTORS, DRAM_BYTES)]
        seconds = found.cycles / (found.sm_ghz * 1e9)
        rate = found.ctas * point.iterations * TILE_BYTES / seconds / 1e12
        row |= _kernel(name, found.hash, found.cycles, point.iterations, rate, counters)
        row["spread"] = max(row["spread"], found.spread or 0.0)
        row["origin"] = f"measured: {found.run}, median of {len(found.repeats)} launches"
        ctas = found.ctas
    return row | _ratios(row) | _dram_share(row, ctas, point.iterations)


def _measured(hashed: str) -> Measured | None:
    """Give the first run's point of a work, as in `hoppersim.dataset.measured_cycles`."""
    found = (
        point for point in load_dataset().finished() if point.hash == hashed and point.lowering_is_default
    )
    return next(found, None)


def _kernel(
    name: str, hashed: str, cycles: float, iterations: int, rate: float, counters: Sequence[float | None]
) -> Row:
    values = (hashed, cycles, cycles / iterations, rate, *counters)
    return {f"{name}_{figure}": value for figure, value in zip(_KERNEL_FIGURES, values, strict=True)}


def _ratios(row: Row) -> Row:
    """Give unicast over multicast: times, L2 reads, DRAM reads; None where a counter was not read."""
    ratios = {}
    for ratio, figure in (("ratio", "cycles"), ("l2_ratio", "l2_sectors"), ("dram_ratio", "dram_bytes")):
        unicast, multicast = row[f"unicast_{figure}"], row[f"multicast_{figure}"]
        ratios[ratio] = unicast / multicast if unicast and multicast else None
    return ratios


def _dram_share(row: Row, ctas: int, iterations: int) -> Row:
    """Give DRAM reads of the unicast kernel over the bytes that it delivers."""
    read = row["unicast_dram_bytes"]
    return {"dram_share": None if read is None else read / (ctas * iterations * TILE_BYTES)}


def finding(rows: list[Row]) -> list[str]:
    """Say for each scenario whether silicon and the simulator bear the claim out, and why."""
    sentences = []
    for name in dict.fromkeys(row["scenario"] for row in rows):
        known = {row["source"]: row for row in rows if row["scenario"] == name and row["ratio"]}
        claim, silicon, simulated = (known.get(source) for source in SOURCES.values())
        if claim and (silicon or simulated):
            sentences += [
                _speedup(name, claim, silicon, simulated),
                *_reads(name, claim, silicon, simulated),
                *_supply(name, silicon, simulated),
                *(_why(name, simulated) if simulated else ()),
                *(_error(name, silicon, simulated) if silicon and simulated else ()),
            ]
    return sentences


def _speedup(name: str, claim: Row, silicon: Row | None, simulated: Row | None) -> str:
    """Compare the claimed speed-up with the ratio of the kernels' times; silicon has the last word."""
    seen, ratio, tolerance = [], claim["ratio"], 0.0
    if simulated:
        ratio, tolerance = simulated["ratio"], simulated["model_error"]
        seen.append(f"the simulator {ratio:.3f}x{within_error(ratio, simulated)}")
    if silicon:
        ratio, tolerance = silicon["ratio"], CLAIM_TOLERANCE
        level = "no more than" if abs(ratio - 1) <= silicon["spread"] else "while"
        seen.insert(0, f"an H200 shows {ratio:.3f}x ({level} its repeats differ, by {silicon['spread']:.1%})")
    held = abs(ratio / claim["ratio"] - 1) <= tolerance
    return (
        f"{name}: the article claims that multicast is {claim['ratio']:.2f}x as fast as unicast; "
        f"{', '.join(seen)}. The claim is {'borne out' if held else 'not borne out'}."
    )


def _reads(name: str, claim: Row, silicon: Row | None, simulated: Row | None) -> list[str]:
    """Compare the claimed saving of L2 and DRAM reads with the counters."""
    parts = []
    for ratio, memory in (("l2_ratio", "L2"), ("dram_ratio", "DRAM")):
        seen = [
            f"{words} {row[ratio]:.2f}x"
            for words, row in (("an H200's counters say", silicon), ("the simulator's", simulated))
            if row and row[ratio]
        ]
        if seen:
            parts.append(f"{claim[ratio]:.0f}x the {memory} reads ({', '.join(seen)})")
    return [f"{name}: it claims that unicast takes {' and '.join(parts)}."] if parts else []


def _supply(name: str, silicon: Row | None, simulated: Row | None) -> list[str]:
    """Say whether what is called a stream comes from DRAM."""
    shares = [
        (row["dram_share"], words)
        for row, words in ((silicon, "on an H200"), (simulated, "in the simulator"))
        if row and row["pattern"] == "stream" and row["dram_share"] is not None
    ]
    if not shares:
        return []
    source = "DRAM" if shares[0][0] > 0.5 else "the L2"
    listed = " and ".join(f"{share:.1%} {words}" for share, words in shares)
    return [f"{name}: DRAM reads are {listed} of the bytes delivered; this scenario runs from {source}."]


def _why(name: str, simulated: Row) -> list[str]:
    """Say what limits the unicast loop, which decides whether moving less could help it."""
    share = f"the {simulated['busiest']}, is {simulated['busiest_share']:.0%} busy"
    if simulated["limiter"] in ("latency", "issue", "compute"):
        text = (
            f"{name}: {simulated['limiter']} limits the unicast loop; the busiest resource, {share}. What "
            f"waits for one tile at a time gains nothing by moving fewer bytes."
        )
        return [text]
    return [f"{name}: the unicast loop is limited by bandwidth: {share}, so moving fewer bytes can help."]


def _error(name: str, silicon: Row, simulated: Row) -> list[str]:
    """Say how far simulated times are from measured ones of the same loop."""
    if silicon["iterations"] != simulated["iterations"]:
        counts = f"{simulated['iterations']} iterations were simulated and {silicon['iterations']} measured"
        return [f"{name}: {counts}, so cycles per iteration do not compare."]
    errors = [
        (mine - theirs) / min(mine, theirs)
        for kernel in KERNELS
        for mine, theirs in [(simulated[f"{kernel}_cycles"], silicon[f"{kernel}_cycles"])]
    ]
    listed = " and ".join(f"{error:+.0%} ({kernel})" for kernel, error in zip(KERNELS, errors, strict=True))
    return [f"{name}: the simulated time is off by {listed}."]


STUDY = Study(
    name="article_benchmark",
    title="The article's benchmark: unicast and multicast to clusters of 2, one 16 KiB tile in flight",
    question="Does multicast speed the article's loops up by what it claims?",
    points=points,
    measure=measure,
    columns=(
        Column("source", "source"),
        Column("iterations", "iter", ",d"),
        Column("ratio", "time ratio", ".3f"),
        Column("unicast_iteration_cycles", "uni cyc/iter", ",.0f"),
        Column("multicast_iteration_cycles", "multi cyc/iter", ",.0f"),
        Column("unicast_terabytes_per_second", "uni TB/s", ".2f"),
        Column("multicast_terabytes_per_second", "multi TB/s", ".2f"),
        Column("l2_ratio", "L2 read ratio", ".2f"),
        Column("dram_ratio", "DRAM read ratio", ".2f"),
    ),
    group=Column("scenario", "scenario"),
    finding=finding,
    named_by=("source",),
)
