"""Placement: which SMs clusters of a size can use, on this floorplan and on others, and what the rest costs.

A cluster lies in one GPC, so a GPC whose SMs are no multiple of the cluster size strands the remainder. Two
kernels say what that costs: one that only loads (distinct tiles from the L2), one that computes most of the
time. Both give every CTA the same tiles, so throughput is tiles of the whole chip over time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace as with_fields
from itertools import groupby

import msgspec
import numpy as np
from msgspec.structs import replace

from hoppersim.dataset import floorplans, load_dataset
from hoppersim.errors import InputError
from hoppersim.experiments.silicon import silicon_cycles
from hoppersim.experiments.study import (
    Column,
    Row,
    Study,
    against_silicon,
    is_measured,
    model_error,
    within_error,
)
from hoppersim.machine.floorplan import Floorplan, floorplan_from_groups
from hoppersim.machine.machine import Machine
from hoppersim.machine.placement import Placement, resident
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.result.api import IllegalWorkError, simulate
from hoppersim.result.hang_text import ranges

GPC_TPCS, TPC_SMS = 9, 2
"""TPCs of a whole GPC, SMs of a TPC: published, the full die has 8 GPCs of 9 TPCs of 2 SMs."""
MOST_SPLITS = 12
QUICK_SIZES, SPLIT_SIZES = (1, 2, 4, 8, 16), (1, 4, 8, 16)
"""Cluster sizes of a quick study, and those on other splits, where clusters of 2 strand nothing."""
COMPUTE = 2000
"""Cycles of computing on each tile: more than twice what loading it takes."""
LOADS = Case("unicast_distinct", rows=256, row_bytes=128, stages=4, iterations=16, pattern="sweep")
SPLIT_ITERATIONS = 8
"""Tiles of a CTA on other splits, whose times are compared with each other only."""
OWN, OTHER = "this floorplan", "other splits"


class Point(msgspec.Struct, frozen=True):
    """One point: SMs of each GPC (none: the machine's own floorplan), and CTAs of a cluster."""

    split: tuple[int, ...]
    cluster: int

    @property
    def iterations(self) -> int:
        """Tiles of each CTA."""
        return SPLIT_ITERATIONS if self.split else LOADS.iterations


def points(machine: Machine, quick: bool) -> list[Point]:
    """List the points: cluster sizes on the machine's own floorplan, some of them on every other split."""
    most = machine.spec.launch.cluster_max
    sizes = QUICK_SIZES if quick else range(1, most + 1)
    found = splits(machine)
    chosen = found[:: max(1, len(found) - 1)] if quick else found
    return [
        *(Point((), size) for size in sizes if size <= most),
        *(Point(split, size) for split in chosen for size in SPLIT_SIZES if size <= most),
    ]


def splits(machine: Machine) -> list[tuple[int, ...]]:
    """List how the TPCs of the machine can be split over its GPCs, the most uneven first.

    Returns
    -------
    list of tuple
        SMs of each GPC, in descending order; at most `MOST_SPLITS`, evenly chosen among all; none for a
        machine with TPCs that are not whole.
    """
    tpcs = sum(len(gpc.tpcs) for gpc in machine.floorplan.gpcs)
    if machine.sm_count != TPC_SMS * tpcs:
        return []
    found = sorted(_parts(tpcs, machine.gpc_count, GPC_TPCS), reverse=True)
    if len(found) > MOST_SPLITS:
        found = [found[round(place)] for place in np.linspace(0, len(found) - 1, MOST_SPLITS)]
    return [tuple(TPC_SMS * count for count in split) for split in found]


def _parts(total: int, count: int, most: int) -> Iterator[tuple[int, ...]]:
    """Give all ways to write a total as `count` numbers from 1 to `most`, in descending order."""
    if count == 0:
        if total == 0:
            yield ()
        return
    for first in range(min(most, total), 0, -1):
        yield from ((first, *rest) for rest in _parts(total - first, count - 1, first))


def variant(machine: Machine, split: Sequence[int]) -> Machine:
    """Give the machine another floorplan: TPCs dealt to the GPCs in turn, as SM ids go round on real parts.

    Latencies between pairs of SMs belong to the old floorplan and become those of the mean pair.
    """
    room = list(split)
    gpcs: list[list[int]] = [[] for _ in split]
    sm = 0
    while any(room):
        for number, left in enumerate(room):
            if left:
                gpcs[number] += range(sm, sm + TPC_SMS)
                room[number] -= TPC_SMS
                sm += TPC_SMS
    partitions = [gpc.partition for gpc in machine.floorplan.gpcs]
    origin = "assumed: one of the ways to split the chip's TPCs over its GPCs"
    plan = floorplan_from_groups(gpcs, partitions, origin, name=sizes_text(split), sms_per_tpc=TPC_SMS)
    return with_fields(machine, floorplan=plan, pair_latency=np.zeros_like(machine.pair_latency))


def sizes_text(sizes: Sequence[int]) -> str:
    """Write SMs of each GPC: ``18 x4, 16 x3, 12``."""
    groups = [(size, len(list(group))) for size, group in groupby(sorted(sizes, reverse=True))]
    return ", ".join(f"{size} x{count}" if count > 1 else str(size) for size, count in groups)


def measure(machine: Machine, point: Point) -> Row:
    """Place one wave of clusters, and simulate both kernels on it."""
    placed = variant(machine, point.split) if point.split else machine
    row: Row = {
        "machine": machine.name,
        "provisional": machine.provisional_count,
        "sms_of_chip": machine.sm_count,
        "plans": OTHER if point.split else OWN,
        "floorplan": placed.floorplan.name,
        "gpc_sms": sizes_text(placed.floorplan.gpc_sizes),
        "mode": LOADS.mode,
        "cluster": point.cluster,
        "iterations": point.iterations,
        "model_error": model_error(f"mode {LOADS.mode}"),
        **dict.fromkeys(_FIGURES),
        "status": "ok",
    }
    loads = replace(LOADS, cluster=point.cluster, iterations=point.iterations)
    try:
        program = build_case(loads).flows[0].program
        where = resident(placed, point.cluster, program.shared_bytes, program.threads)
        times: dict[str, float | None] = {
            kernel: simulate(placed, build_case(case)).cycles
            for kernel, case in (("load", loads), ("compute", replace(loads, compute=COMPUTE)))
        }
    except (InputError, IllegalWorkError) as error:
        return row | {"status": str(error)}
    times["load_silicon"] = (not point.split and is_measured(machine) and silicon_cycles(loads)) or None
    row |= {
        "clusters": where.max_active_clusters,
        "sms_used": len(where.sms),
        "silicon_sms": None if point.split else measured_sms(machine.floorplan, point.cluster),
        "stranded": len(where.stranded),
        "used_share": len(where.sms) / placed.sm_count,
        "stranded_sms": " ".join(str(item.sm) for item in where.stranded),
    }
    for kernel, cycles in times.items():
        row |= {f"{kernel}_cycles": cycles, f"{kernel}_rate": cycles and _rate(where, point, cycles)}
    return row


def _rate(where: Placement, point: Point, cycles: float) -> float:
    """Give the tiles that all CTAs of a wave get through in 1,000 SM cycles."""
    return 1000 * where.max_active_clusters * point.cluster * point.iterations / cycles


_FIGURES = (
    "clusters",
    "sms_used",
    "silicon_sms",
    "stranded",
    "used_share",
    "stranded_sms",
    *(f"{run}_{figure}" for run in ("load", "compute", "load_silicon") for figure in ("cycles", "rate")),
)


def measured_sms(plan: Floorplan, cluster: int) -> int | None:
    """Give the SMs that clusters of a size used on the part that a floorplan was probed on.

    Counted by the driver's answer to how many clusters are resident, else by the SMs that appeared in
    launches; None where the part or the size was not probed.
    """
    for run in load_dataset().manifest.runs:
        probed = floorplans().get(run.run)
        if run.uuid not in plan.origin or probed is None or run.sms != plan.sm_count:
            continue
        if str(cluster) in probed["resident"]:
            return int(probed["resident"][str(cluster)]) * cluster
        if str(cluster) in probed["never_in_clusters_of"]:
            return run.sms - len(probed["never_in_clusters_of"][str(cluster)])
    return None


def finding(rows: list[Row]) -> list[str]:
    """Say which SMs are stranded, what that costs two kernels, and how other floorplans do."""
    known = [row for row in rows if row["sms_used"]]
    own = [row for row in known if row["plans"] == OWN]
    if not own:
        return []
    silicon = (
        {
            "work_hash": row["cluster"],
            "cycles": row["load_cycles"],
            "silicon_cycles": row["load_silicon_cycles"],
        }
        for row in own
    )
    return [
        *_stranded(own),
        *_cost(own),
        *_against_probe(own),
        *against_silicon(silicon),
        *_splits([row for row in known if row["plans"] == OTHER]),
    ]


def _stranded(own: list[Row]) -> list[str]:
    """Say which sizes use all SMs, which strand most, and which SMs the usual sizes strand."""
    sms = own[0]["sms_of_chip"]
    whole = ", ".join(str(row["cluster"]) for row in own if not row["stranded"])
    most = max(row["stranded"] for row in own)
    worst = " and ".join(str(row["cluster"]) for row in own if row["stranded"] == most)
    text = (
        f"{own[0]['machine']}, GPCs of {own[0]['gpc_sms']} SMs: clusters of {whole or 'no size'} use all SMs"
    )
    if most:
        text += f"; clusters of {worst} strand most, {most} of {sms} ({most / sms:.0%})"
    named = [
        f"Clusters of {row['cluster']} leave {row['stranded']} of {sms} SMs unused: "
        f"{ranges([int(sm) for sm in row['stranded_sms'].split()], 'SM')}."
        for row in own
        if row["cluster"] in SPLIT_SIZES and row["stranded"]
    ]
    return [f"{text}.", *named]


def _cost(own: list[Row]) -> list[str]:
    """Say what the kernels do with the usual sizes against CTAs without clusters."""
    alone = next((row for row in own if row["cluster"] == 1), None)
    if alone is None:
        return []
    sentences = []
    for row in own:
        if row["cluster"] not in SPLIT_SIZES or not row["stranded"]:
            continue
        compute, load = (row[f"{kernel}_rate"] / alone[f"{kernel}_rate"] for kernel in ("compute", "load"))
        rates = [one["load_silicon_rate"] for one in (row, alone)]
        silicon = f", {rates[0] / rates[1]:.0%} on an H200" if all(rates) else ""
        sentences.append(
            f"Clusters of {row['cluster']} use {row['used_share']:.0%} of the SMs; against clusters of 1 a "
            f"kernel that computes does {compute:.0%} of the work in the same time, one that only loads "
            f"{load:.0%}{within_error(load, row)}{silicon}."
        )
    return sentences


def _against_probe(own: list[Row]) -> list[str]:
    """Say where the SMs that the probed part used are not those that its floorplan gives."""
    probed = [row for row in own if row["silicon_sms"] is not None]
    if not probed:
        return []
    wrong = [row for row in probed if row["silicon_sms"] != row["sms_used"]]
    text = f"The part that was probed used as many SMs at {len(probed) - len(wrong)} of {len(probed)} sizes"
    for row in wrong:
        text += f"; clusters of {row['cluster']} used {row['silicon_sms']} there and {row['sms_used']} here"
    return [f"{text}."]


def _splits(others: list[Row]) -> list[str]:
    """Say how far the splits are apart, for each size that strands anything on any of them."""
    sentences = []
    for size in sorted({row["cluster"] for row in others if row["stranded"]}):
        plans = [row for row in others if row["cluster"] == size]
        worst, best = (pick(plans, key=lambda row: row["sms_used"]) for pick in (min, max))
        sms = best["sms_of_chip"]
        if worst["sms_used"] == best["sms_used"]:
            text = f"clusters of {size} use {best['sms_used']} of {sms} SMs on each of {len(plans)} splits"
        else:
            text = (
                f"clusters of {size} use {worst['sms_used']} ({worst['gpc_sms']}) to {best['sms_used']} "
                f"({best['gpc_sms']}) of {sms} SMs on {len(plans)} splits"
            )
        sentences.append(f"Other floorplans: {text}.")
    return sentences


STUDY = Study(
    name="placement",
    title="Placement: SMs that clusters use and strand, and what two kernels make of it",
    question="Which SMs does a cluster size strand, on this floorplan and on others, and what does it cost?",
    points=points,
    measure=measure,
    columns=(
        Column("floorplan", "floorplan"),
        Column("cluster", "cluster", "d"),
        Column("clusters", "clusters", "d"),
        Column("sms_used", "SMs", "d"),
        Column("silicon_sms", "H200 SMs", "d"),
        Column("stranded", "unused", "d"),
        Column("used_share", "share", ".0%"),
        Column("compute_rate", "compute tiles/kcyc", ".1f"),
        Column("load_rate", "load tiles/kcyc", ".1f"),
        Column("load_silicon_rate", "load H200 tiles/kcyc", ".1f"),
    ),
    group=Column("plans", "floorplans"),
    finding=finding,
    named_by=("floorplan", "cluster"),
)
