"""What latencies say of a part: sides of the L2, groups of slices, CPCs, and the GPC of a lone TPC.

A line's latency is a sum: a part of the line, seen alike by all SMs of one side of the L2, and a part of the
SM and the group of slices that holds the line. TPCs of one CPC see the groups with the same differences,
which is how CPCs, and the GPC of a TPC that forms no clusters with others, are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoppersim.errors import InputError
from hoppersim.machine.floorplan import Cpc, Floorplan, Gpc, Tpc

Cycles = NDArray[np.float64]
Ints = NDArray[np.int64]

FAR = 60.0
"""Cycles by which a load from the other side exceeds one from a copy; the surcharge itself is above 140."""
GROUP_APART = 2.5
"""Mean difference [cycle] of two lines' profiles over SMs, less which they lie in one group of slices."""
CPC_APART = 2.0
"""Mean difference [cycle] of two TPCs' profiles over groups, less which they belong to one CPC."""
UNKNOWN = -1


@dataclass(frozen=True)
class L2Map:
    """The L2 step of a probe, taken apart.

    Parameters
    ----------
    side
        Side of the L2 of each SM; that of SM 0 is 0.
    home
        Side on which each line was written, where the other side had no copy; else `UNKNOWN`.
    group
        Group of slices of each line, largest group first.
    by_sm
        Cycles that an SM's loads from a group take more than those of its side, shape (SMs, groups).
    by_line
        Mean latency of each line for the SMs of each side [cycle], shape (sides, lines).
    far
        Median surcharge of a load from the other side [cycle], shape (SMs, groups); NaN where none was seen.
    residual
        Median distance of a measured latency from the sum [cycle].
    """

    side: Ints
    home: Ints
    group: Ints
    by_sm: Cycles
    by_line: Cycles
    far: Cycles
    residual: float


def map_l2(step: dict[str, Any]) -> L2Map:
    """Take the L2 step apart.

    Parameters
    ----------
    step
        Row of the step: `load` and `written`, shape (SMs, lines), in cycles.
    """
    load = np.array(step["load"], float)
    far = np.array(step["written"], float) - load
    side = _sides(far > FAR)
    by_line = np.stack([load[side == s].mean(axis=0) for s in range(side.max() + 1)])
    rest = load - by_line[side]
    group = _groups(rest - rest.mean(axis=1, keepdims=True))
    by_sm = np.stack([np.median(rest[:, group == g], axis=1) for g in range(group.max() + 1)], axis=1)
    residual = float(np.median(np.abs(rest - by_sm[:, group])))
    return L2Map(side, _homes(far > FAR, side), group, by_sm, by_line, _surcharge(far, group), residual)


def _sides(is_far: NDArray[np.bool_]) -> Ints:
    """Tell SMs of one side from those of the other: they find the same lines far."""
    split = is_far.mean(axis=0)
    rows = is_far[:, (split > 0.2) & (split < 0.8)]
    if rows.shape[1] == 0:
        return np.zeros(len(is_far), np.int64)
    return np.asarray((rows != rows[0]).mean(axis=1) > 0.5, np.int64)


def _homes(is_far: NDArray[np.bool_], side: Ints) -> Ints:
    home = np.full(is_far.shape[1], UNKNOWN, np.int64)
    for s in range(int(side.max()) + 1):
        home[is_far[side == s].mean(axis=0) > 0.5] = 1 - s
    return home


def _surcharge(far: Cycles, group: Ints) -> Cycles:
    found = np.full((len(far), group.max() + 1), np.nan)
    for sm, cycles in enumerate(far):
        for g in range(found.shape[1]):
            seen = cycles[(group == g) & (cycles > FAR)]
            if len(seen):
                found[sm, g] = np.median(seen)
    return found


def _groups(profiles: Cycles) -> Ints:
    """Gather lines (columns) whose profiles over SMs agree, and number the gatherings by size."""
    members: list[list[int]] = []
    centres: list[Cycles] = []
    for line, profile in enumerate(profiles.T):
        near = [float(np.abs(profile - centre).mean()) for centre in centres]
        best = int(np.argmin(near)) if near else 0
        if near and near[best] < GROUP_APART:
            members[best].append(line)
            centres[best] += (profile - centres[best]) / len(members[best])
        else:
            members.append([line])
            centres.append(profile.copy())
    members.sort(key=len, reverse=True)
    group = np.zeros(profiles.shape[1], np.int64)
    for number, lines in enumerate(members):
        group[lines] = number
    return group


