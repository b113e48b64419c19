"""Measured points of a dataset as items to compare, by selection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hoppersim.dataset import Dataset, Point
from hoppersim.dataset.schema import Counters
from hoppersim.errors import InputError
from hw_validate.compare import Item
from hw_validate.compare_curves import pace_of
from hw_validate.works import plan_hashes, works_of

SELECTIONS = ("set-aside", "training", "scaling", "all")


def dataset_items(dataset: Dataset, selection: str, run: str = "") -> list[Item]:
    """List the finished points of a dataset that a selection names.

    Parameters
    ----------
    dataset
        The dataset.
    selection
        ``set-aside``, ``training``, ``scaling`` (the cluster-scaling study) or ``all``.
    run
        Run to take them from; "" is the first of the manifest, and for works that it lacks the first run
        that has them.

    Raises
    ------
    InputError
        If there is no such selection or run.
    """
    runs = [item.run for item in dataset.manifest.runs]
    if run and run not in runs:
        raise InputError("--run", run, f"must be one of {', '.join(runs)}", runs[0])
    chosen = _selected(dataset, selection)
    if run:
        return items_of(dataset, [point for point in chosen if point.run == run])
    counts = _run_of_works(dataset, runs)
    return items_of(dataset, [point for point in chosen if point.run == counts[point.plan, point.hash]])


def _run_of_works(dataset: Dataset, runs: Sequence[str]) -> dict[tuple[str, str], str]:
    """Name the run that counts for each work of each plan: the first one that has it."""
    place = {run: number for number, run in enumerate(runs)}
    found: dict[tuple[str, str], str] = {}
    for point in sorted(dataset.finished(), key=lambda point: -place[point.run]):
        found[point.plan, point.hash] = point.run
    return found


def curve_items(dataset: Dataset, selection: str, details: Mapping[str, Any]) -> list[Item]:
    """List the points of bandwidth-latency curves that a selection names, of whatever run.

    Parameters
    ----------
    dataset, selection
        As for `dataset_items`.
    details
        What `hoppersim.dataset.per_sm` gives.
    """
    points = [point for point in _selected(dataset, selection) if "curve" in point.tags]
    first = {point.hash: point for point in reversed(points)}
    found = []
    for item, point in zip(items_of(dataset, list(first.values())), first.values(), strict=True):
        stamps = details.get(point.run, {}).get(point.id, {}).get("stamps", {})
        found.append(replace(item, pace=pace_of(stamps)))
    return found


def _selected(dataset: Dataset, selection: str) -> list[Point]:
    if selection not in SELECTIONS:
        raise InputError("--points", selection, f"must be one of {', '.join(SELECTIONS)}", SELECTIONS[0])
    points = (point for point in dataset.finished() if point.lowering_is_default and not _on_states(point))
    return [point for point in points if _chosen(point, selection)]


def _on_states(point: Point) -> bool:
    """Whether a point tells what loops leave behind (plan `halves`), in states between the model's two."""
    return point.tags.get("experiment") == "halves"


def items_of(dataset: Dataset, points: Sequence[Point]) -> list[Item]:
    """Join points of a dataset with their works and counters, those of another run where theirs has none.

    Raises
    ------
    InputError
        If a point's work cannot be built again.
    """
    works = works_of(points)
    counted: dict[str, list[Counters]] = defaultdict(list)
    for row in dataset.counters:
        counted[row.hash].append(row)
    ctas = {(point.run, point.hash): point.ctas or 0 for point in dataset.points}
    found = []
    for p in points:
        rows = sorted(counted[p.hash], key=lambda row: row.run != p.run)  # of the point's own run first
        first = rows[0] if rows else None
        found.append(
            Item(
                p.id, p.label, p.hash, works[p.hash], p.cycles or 0.0, tuple(p.repeats), p.spread or 0.0,
                p.tags, p.set_aside, first.counters if first else {},
                tuple(row.counters for row in counted[p.hash]), state=gpu_state(p.tags),
                counted_ctas=ctas.get((first.run, p.hash), 0) if first else 0,
            )
        )  # fmt: skip
    return found


def gpu_state(tags: Mapping[str, Any]) -> tuple[str, ...]:
    """Tell the state of the GPU that measured a point of the dataset, as settings of the machine.

    The last round of the plan `wide` ran behind multicasts to one SM each. So did most other plans, but their
    multicasts, which alone feel it, were measured anew (plan `anew`), except small clusters on one tile.
    """
    return ("xbar.wide_slowed=1",) if tags.get("before") == 1 else ()


def _chosen(point: Point, selection: str) -> bool:
    if selection == "scaling":  # a work of the study may belong to another plan too
        return point.hash in plan_hashes("scaling") and not point.set_aside
    return selection == "all" or bool(point.set_aside) == (selection == "set-aside")
