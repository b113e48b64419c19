"""What a probe found as files that a preset can name: floorplan, latency by SM and slice, and by SM pair."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from hoppersim.errors import InputError
from hoppersim.machine.floorplan import Floorplan, floorplan_to_data
from hoppersim.result.files import write_text
from hw_validate.probe_map import UNKNOWN, Cycles, Ints, L2Map, additive, map_floorplan, map_l2, median_pairs

Rows = dict[str, dict[str, Any]]

NEEDED = ("floorplan", "l2", "smem")
WAYS = 2
"""A remote load crosses the network there and back; the table holds one way."""


def write_tables(folder: Path, rows: Rows, slices: int) -> list[Path]:
    """Write floorplan and tables of the probed part.

    Parameters
    ----------
    folder
        Where to write; made if missing.
    rows
        A part's rows, by step.
    slices
        Slices of the L2, both sides together.

    Returns
    -------
    list of Path
        The files, in SM cycles around a mean of zero.

    Raises
    ------
    InputError
        If a step is missing.
    """
    for name in NEEDED:
        if name not in rows:
            raise InputError("--tables", str(folder), f"needs the step {name}; run: probe --only {name}")
    l2 = map_l2(rows["l2"])
    plan = map_floorplan(rows["floorplan"], l2, rows["l2"]["uuid"])
    texts = {
        "floorplan.toml": tomli_w.dumps(floorplan_to_data(plan)),
        "l2_latency.csv": _csv(l2_table(l2, slices)),
        "pair_latency.csv": _csv(pair_table(plan, rows["smem"])),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def l2_table(l2: L2Map, slices: int) -> Cycles:
    """Give each SM's latency to each slice, less the mean latency of hits [cycle], shape (SMs, slices).

    Slices of side 0 come first. Those of the other side hold what a load costs whose only copy lies there.
    Which slice of a group of slices holds a line is not told apart: a group's lines are ranked by latency
    and shared out among its slices.
    """
    half = slices // len(l2.by_line)
    group = _share_out(np.bincount(l2.group), half)
    copy = _copy_penalty(l2)
    own = np.stack([_by_slice(l2, side, group, copy) for side in range(len(l2.by_line))])
    far = (
        np.nan_to_num(np.nanmean(l2.far, axis=0)) if np.isfinite(l2.far).any() else np.zeros(group.max() + 1)
    )
    table = np.zeros((len(l2.side), slices))
    for sm, side in enumerate(l2.side):
        for other in range(len(own)):
            crossing = 0.0 if other == side else far[group]
            there = l2.by_sm[sm, group] + own[side] + crossing
            table[sm, other * half : (other + 1) * half] = there
    hits = np.concatenate(
        [table[l2.side == s][:, s * half : (s + 1) * half].ravel() for s in range(len(own))]
    )
    return np.asarray(table - hits.mean())


def _share_out(lines: Ints, slices: int) -> Ints:
    """Give each slice of a side its group, by the groups' shares of the sampled lines."""
    shares = lines * slices / lines.sum()
    counts = np.floor(shares).astype(int)
    for g in np.argsort(counts - shares)[: slices - counts.sum()]:
        counts[g] += 1
    return np.repeat(np.arange(len(lines)), counts)


def _copy_penalty(l2: L2Map) -> float:
    """Say how much longer a hit takes on a copy than at the line's home, where both were seen."""
    found = []
    for side, cycles in enumerate(l2.by_line):
        for g in range(l2.by_sm.shape[1]):
            mine = cycles[(l2.group == g) & (l2.home == side)]
            copies = cycles[(l2.group == g) & (l2.home != side) & (l2.home != UNKNOWN)]
            if len(mine) and len(copies):
                found.append(copies.mean() - mine.mean())
    return float(np.median(found)) if found else 0.0


def _by_slice(l2: L2Map, side: int, group: Ints, copy: float) -> Cycles:
    """Give the mean latency of each slice for the SMs of its side, half of its lines being copies."""
    cycles = l2.by_line[side] - np.where(l2.home == side, -copy / 2, copy / 2)
    known = l2.home != UNKNOWN
    found = np.zeros(len(group))
    for g in np.unique(group):
        lines = (l2.group == g) & known if ((l2.group == g) & known).any() else l2.group == g
        parts = np.array_split(np.sort(cycles[lines]), int(np.sum(group == g)))
        found[group == g] = [part.mean() if len(part) else cycles[lines].mean() for part in parts]
    return found


def pair_table(plan: Floorplan, step: dict[str, Any]) -> Cycles:
    """Give the latency from SM to SM, one way, less the mean [cycle], shape (SMs, SMs).

    Pairs that never met in a cluster take the sum of their two SMs; pairs of different GPCs hold 0.
    """
    pairs = median_pairs(step)
    trips = np.full((plan.sm_count, plan.sm_count), np.nan)
    for gpc in plan.gpcs:
        sms = [sm for sm in gpc.sms if sm not in {s for tpc in gpc.pairs_only for s in tpc}]
        alone, _ = additive(pairs, sms)
        trips[np.ix_(sms, sms)] = alone[:, None] + alone[None, :]
    for reader, owner, cycles in pairs:
        trips[reader, owner] = cycles
    np.fill_diagonal(trips, np.nan)
    return np.asarray(np.nan_to_num((trips - np.nanmean(trips)) / WAYS))


def _csv(table: Cycles) -> str:
    text = io.StringIO()
    np.savetxt(text, table, fmt="%.1f", delimiter=",")
    return text.getvalue()
