"""What a comparison leaves: the error summary that ships, with the log of looks at the set-aside score."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hoppersim.dataset import Dataset, ErrorSummary, Look, WorstPoint, tables
from hoppersim.program.canonical import work_hash
from hoppersim.program.case_spec import Case, Mode
from hoppersim.program.cases import build_case
from hoppersim.result.files import write_text
from hw_validate.compare import Pair, relative, score
from hw_validate.compare_result import Comparison, worst_row
from hw_validate.compare_score import kind_in_new_plans
from hw_validate.compare_targets import CLOSED_FORM
from hw_validate.plans.parts import MIB

CLUSTERS = (1, 2, 4, 8, 16)
WAYS: tuple[Mode, ...] = ("multicast", "unicast", "unicast_distinct")
Key = tuple[str, str, str]
"""Preset, its hash, hash of the simulator's sources."""


def scaling_cases() -> list[Case]:
    """List the cases of the README's table: boxes of 32 KB, four stages."""
    return [
        Case(way, cluster, rows=256, stages=4, iterations=iterations, pattern="sweep", memory=memory,  # type: ignore[arg-type]
             footprint=footprint)
        for memory, iterations, footprint in (("l2", 128, 24 * MIB), ("hbm", 64, 0))
        for way in WAYS
        for cluster in CLUSTERS
    ]  # fmt: skip


def scaling_rows(dataset: Dataset, simulated: dict[str, float]) -> list[dict[str, Any]]:
    """Give the table's points that were measured: both times in cycles per tile, and the error.

    Parameters
    ----------
    dataset
        The dataset; of each work the first run that has it counts.
    simulated
        Simulated cycles by the work's hash; a point without them has None.
    """
    runs = [item.run for item in dataset.manifest.runs]
    measured = {
        point.hash: point for point in sorted(dataset.finished(), key=lambda point: -runs.index(point.run))
    }
    rows = []
    for case in scaling_cases():
        key = work_hash(build_case(case))
        if key not in measured:
            continue
        cycles = measured[key].cycles or 0.0
        found = simulated.get(key)
        rows.append({
            "memory": case.memory, "mode": case.mode, "cluster": case.cluster, "hash": key,
            "measured": round(cycles / case.iterations, 2), "stable": measured[key].stable,
            "simulated": None if found is None else round(found / case.iterations, 2),
            "error": None if found is None else round(relative(found, cycles), 5),
        })  # fmt: skip
    return rows


def summarise(
    dataset: Dataset, found: Comparison, hashes: dict[str, str], key: Key, old: ErrorSummary
) -> ErrorSummary:
    """Bring a summary up to date; figures of another machine, model or table are dropped, looks never.

    Parameters
    ----------
    dataset, found
        What was compared.
    hashes
        Hash of the work of each point, by the point's id.
    key
        What simulated.
    old
        The summary so far.
    """
    digest = dataset.manifest.files[tables.POINTS].sha256
    aside = any(pair.set_aside for pair in found.pairs)
    same = (old.preset, old.preset_hash, old.model_hash, old.points_sha256) == (*key, digest)
    kept = _without_ablations(old, found) if same else ErrorSummary(looks=old.looks)
    simulated = {row["hash"]: row["simulated"] for row in kept.scaling if row["simulated"] is not None}
    per_tile = {work_hash(build_case(case)): case.iterations for case in scaling_cases()}
    simulated = {name: value * per_tile[name] for name, value in simulated.items() if name in per_tile}
    simulated |= {hashes[pair.id]: pair.simulated for pair in found.pairs if pair.id in hashes}
    return ErrorSummary(
        date=today(), preset=key[0], preset_hash=key[1], model_hash=key[2], points_sha256=digest,
        groups=_merged(kept.groups, found.groups), baseline=_merged(kept.baseline, found.baseline),
        faster={**kept.faster, **found.faster}, counters=_merged(kept.counters, found.counters),
        scaling=scaling_rows(dataset, simulated), looks=kept.looks,
        worst=[WorstPoint(**worst_row(pair)) for pair in found.worst] if aside else kept.worst,
    )  # fmt: skip


def _without_ablations(old: ErrorSummary, found: Comparison) -> ErrorSummary:
    """Drop the ablations that were kept, if there are new ones: those may be of another sample."""
    if not found.ablations:
        return old

    def rest(scores: dict[str, Any]) -> dict[str, Any]:
        names = (name for name in scores if " / " not in name or name.startswith(CLOSED_FORM))
        return {name: scores[name] for name in names}

    return replace(old, baseline=rest(old.baseline), faster=rest(old.faster))


def _merged(
    old: dict[str, dict[str, float]], new: dict[str, dict[str, float]]
) -> dict[str, dict[str, float]]:
    """Join rows of scores; a figure that is infinite, since silicon counted nothing, is left out."""
    rounded = {
        name: {key: round(value, 5) for key, value in row.items() if isfinite(value)}
        for name, row in new.items()
    }
    both = {**old, **rounded}
    return {name: both[name] for name in sorted(both, key=lambda name: (":" in name, name))}


def log_look(summary: ErrorSummary, found: Iterable[Pair], key: Key) -> ErrorSummary:
    """Add a look at the set-aside score, unless the same one is the latest entry."""
    scored = [pair for pair in found if pair.set_aside and pair.stable]
    figures = score(scored)
    if not scored:
        return summary
    look = Look(
        date=today(), preset=key[0], preset_hash=key[1], model_hash=key[2], points=int(figures["points"]),
        median=round(figures["median"], 5), p90=round(figures["p90"], 5),
        new=sum(bool(kind_in_new_plans(pair)) for pair in scored),
    )  # fmt: skip
    latest = summary.looks[-1] if summary.looks else None
    if latest is not None and replace(latest, date=look.date) == look:
        return summary
    return replace(summary, looks=[*summary.looks, look])


def today() -> str:
    """Give the date of now [UTC]."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")


def store(summary: ErrorSummary, folder: Path) -> Path:
    """Write the summary into the folder of its dataset, whole or not at all."""
    path = folder / tables.ERRORS
    write_text(path, msgspec.json.format(msgspec.json.encode(summary), indent=1).decode() + "\n")
    return path
