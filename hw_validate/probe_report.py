"""What a probe found, in a screenful of text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hw_validate.probe_map import L2Map, additive, map_floorplan, map_l2, median_pairs
from hw_validate.probe_ncu import shipped_names

Rows = dict[str, dict[str, Any]]
PERCENTILES = (1, 25, 50, 75, 99)


def report(rows: Rows) -> str:
    """Put in a screenful what the probe's rows say; `rows` are one part's, by step."""
    l2 = map_l2(rows["l2"]) if "l2" in rows else None
    parts = [_device(rows), _clocks(rows), _occupancy(rows), _floorplan(rows, l2), _l2(rows, l2)]
    parts += [_smem(rows), _hbm(rows), _counters(rows)]
    return "\n".join(line for part in parts for line in part)


def _device(rows: Rows) -> Iterator[str]:
    if row := rows.get("device"):
        version = f"{row['driver'] // 1000}.{row['driver'] % 1000 // 10}"
        yield f"{row['name']}, {row['uuid']}, driver CUDA {version}"
        shared = f"{row['shared_bytes_per_sm']:,} B of shared memory"
        yield f"{row['sms']} SMs with {shared} each, L2 of {row['l2_bytes']:,} B"
        if rates := row.get("sm_ghz"):
            yield f"SM clock while busy: {min(rates):.3f} to {max(rates):.3f} GHz"


def _clocks(rows: Rows) -> Iterator[str]:
    if row := rows.get("clocks"):
        rates = [f"{unit} {rate:.3f}" for unit, rate in row["clocks_ghz"].items()]
        yield f"clocks [GHz]: {', '.join(rates)}"


def _counters(rows: Rows) -> Iterator[str]:
    if row := rows.get("counters"):
        names = set(row["names"])
        gone = len(shipped_names() - names)
        yield f"counters: ncu {row['ncu']} lists {len(names)}; {gone} that the package knows are missing"
    if row := rows.get("clocks"):
        yield f"counters read: {len(row['readable'])}; not readable: {', '.join(row['unreadable']) or 'none'}"


def _occupancy(rows: Rows) -> Iterator[str]:
    if row := rows.get("occupancy"):
        yield "clusters resident at once, by cluster size:"
        yield _columns("KB a CTA", row["clusters"])
        for kilobytes, counts in zip(row["shared_kb"], row["resident"], strict=True):
            yield _columns(str(kilobytes), counts)


def _floorplan(rows: Rows, l2: L2Map | None) -> Iterator[str]:
    if "floorplan" not in rows or l2 is None:
        return
    plan = map_floorplan(rows["floorplan"], l2, rows["l2"]["uuid"])
    yield "GPCs: side of the L2, SMs by CPC; in brackets: in clusters of two at most"
    for number, gpc in enumerate(plan.gpcs):
        lone = set(gpc.pairs_only)
        cpcs = [" ".join(_tpc(tpc, tpc in lone) for tpc in cpc) for cpc in gpc.cpcs]
        yield f"  {number}: side {gpc.partition}, {len(gpc.sms)} SMs: {' | '.join(cpcs)}"


def _tpc(tpc: Sequence[int], lone: bool) -> str:
    text = ",".join(map(str, tpc))
    return f"({text})" if lone else text


def _l2(rows: Rows, found: L2Map | None) -> Iterator[str]:
    if found is not None:
        row = rows["l2"]
        yield "latencies below: median (1, 25, 50, 75 and 99 % of what was measured)"
        yield f"L2 hit by load [cycles]: {_spread(row['load'])}; by bulk copy: {_spread(row['bulk'])}"
        far = found.far[np.isfinite(found.far)]
        if far.size:
            yield f"  more where the only copy is on the other side: {_spread(far)}"
        sizes = np.bincount(found.group).tolist()
        yield f"  groups of slices: {len(sizes)}, with {sizes} lines; sums leave {found.residual:.1f} cycles"
        yield "  by group, least and most of the SMs against their side: " + ", ".join(
            f"{column.min():+.0f} {column.max():+.0f}" for column in found.by_sm.T
        )


def _smem(rows: Rows) -> Iterator[str]:
    if row := rows.get("smem"):
        pairs = median_pairs(row)
        yield f"own shared memory [cycles]: {_spread(row['own'])}; other SMs': {_spread(_remote(pairs))}"
        same = np.median([cycles for reader, owner, cycles in pairs if reader == owner])
        yield f"  by the same load from the own one {same:.0f}, so the network there and back adds the rest"
        sizes = sorted({int(size) for size, *_ in row["pairs"]})
        by_size = [f"{size}: {np.median(_remote(median_pairs(row, size))):.0f}" for size in sizes]
        yield f"  by cluster size {', '.join(by_size)}"
        groups = [group for group in rows.get("floorplan", {}).get("groups", []) if len(group) > 2]
        left = [value for value in (additive(pairs, group)[1] for group in groups) if not math.isnan(value)]
        if left:
            yield f"  a pair is the sum of its two SMs within {max(left):.1f} cycles (rms)"


def _remote(pairs: Sequence[tuple[int, int, float]]) -> list[float]:
    return [cycles for reader, owner, cycles in pairs if reader != owner]


def _hbm(rows: Rows) -> Iterator[str]:
    if row := rows.get("hbm"):
        for kind in ("load", "bulk"):
            yield f"HBM by {kind} [cycles]: {_spread(row[kind]['line'])}"
            yield f"  first line of a page of 2 MiB: {_spread(row[kind]['page'])}"


def _spread(values: Any) -> str:
    found = np.percentile(np.asarray(values, float).ravel(), PERCENTILES)
    return f"{found[2]:.0f} ({', '.join(f'{value:.0f}' for value in found)})"


def _columns(first: str, values: Sequence[int]) -> str:
    return f"  {first:>9}" + "".join(f"{value:>6}" for value in values)
