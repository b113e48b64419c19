"""Statistics of counters: bytes and sectors that both sides count, and reads that the coalescer merges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hoppersim.program.cases import DEFAULT_L2_FOOTPRINT
from hoppersim.units import SECTOR_BYTES
from hw_validate.compare import Pair, relative, score_of
from hw_validate.compare_score import Scores, portions

L2_SECTORS, DRAM_BYTES = "lts__t_sectors_srcunit_tex_op_read.sum", "dram__bytes_read.sum"
L2_MISSES = "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum"
DSMEM_BYTES = "l1tex__m_xbar2l1tex_read_bytes_mem_dshared_op_tma_st.sum"
SELF_BYTES, MULTICAST_BYTES = (
    f"l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_{way}.sum" for way in ("self", "multicast")
)
"""What loads deliver to shared memory."""
COUNTED = (L2_SECTORS, SELF_BYTES, MULTICAST_BYTES, DSMEM_BYTES, L2_MISSES, DRAM_BYTES)
FETCHED = {L2_MISSES: SECTOR_BYTES, DRAM_BYTES: 1}
"""Counters of what the L2 lacked, and the bytes of one count."""
CLOSE = 0.01
"""Error up to which a counter agrees."""
FETCHED_FLOOR = 0.1
"""Share of the delivered bytes below which an error of fetched bytes no longer counts relative to itself."""
MERGED_POINTS = 0.10
"""Difference of merged shares up to which they agree."""


class Traffic(NamedTuple):
    """One counter of one point: its name and its error."""

    name: str
    error: float


def traffic(pair: Pair) -> list[Traffic]:
    """Give the errors of what the program alone decides: reads that can merge are left out.

    What the L2 lacked is DRAM bytes where the launch starts from a cold one, and its misses where it starts
    from a warm one: Nsight Compute saves all memory between the warm launches and the first of its passes,
    which counts DRAM bytes; the misses are counted in a later pass, which finds the L2 as the pass before
    left it. The error is relative to what was fetched, or to a tenth of what is delivered where that is
    more, since an L2-resident run should fetch nothing. Counts are those of as many CTAs as ran where they
    were read: parts place different numbers on the SMs of a GPC.
    """
    found = []
    for name in COUNTED:
        if not _has(pair, name) or name in _left_out(pair):
            continue
        measured, simulated = pair.counters[name], pair.simulated_counters[name] * _as_many(pair)
        if name in FETCHED:
            least = max(measured, FETCHED_FLOOR * pair.delivered / FETCHED[name], 1.0)
            found.append(Traffic(name, (simulated - measured) / least))
        elif measured or simulated:
            found.append(Traffic(name, relative(simulated, measured)))
    return found


def _as_many(pair: Pair) -> float:
    """Give the CTAs that ran where the point was counted, for each that was simulated."""
    measured, simulated = pair.ctas
    return measured / simulated if measured and simulated else 1.0


def _left_out(pair: Pair) -> set[str]:
    """Name the counters that say nothing about the point."""
    return {DRAM_BYTES if pair.warm else L2_MISSES} | ({L2_SECTORS} if merges(pair) else set())


def _has(pair: Pair, name: str) -> bool:
    return name in pair.counters and name in pair.simulated_counters


def merges(pair: Pair) -> bool:
    """Whether several SMs read the same lines by unicast, so that the coalescer may merge their reads."""
    case, tags = pair.tags.get("case", {}), pair.tags
    shared = case.get("mode") == "unicast" and (case["cluster"] > 1 or case.get("pattern") == "one")
    by_plan = tags.get("experiment") in ("lrc_delay", "slices") or tags.get("article") == "unicast"
    return bool(shared or by_plan or _overlaps(pair))


def _overlaps(pair: Pair) -> bool:
    """Whether a unicast sweep goes around its allocation, so that CTAs read what others read before them."""
    case = pair.tags.get("case", {})
    if case.get("pattern") != "sweep" or case.get("memory", "l2") == "hbm" or "multi" in case["mode"]:
        return False
    return bool(pair.delivered > (case.get("footprint") or DEFAULT_L2_FOOTPRINT))


def merged_share(counters: Mapping[str, float]) -> float | None:
    """Give the share of delivered sectors that the L2 did not read for themselves; None where not counted."""
    delivered = counters.get(SELF_BYTES, 0) + counters.get(MULTICAST_BYTES, 0)
    if not delivered or L2_SECTORS not in counters:
        return None
    return 1.0 - counters[L2_SECTORS] * SECTOR_BYTES / delivered


def merging_agrees(pair: Pair) -> bool | None:
    """Say whether the merged share is right; None for a point that does not merge or was not counted.

    It is if both shares are within `MERGED_POINTS`; or if the measured one lies inside the range of the
    simulator's seeds, which may be wider than the range of the measured ones by no more than that.
    """
    measured = [share for counters in pair.counted if (share := merged_share(counters)) is not None]
    simulated = merged_share(pair.simulated_counters)
    if not merges(pair) or not measured or simulated is None:
        return None
    if abs(simulated - measured[0]) <= MERGED_POINTS:
        return True
    others = [share for one in pair.seeds if (share := merged_share(one.counters)) is not None]
    shares = [simulated, *others]
    narrow = max(shares) - min(shares) <= max(measured) - min(measured) + MERGED_POINTS
    return narrow and min(shares) <= measured[0] <= max(shares)


def counter_scores(found: Iterable[Pair]) -> Scores:
    """Score the counters that both sides have, by portion and name.

    Each row has points, median, p90 and worst of the errors and the share that agrees; ``PORTION: traffic``
    has all counters together, ``PORTION: merging`` points and the share of merged reads that are right.
    """
    errors: dict[str, list[float]] = defaultdict(list)
    merging: dict[str, list[bool]] = defaultdict(list)
    for pair in found:
        for portion in portions(pair.set_aside):
            for name, error in traffic(pair):
                errors[f"{portion}: {name}"].append(error)
                errors[f"{portion}: traffic"].append(error)
            right = merging_agrees(pair)
            if right is not None:
                merging[f"{portion}: merging"].append(right)
    result: Scores = {}
    for name, values in sorted(errors.items()):
        agree = sum(abs(error) <= CLOSE for error in values) / len(values)
        result[name] = {**score_of(values), "agree": agree}
    for name, marks in sorted(merging.items()):
        result[name] = {"points": len(marks), "agree": sum(marks) / len(marks)}
    return result
