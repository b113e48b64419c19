"""What a kernel wrote, decoded. Imports the standard library and numpy only."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER_WORDS = 4
WARP_WORDS = 8
HANGS_KEPT = 16
STAMP_VALUES_KEPT = 4096
START, END, CHIP_START, CHIP_END, STATUS, AT, CHECK = range(7)
Records = NDArray[np.uint64]


@dataclass(frozen=True)
class Run:
    """One launch of one flow, decoded; arrays have one value for each CTA that took part."""

    cta: NDArray[np.int64]
    """Cluster number times cluster size, plus the rank."""
    sm: NDArray[np.int64]
    cycles: NDArray[np.int64]
    """Earliest start stamp to latest end stamp."""
    chip_start: NDArray[np.int64]
    chip_end: NDArray[np.int64]
    """By the chip-wide timer [ns]."""
    words: Records
    """The records themselves."""

    @property
    def slowest(self) -> int:
        """Cycles of the slowest CTA."""
        return int(self.cycles.max()) if len(self.cycles) else -1

    @property
    def chip_ns(self) -> int:
        """Time from the first start to the last end by the chip-wide timer [ns]."""
        return int(self.chip_end.max() - self.chip_start.min()) if len(self.cycles) else -1


def decode(words: Records, warps: int) -> Run:
    """Decode the records of one launch; those of CTAs that took no part are 0 and left out."""
    here = np.flatnonzero(words[:, 0] >> np.uint64(32))
    kept = words[here]
    table = _warps(kept, warps).astype(np.int64)
    worked = table[:, :, END] != 0
    far = np.int64(2**62)
    start = np.where(worked, table[:, :, START], far).min(axis=1, initial=far)
    end = np.where(worked, table[:, :, END], 0).max(axis=1, initial=0)
    chip_start = np.where(worked, table[:, :, CHIP_START], far).min(axis=1, initial=far)
    chip_end = np.where(worked, table[:, :, CHIP_END], 0).max(axis=1, initial=0)
    busy = worked.any(axis=1)
    cycles = np.where(busy, end - start, 0)
    sm = (kept[:, 0] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    return Run(here[busy], sm[busy], cycles[busy], chip_start[busy], chip_end[busy], kept[busy])


def _warps(words: Records, warps: int) -> Records:
    return words[:, HEADER_WORDS : HEADER_WORDS + WARP_WORDS * warps].reshape(len(words), warps, WARP_WORDS)


def hangs(run: Run, flow: dict[str, Any]) -> list[dict[str, Any]]:
    """List the waits that passed their limit: where, which barrier, stage, parity and iteration."""
    found = []
    size = flow["cluster_size"]
    table = _warps(run.words, flow["warps"])
    for row, warp in np.argwhere(table[:, :, STATUS] != 0):
        status, at = int(table[row, warp, STATUS]), int(table[row, warp, AT])
        site = flow["sites"][status >> 32 & 0x7FFFFFFF]
        place = {
            "cluster": int(run.cta[row]) // size,
            "rank": int(run.cta[row]) % size,
            "sm": int(run.sm[row]),
        }
        found.append(
            {**place, **site, "stage": status >> 8 & 0xFFFFFF, "parity": status & 255, "iteration": at}
        )
    return found[:HANGS_KEPT]


def role_times(run: Run, flow: dict[str, Any]) -> dict[str, list[int]]:
    """Give least, median and greatest cycles of each role, over all warps of all CTAs."""
    table = _warps(run.words, flow["warps"]).astype(np.int64)
    times = {}
    for role in flow["roles"]:
        part = table[:, role["first_warp"] : role["first_warp"] + role["warps"]]
        spans = (part[:, :, END] - part[:, :, START])[part[:, :, END] != 0]
        if len(spans):
            times[role["name"]] = [int(spans.min()), int(np.median(spans)), int(spans.max())]
    return times


def stamps(run: Run, flow: dict[str, Any]) -> dict[str, list[list[int]]]:
    """Give the times of each stamp, CTA by CTA, in cycles from the CTA's first start stamp."""
    table = _warps(run.words, flow["warps"])
    worked = table[:, :, END] != 0
    origin = np.where(worked, table[:, :, START], np.uint64(2**62)).min(axis=1)
    found = {}
    for stamp in flow["stamps"]:
        first, kept = stamp["offset"] + 1, flow["stamps_kept"]
        rows = []
        for words, begin in zip(run.words, origin, strict=True):
            count = min(int(words[first - 1]), kept)
            rows.append([int(value) - int(begin) for value in words[first : first + count]])
        each = max(1, STAMP_VALUES_KEPT // max(1, len(rows)))
        found[f"{stamp['role']}.{stamp['name']}"] = [row[:each] for row in rows]
    return found


def verify(run: Run, flow: dict[str, Any], stored: dict[str, int] | None = None) -> dict[str, Any]:
    """Compare the checks of received and of stored data with those worked out beforehand.

    Parameters
    ----------
    run, flow
        The launch that verified, and its flow in the plan.
    stored
        Checks of the allocations that the flow stored to, by name.
    """
    received = _verify_received(run, flow)
    if not stored:
        return received
    right = stored == flow["stored"]
    verified = right and received["verified"] is not False
    return {**received, "verified": verified, "stored": right}


def _verify_received(run: Run, flow: dict[str, Any]) -> dict[str, Any]:
    """Compare the checks of received data."""
    expected = flow["expected"]
    if not expected["roles"]:
        return {"verified": None, "why": expected["why"] or "no role waits for data"}
    table, size = _warps(run.words, flow["warps"]), flow["cluster_size"]
    wrong, compared = [], 0
    for role in flow["roles"]:
        values = expected["roles"].get(role["name"])
        if values is None:
            continue
        part = table[:, role["first_warp"] : role["first_warp"] + role["warps"]]
        sums = part[:, :, CHECK].sum(axis=1)
        for cta, got in zip(run.cta, sums, strict=True):
            cluster, rank = divmod(int(cta), size)
            if cluster >= len(values) or values[cluster][rank] is None:
                continue
            compared += 1
            if int(got) != values[cluster][rank]:
                wrong.append({"role": role["name"], "cluster": cluster, "rank": rank, "got": int(got)})
    return {
        "verified": not wrong and compared > 0,
        "compared": compared,
        "mismatches": len(wrong),
        "wrong": wrong[:8],
    }


def summary(runs: list[Run], event_ms: list[float], flow: dict[str, Any]) -> dict[str, Any]:
    """Sum up the repeats of one flow; per-CTA figures are those of the median repeat."""
    if not all(len(run.cta) for run in runs):
        raise ValueError("no CTA took part")
    times = [run.slowest for run in runs]
    middle = sorted(range(len(runs)), key=times.__getitem__)[(len(runs) - 1) // 2]
    run, median = runs[middle], statistics.median(times)
    begin = int(run.chip_start.min())
    return {
        "cycles": median,
        "repeats": times,
        "spread": (max(times) - min(times)) / median if median else 0.0,
        "event_ms": [round(value, 6) for value in event_ms],
        "chip_ns": [item.chip_ns for item in runs],
        "sm_ghz": _clock(runs),
        "ctas": len(run.cta),
        "cta": {
            "number": run.cta.tolist(),
            "sm": run.sm.tolist(),
            "cycles": run.cycles.tolist(),
            "chip_start_ns": (run.chip_start - begin).tolist(),
            "chip_end_ns": (run.chip_end - begin).tolist(),
        },
        "roles": role_times(run, flow),
        "stamps": stamps(run, flow),
    }


def _clock(runs: list[Run]) -> float | None:
    """Estimate the SM clock: cycles over chip time of the longest-running CTAs [GHz]."""
    rates = [
        run.cycles[place] / (run.chip_end[place] - run.chip_start[place])
        for run in runs
        for place in np.argsort(run.cycles)[-16:]
        if run.chip_end[place] > run.chip_start[place]
    ]
    return round(float(np.median(rates)), 4) if rates else None
