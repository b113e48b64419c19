"""The floorplan of a part, from the rows of the floorplan probe and of the streams that show shared ports.

Cluster launches group most SMs into GPCs. A lone TPC forms no larger cluster, so they cannot place it:
private streams do (plan ``streams``, ``private_neighbours``). With its own GPC it keeps pace: both share
a port; with another GPC of its side of the L2 it is slowed a little less, since slices wait for the busier
port; with one of the other side it runs as if alone. Without such rows, lone TPCs and sides are assumed, and
the origin says so.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hoppersim.dataset import dataset_folder, floorplans, load_dataset, per_sm, tables
from hoppersim.errors import InputError
from hoppersim.machine.floorplan import (
    Floorplan,
    Gpc,
    floorplan_from_data,
    floorplan_from_groups,
    floorplan_to_data,
)
from hoppersim.machine.rules import closest
from hw_validate.compare import read_rows

NEIGHBOURS = "private_neighbours"
SAME_PACE = 0.97
"""Time of a lone TPC over that of a GPC from which on both share a port; another of its side gives 0.93."""
SLOWED = 1.6
"""Time of a lone TPC over its least time from which on a GPC beside it is of its side of the L2."""
TPC = 2
Detail = tuple[dict[str, Any], dict[str, Any]]
"""Tags of a point, and ``sm`` and ``cycles`` of its CTAs."""
Lone = list[tuple[tuple[int, ...], ...]]
"""Lone TPCs of each GPC."""


@dataclass(frozen=True)
class Probe:
    """What was found on one part.

    Parameters
    ----------
    part
        Its UUID, or a name.
    groups
        SM ids that met in clusters, as the probe lists them; a lone TPC is a group of its own.
    resident
        Clusters resident at once, by their size.
    paces
        Times of a group and of a lone TPC that stream together, by the places of both [cycle].
    """

    part: str
    groups: list[list[int]]
    resident: dict[int, int]
    paces: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)


def read_probe(path: Path, run: str = "") -> Probe:
    """Read a probe: rows of ``probe`` or ``run`` (JSON lines), or a dataset's folder or its floorplans.

    Parameters
    ----------
    path
        The file.
    run
        Run of a dataset; "" if it has one.

    Raises
    ------
    InputError
        If there is no floorplan, or several and no run is named.
    """
    if path.is_dir() or path.name == tables.FLOORPLANS:
        return _from_dataset(path if path.is_dir() else path.parent, run)
    rows = read_rows(path)
    found = next((row for row in rows if row.get("row") == "floorplan" and row.get("groups")), None)
    if found is None:
        raise InputError(
            "--floorplan-only", str(path), "must hold a row of the floorplan probe", "probe.jsonl"
        )
    points = [row for row in rows if row.get("row") == "point" and row.get("status") == "ok"]
    try:
        details = [(row.get("tags", {}), row["flows"][0]["cta"]) for row in points]
        return _probe(str(found.get("uuid", path.stem)), found, details)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError("--floorplan-only", str(path), f"its rows must be whole ({error!r})") from error


def _from_dataset(folder: Path, run: str) -> Probe:
    name = str(dataset_folder(str(folder)))
    plans, dataset = floorplans(name), load_dataset(name)
    if run not in plans and (run or len(plans) != 1):
        raise InputError("--run", run, f"must be one of {', '.join(plans)}", closest(run, plans))
    run = run or next(iter(plans))
    times = per_sm(name).get(run, {})
    points = [point for point in dataset.finished() if point.run == run and not point.set_aside]
    part = next((item.uuid for item in dataset.manifest.runs if item.run == run), run)
    return _probe(part, plans[run], [(point.tags, times[point.id]) for point in points if point.id in times])


def _probe(part: str, found: dict[str, Any], details: Iterable[Detail]) -> Probe:
    """Gather what a probe found with the paces of groups and lone TPCs."""
    groups: list[list[int]] = found["groups"]
    paces = {}
    for tags, cta in details:
        if tags.get("experiment") == NEIGHBOURS and max(tags["group"], tags["lone"]) < len(groups):
            paces[tags["group"], tags["lone"]] = (
                _pace(cta, groups[tags["group"]]), _pace(cta, groups[tags["lone"]]),
            )  # fmt: skip
    resident = {int(size): int(count) for size, count in found.get("resident", {}).items()}
    return Probe(part, [*groups, *([sm] for sm in found.get("loose", []))], resident, paces)


def _pace(cta: dict[str, Any], group: Sequence[int]) -> float:
    times = [cycles for sm, cycles in zip(cta["sm"], cta["cycles"], strict=True) if sm in set(group)]
    return statistics.median(times) if times else 0.0


def make_floorplan(probe: Probe) -> tuple[Floorplan, list[str]]:
    """Make a floorplan, and say what of it is assumed.

    Raises
    ------
    InputError
        If the groups leave SM ids out.
    """
    whole = [place for place, group in enumerate(probe.groups) if len(group) > TPC]
    lone = [place for place, group in enumerate(probe.groups) if len(group) <= TPC]
    home, notes = _homes(probe, whole, lone)
    sides, side_notes = _sides(probe, whole, home)
    parts = {gpc: [gpc, *(one for one in lone if home[one] == gpc)] for gpc in whole}
    members = {gpc: sorted(sm for place in parts[gpc] for sm in probe.groups[place]) for gpc in whole}
    evidence = "cluster launches (groups)" + ("" if notes else ", shared ports (lone TPCs)")
    evidence += "" if side_notes else " and shared slowdown (partitions)"
    assumed = "; ".join([*notes, *side_notes, "CPCs are assumed by TPC order"])
    plan = floorplan_from_groups(
        [members[gpc] for gpc in whole], [sides[gpc] for gpc in whole],
        f"measured: {probe.part}, {evidence}; {assumed}",
    )  # fmt: skip
    marked = [tuple(sorted(tuple(probe.groups[one]) for one in lone if home[one] == gpc)) for gpc in whole]
    return _with_pairs(plan, marked, probe.resident), [*notes, *side_notes]


def _homes(probe: Probe, whole: list[int], lone: list[int]) -> tuple[dict[int, int], list[str]]:
    """Find the GPC of each lone TPC: the one that it keeps pace with; else fill up the smallest."""
    home: dict[int, int] = {}
    for one in lone:
        ratios = {gpc: _ratio(probe.paces.get((gpc, one))) for gpc in whole}
        best = max(whole, key=lambda gpc: ratios[gpc])
        if ratios[best] >= SAME_PACE:
            home[one] = best
    rest = [one for one in lone if one not in home]
    sizes = {gpc: len(probe.groups[gpc]) for gpc in whole}
    for one in home:
        sizes[home[one]] += len(probe.groups[one])
    for one in rest:
        home[one] = min(whole, key=lambda gpc: (sizes[gpc], gpc))
        sizes[home[one]] += len(probe.groups[one])
    note = f"GPC of {len(rest)} lone TPCs is assumed: the smallest (streams would tell)"
    return home, [note] if rest else []


def _ratio(times: tuple[float, float] | None) -> float:
    return times[1] / times[0] if times is not None and times[0] else 0.0


def _sides(probe: Probe, whole: list[int], home: dict[int, int]) -> tuple[dict[int, int], list[str]]:
    """Find the side of the L2 of each GPC: a lone TPC is slow beside the GPCs of its own side."""
    least = min((lone for _, lone in probe.paces.values() if lone), default=0.0)
    together = {
        (gpc, home[one]): lone / least >= SLOWED for (gpc, one), (_, lone) in probe.paces.items() if lone
    }
    known = next(
        (gpc for gpc in whole if all((other, gpc) in together for other in whole if other != gpc)), None
    )
    if known is None:
        note = "sides of the L2 are assumed: GPCs in turn (streams would tell)"
        return {gpc: place % 2 for place, gpc in enumerate(whole)}, [note]
    same = {gpc: gpc == known or together[gpc, known] for gpc in whole}
    return {gpc: int(same[gpc] != same[whole[0]]) for gpc in whole}, []


def _with_pairs(plan: Floorplan, lone: Lone, resident: dict[int, int]) -> Floorplan:
    """Mark lone TPCs as pairs only in the fewest GPCs with which as many clusters fit as were resident."""
    candidates = [place for place, tpcs in enumerate(lone) if tpcs]
    for count in range(len(candidates) + 1):
        for chosen in combinations(candidates, count):
            gpcs = tuple(
                replace(gpc, pairs_only=lone[place]) if place in chosen else gpc
                for place, gpc in enumerate(plan.gpcs)
            )
            if all(_clusters(gpcs, size) == number for size, number in resident.items()):
                return replace(plan, gpcs=gpcs)
    return plan


def _clusters(gpcs: Iterable[Gpc], size: int) -> int:
    return sum(len(gpc.cluster_sms(size)) // size for gpc in gpcs)


def floorplan_text(probe: Probe) -> tuple[str, list[str]]:
    """Write a floorplan as TOML, and say what of it is assumed.

    Raises
    ------
    InputError
        If the groups leave SM ids out.
    """
    plan, notes = make_floorplan(probe)
    data = floorplan_to_data(plan)
    lines = [f"name = {json.dumps(data['name'])}", f"origin = {json.dumps(data['origin'])}"]
    for gpc in data["gpc"]:
        lines += ["", "[[gpc]]", f"partition = {gpc['partition']}", "cpcs = ["]
        lines += [f"    {json.dumps(cpc)}," for cpc in gpc["cpcs"]]
        lines += ["]", *(f"{name} = {json.dumps(gpc[name])}" for name in ("pairs_only",) if name in gpc)]
    floorplan_from_data(data)
    return "\n".join(lines) + "\n", notes
