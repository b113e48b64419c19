"""The files of a dataset, written whole or not at all; and those of an earlier one, to go on from."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hoppersim.dataset import (
    Counters,
    Litmus,
    Manifest,
    Point,
    Run,
    floorplans,
    kernels,
    load_dataset,
    per_sm,
    tables,
)
from hoppersim.dataset.schema import File
from hoppersim.errors import InputError


@dataclass
class Contents:
    """What a dataset holds.

    Parameters
    ----------
    runs, points, counters, litmus
        Rows of its tables.
    per_sm, floorplans
        Times by SM, role and stamp of every point, and what was found of each part, by run.
    kernels
        Registers and instruction counts by kernel.
    """

    runs: list[Run]
    points: list[Point]
    counters: list[Counters] = field(default_factory=list)
    litmus: list[Litmus] = field(default_factory=list)
    per_sm: dict[str, Any] = field(default_factory=dict)
    floorplans: dict[str, Any] = field(default_factory=dict)
    kernels: dict[str, Any] = field(default_factory=dict)


def read_contents(name: str) -> Contents:
    """Read a dataset by its name or folder."""
    found = load_dataset(name)
    return Contents(
        list(found.manifest.runs), list(found.points), list(found.counters), list(found.litmus),
        dict(per_sm(name)), dict(floorplans(name)), dict(kernels(name)),
    )  # fmt: skip


def joined(first: Contents, more: Contents) -> Contents:
    """Put the runs of one dataset behind those of another.

    Raises
    ------
    InputError
        If rows of the second are in the first already.
    """
    known = {(point.id, point.when) for point in first.points if point.when}
    if twice := [point for point in more.points if (point.id, point.when) in known]:
        rule = f"is in the dataset already, measured {twice[0].when}"
        raise InputError("rows", twice[0].label, rule)
    return Contents(
        first.runs + more.runs,
        first.points + more.points,
        first.counters + more.counters,
        first.litmus + more.litmus,
        first.per_sm | more.per_sm,
        first.floorplans | more.floorplans,
        dict(sorted((first.kernels | more.kernels).items())),
    )


def _set_aside_alike(points: Sequence[Point]) -> list[Point]:
    """Set a work aside in every run if one sets it aside."""
    reasons = {point.hash: point.set_aside for point in points if point.set_aside}
    return [replace(point, set_aside=reasons.get(point.hash, "")) for point in points]


def write_dataset(out: Path, contents: Contents) -> Manifest:
    """Write a dataset in place of what the folder holds; its error summary is kept."""
    points = _set_aside_alike(contents.points)
    files = {
        tables.POINTS: (len(points), tables.points_text(points).encode()),
        tables.PER_SM: (len(points), tables.pack(contents.per_sm)),
        tables.COUNTERS: (len(contents.counters), tables.counters_text(contents.counters).encode()),
        tables.LITMUS: (len(contents.litmus), tables.litmus_text(contents.litmus).encode()),
        tables.FLOORPLANS: (len(contents.floorplans), tables.pack(contents.floorplans)),
    }
    if contents.kernels:
        files[tables.KERNELS] = (len(contents.kernels), tables.pack(contents.kernels))
    manifest = Manifest(
        name=out.name,
        runs=contents.runs,
        set_aside=dict(sorted(Counter(point.set_aside for point in points).items())),
        files={
            name: File(rows=count, sha256=hashlib.sha256(data).hexdigest())
            for name, (count, data) in files.items()
        },
    )
    _write(out, {name: data for name, (_, data) in files.items()}, manifest)
    return manifest


def _write(out: Path, files: dict[str, bytes], manifest: Manifest) -> None:
    """Fill a folder beside the old one and put it in its place."""
    out = out.resolve()
    if out.exists() and not (out.is_dir() and ((out / tables.MANIFEST).is_file() or not any(out.iterdir()))):
        raise InputError("--out", str(out), "must be a dataset, an empty folder, or not there yet")
    fresh, old = out.with_name(f".{out.name}.new"), out.with_name(f".{out.name}.old")
    try:
        _fill(fresh, files, manifest)
        if (out / tables.ERRORS).is_file():
            shutil.copyfile(out / tables.ERRORS, fresh / tables.ERRORS)
        if out.exists():
            shutil.rmtree(old, ignore_errors=True)
            out.rename(old)
        fresh.rename(out)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if old.exists() and not out.exists():
            old.rename(out)
        raise InputError(
            "--out", str(out), f"must be a folder that can be written ({error.strerror})"
        ) from error
    shutil.rmtree(old, ignore_errors=True)


def _fill(folder: Path, files: dict[str, bytes], manifest: Manifest) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (folder / tables.MANIFEST).write_bytes(text + b"\n")
