"""Checks of a dataset: files, counts, hashes, figures, and what must not be in it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hoppersim.dataset import tables
from hoppersim.dataset.reader import DEFAULT, dataset_folder, load_dataset, per_sm
from hoppersim.dataset.rebuild import rebuild_work
from hoppersim.dataset.schema import Dataset, Point
from hoppersim.errors import HopperSimError

MOST_BYTES = 6_000_000
_PATHS = re.compile(r"(?:^|[\s'\"=:(])(?:/[\w.+-]+){2,}|[A-Za-z]:\\|\w+@[\w-]+\.\w")


class Verified(NamedTuple):
    """What a check of a dataset found: problems, points, works built again from their tags, bytes."""

    problems: list[str]
    points: int
    rebuilt: int
    size: int


def verify_dataset(name: str = DEFAULT) -> Verified:
    """Check a dataset against its own manifest and against the works that it names.

    Raises
    ------
    InputError
        If there is no such dataset, or a table cannot be read at all.
    """
    folder = dataset_folder(name)
    dataset = load_dataset(name)
    size = sum(path.stat().st_size for path in folder.iterdir())
    problems = [*_file_problems(folder, dataset), *_count_problems(dataset), *_point_problems(dataset)]
    problems += _detail_problems(name, dataset)
    if size > MOST_BYTES:
        problems.append(f"the dataset has {size:,} bytes; at most {MOST_BYTES:,} are shipped")
    rebuilt, wrong = _rebuild_all(dataset)
    return Verified(problems + wrong, len(dataset.points), rebuilt, size)


def private_text(text: str) -> str | None:
    """Give the first piece of a text that looks like a path or an address of a machine; None if none does."""
    match = _PATHS.search(text)
    return match.group().strip() if match else None


def _file_problems(folder: Path, dataset: Dataset) -> Iterator[str]:
    known = {*dataset.manifest.files, tables.MANIFEST, tables.ERRORS}
    for path in sorted(folder.iterdir()):
        if path.name not in known:
            yield f"{path.name}: the manifest does not name it"
    for name, file in dataset.manifest.files.items():
        path = folder / name
        if not path.is_file():
            yield f"{name}: missing"
            continue
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != file.sha256:
            yield f"{name}: its SHA-256 is not that of the manifest"
        if path.suffix == ".csv" and (found := private_text(data.decode())) is not None:
            yield f"{name}: holds what looks like a path: {found}"


def _count_problems(dataset: Dataset) -> Iterator[str]:
    manifest, points = dataset.manifest, dataset.points
    rows = {tables.POINTS: points, tables.COUNTERS: dataset.counters, tables.LITMUS: dataset.litmus}
    for name, table in rows.items():
        if name in manifest.files and manifest.files[name].rows != len(table):
            yield f"{name}: {len(table)} rows, {manifest.files[name].rows} in the manifest"
    if dict(Counter(point.set_aside for point in points)) != manifest.set_aside:
        yield "the points set aside are not those that the manifest counts"
    for run in manifest.runs:
        mine = [point for point in points if point.run == run.run]
        if dict(Counter(point.status for point in mine)) != run.statuses:
            yield f"run {run.run}: its points are not those that the manifest counts"
    runs = {run.run for run in manifest.runs}
    used = {row.run for row in points} | {row.run for row in dataset.counters}
    strays = (used | {row.run for row in dataset.litmus}) - runs
    if strays:
        yield f"runs that the manifest does not name: {', '.join(sorted(strays))}"


def _point_problems(dataset: Dataset) -> Iterator[str]:
    seen: set[tuple[str, str]] = set()
    for point in dataset.points:
        name = f"{point.run} {point.label}"
        if (point.run, point.id) in seen:
            yield f"{name}: there twice"
        seen.add((point.run, point.id))
        if point.id[:16] != point.hash[:16]:
            yield f"{name}: identity and hash differ"
        if point.status == "ok" and not _is_median(point):
            yield f"{name}: time and spread do not follow from its repeats"
        if point.verified is False:
            yield f"{name}: wrong data were received"
    aside = {point.hash: bool(point.set_aside) for point in dataset.points if point.set_aside}
    for point in dataset.points:
        if not point.set_aside and point.hash in aside:
            yield f"{point.run} {point.label}: set aside in one run and for training in another"
    for row in dataset.counters:
        if (row.run, row.id) not in seen:
            yield f"{tables.COUNTERS}: {row.label} is no point"


def _is_median(point: Point) -> bool:
    if not point.repeats or point.cycles is None or point.spread is None:
        return False
    ordered = sorted(point.repeats)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    spread = (ordered[-1] - ordered[0]) / middle if middle else 0.0
    return abs(middle - point.cycles) < 1e-6 and abs(spread - point.spread) < 1e-4


def _detail_problems(name: str, dataset: Dataset) -> Iterator[str]:
    details = per_sm(name)
    for point in dataset.finished():
        detail = details.get(point.run, {}).get(point.id)
        if detail is None or not len(detail["sm"]) == len(detail["cycles"]) == point.ctas:
            yield f"{tables.PER_SM}: {point.run} {point.label} has not one time for each of its CTAs"


def _rebuild_all(dataset: Dataset) -> tuple[int, list[str]]:
    """Build every work that tags describe, and compare its hash; works of several runs once."""
    from hoppersim.program.canonical import work_hash

    hashes: dict[str, str] = {}
    problems, rebuilt = [], 0
    for point in dataset.points:
        key = repr(sorted(point.tags.get("case", point.tags).items(), key=str))
        if key not in hashes:
            try:
                work = rebuild_work(point.tags)
            except (HopperSimError, KeyError) as error:
                problems.append(f"{point.run} {point.label}: its tags describe no work ({error})")
                continue
            hashes[key] = work_hash(work) if work is not None else ""
        rebuilt += bool(hashes[key])
        if hashes[key] not in ("", point.hash):
            problems.append(f"{point.run} {point.label}: its tags give another work than it names")
    return rebuilt, problems
