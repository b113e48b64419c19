"""Reads a dataset that the package ships, or one in a folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from hoppersim.dataset import tables
from hoppersim.dataset.schema import SCHEMA, Dataset, ErrorSummary, Manifest
from hoppersim.errors import InputError

DEFAULT = "h200"
_DATA = Path(__file__).with_name("data")


def dataset_names() -> list[str]:
    """List the datasets that the package ships."""
    return sorted(folder.parent.name for folder in _DATA.glob(f"*/{tables.MANIFEST}"))


def dataset_folder(name: str = DEFAULT) -> Path:
    """Find a dataset by its name, or by the path of its folder.

    Raises
    ------
    InputError
        If there is none.
    """
    for folder in (_DATA / name, Path(name)):
        if (folder / tables.MANIFEST).is_file():
            return folder
    shipped = dataset_names()
    rule = f"must be a folder with a {tables.MANIFEST}, or one of: {', '.join(shipped) or 'none shipped'}"
    raise InputError("dataset", name, rule, shipped[0] if shipped else None)


def load_dataset(name: str = DEFAULT) -> Dataset:
    """Load manifest, points, counters and litmus outcomes.

    Parameters
    ----------
    name
        A dataset that the package ships, or the path of a folder.

    Raises
    ------
    InputError
        If there is no such dataset, or a table is damaged.
    """
    return _load(dataset_folder(name))


@lru_cache(maxsize=4)
def _load(folder: Path) -> Dataset:
    manifest = _decode(folder / tables.MANIFEST, Manifest)
    if manifest.schema != SCHEMA:
        raise InputError("dataset.schema", manifest.schema, f"this version reads {SCHEMA}", SCHEMA)
    return Dataset(
        manifest=manifest,
        points=tables.read_points(_text(folder / tables.POINTS)),
        counters=tables.read_counters(_text(folder / tables.COUNTERS)),
        litmus=tables.read_litmus(_text(folder / tables.LITMUS)),
    )


def measured_cycles(name: str = DEFAULT) -> dict[str, float]:
    """Give the median time of every measured work [cycle] by its hash; empty without a dataset.

    Where several runs measured a work, the run that the manifest names first counts.
    """
    if name == DEFAULT and name not in dataset_names():
        return {}
    found: dict[str, float] = {}
    for point in load_dataset(name).finished():
        if point.lowering_is_default and point.cycles is not None:
            found.setdefault(point.hash, point.cycles)
    return found


def error_summary(name: str = DEFAULT) -> ErrorSummary:
    """Give how wrong the simulator is on a dataset; an empty summary before a first comparison.

    Raises
    ------
    InputError
        If the file with the summary is damaged.
    """
    path = dataset_folder(name) / tables.ERRORS
    return _decode(path, ErrorSummary) if path.is_file() else ErrorSummary()


def per_sm(name: str = DEFAULT) -> dict[str, dict[str, Any]]:
    """Give times by SM: run, point's id, then ``sm`` and ``cycles`` [cycle] of the CTAs of the median repeat.

    ``number`` has the CTAs' numbers where they are not 0, 1, 2, ...; ``roles`` least, median and greatest
    time of each role [cycle]; ``stamps`` the times of stamps, CTA by CTA, from the CTA's start [cycle].
    """
    found: dict[str, dict[str, Any]] = tables.unpack((dataset_folder(name) / tables.PER_SM).read_bytes())
    return found


def floorplans(name: str = DEFAULT) -> dict[str, dict[str, Any]]:
    """Give the probed floorplan of each run: groups of SMs, what shares a cluster, pair latency [cycle]."""
    found: dict[str, dict[str, Any]] = tables.unpack((dataset_folder(name) / tables.FLOORPLANS).read_bytes())
    return found


def kernels(name: str = DEFAULT) -> dict[str, dict[str, Any]]:
    """Give what was compiled, by `Point.kernel`: ``registers``, and ``sass``, instructions by opcode.

    Only kernels whose plan was recorded are there; empty where none was.
    """
    path = dataset_folder(name) / tables.KERNELS
    found: dict[str, dict[str, Any]] = tables.unpack(path.read_bytes()) if path.is_file() else {}
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("dataset", path.name, f"must be a readable file of text ({error})") from error


def _decode(path: Path, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(_text(path), type=kind)
    except msgspec.DecodeError as error:
        raise InputError("dataset", path.name, f"must follow the schema ({error})") from error