def map_floorplan(step: dict[str, Any], l2: L2Map, uuid: str) -> Floorplan:
    """Make a floorplan of what clusters and latencies say.

    Parameters
    ----------
    step
        Row of the floorplan step: `groups` of SMs that met in clusters.
    l2
        The L2 step of the same part.
    uuid
        The part.

    Raises
    ------
    InputError
        If no SMs met in clusters.
    """
    groups = [sorted(group) for group in step["groups"]]
    together = [group for group in groups if len(group) > 2]
    if not together:
        raise InputError("probe.floorplan.groups", groups, "must hold SMs that share a GPC")
    shapes = l2.by_sm - l2.by_sm.mean(axis=1, keepdims=True)
    lone = [tuple(group) for group in groups if len(group) == 2] + [(sm,) for sm in step.get("loose", [])]
    extra: list[list[Tpc]] = [[] for _ in together]
    for tpc in lone:
        extra[_nearest(tpc, together, shapes, l2.side)].append(tpc)
    gpcs = [
        Gpc(int(l2.side[sms[0]]), _cpcs([*_tpcs(sms), *more], shapes), tuple(more))
        for sms, more in zip(together, extra, strict=True)
    ]
    return Floorplan("probed", f"measured: {uuid}, cluster launches and latencies of L2 lines", tuple(gpcs))


def _tpcs(sms: Sequence[int]) -> list[Tpc]:
    return [tuple(sms[k : k + 2]) for k in range(0, len(sms), 2)]


def _nearest(tpc: Tpc, gpcs: Sequence[Sequence[int]], shapes: Cycles, side: Ints) -> int:
    """Find the GPC, on the same side, with the TPC that sees the L2 most alike."""
    best, found = np.inf, 0
    for number, sms in enumerate(gpcs):
        if side[sms[0]] != side[tpc[0]]:
            continue
        apart = min(_apart(tpc, other, shapes) for other in _tpcs(sms))
        if apart < best:
            best, found = apart, number
    return found


def _apart(one: Tpc, other: Tpc, shapes: Cycles) -> float:
    return float(np.abs(shapes[list(one)].mean(axis=0) - shapes[list(other)].mean(axis=0)).mean())


def _cpcs(tpcs: Sequence[Tpc], shapes: Cycles) -> tuple[Cpc, ...]:
    """Gather the TPCs of a GPC that see the L2 alike."""
    parts: list[list[Tpc]] = []
    for tpc in tpcs:
        for part in parts:
            if _apart(tpc, part[0], shapes) < CPC_APART:
                part.append(tpc)
                break
        else:
            parts.append([tpc])
    return tuple(tuple(part) for part in parts)


def median_pairs(step: dict[str, Any], size: int = 0) -> list[tuple[int, int, float]]:
    """Give (reader, owner, cycles) of the SMEM step: median over clusters of `size`, or of any if it is 0."""
    met: dict[tuple[int, int], list[float]] = {}
    for cluster, reader, owner, cycles in step["pairs"]:
        if size in (0, cluster):
            met.setdefault((reader, owner), []).append(cycles)
    return [(*pair, float(np.median(cycles))) for pair, cycles in sorted(met.items())]


def additive(pairs: Sequence[tuple[int, int, float]], sms: Sequence[int]) -> tuple[Cycles, float]:
    """Fit a latency to each SM so that a pair's round trip is the sum of its two.

    Parameters
    ----------
    pairs
        (reader, owner, cycles), with pairs outside `sms` and of one SM ignored.
    sms
        SMs of one GPC.

    Returns
    -------
    tuple
        Cycles of each SM, and the root mean square of what the sums leave over. NaN where no pair was seen.
    """
    place = {sm: k for k, sm in enumerate(sms)}
    seen = [(place[a], place[b], c) for a, b, c in pairs if a != b and {a, b} <= place.keys()]
    if len({k for a, b, _ in seen for k in (a, b)}) < max(3, len(sms)):
        return np.full(len(sms), np.nan), np.nan
    matrix = np.zeros((len(seen), len(sms)))
    for row, (a, b, _) in enumerate(seen):
        matrix[row, a] += 1
        matrix[row, b] += 1
    cycles = np.array([c for _, _, c in seen])
    found = np.linalg.lstsq(matrix, cycles, rcond=None)[0]
    return found, float(np.sqrt(np.mean((matrix @ found - cycles) ** 2)))
