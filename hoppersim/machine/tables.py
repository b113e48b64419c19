"""The tables of a machine: a number for each SM and slice, each pair of SMs, or each draw of a page."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoppersim.errors import InputError
from hoppersim.machine.provenance import SET_BY_USER, Origin, check_origin
from hoppersim.machine.rules import require_known, whole
from hoppersim.machine.specification import LARGEST

Table = NDArray[np.float64]

TABLES = ("l2_latency", "pair_latency", "hbm_latency")
HBM_DRAWS = 32
"""Offsets among which a page of DRAM draws its own; a power of two."""
UNIT = "cycle"
ZERO = "zero"
"""Stands for a table of zeros in place of a file."""
_FIELDS = ("file", "unit", "origin", "digest")


def read_table(
    name: str, entry: object, folders: tuple[Path, ...], shape: tuple[int, int]
) -> tuple[Table, Origin]:
    """Read one table that a preset names.

    Parameters
    ----------
    name
        One of `TABLES`.
    entry
        What the preset says: `file` (a CSV, or ``zero``), `unit`, `origin`, and perhaps the `digest` that
        the numbers must have.
    folders
        Where a relative file name is looked for, in order.
    shape
        Rows and columns that the rest of the machine asks for.

    Returns
    -------
    tuple
        The table in SM cycles, not writable, and its origin.

    Raises
    ------
    InputError
        If the entry or the file breaks a rule.
    """
    path = f"tables.{name}"
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
        raise InputError(path, entry, f"must be a table with the fields {', '.join(_FIELDS[:3])}")
    for field in entry:
        require_known(f"{path}.{field}", field, _FIELDS, "field of a table")
    if entry.get("unit") != UNIT:
        raise InputError(f"{path}.unit", entry.get("unit"), "must be the unit of the table", UNIT)
    origin = check_origin(path, entry.get("origin"))
    if entry["file"] == ZERO:
        return _freeze(np.zeros(shape)), Origin(ZERO, UNIT, origin)
    file = _find(path, entry["file"], folders)
    table = _parse(path, file, shape)
    _check_digest(path, table, entry.get("digest"))
    return table, Origin(_portable(file, folders), UNIT, origin)


def override_entry(text: str) -> dict[str, Any]:
    """Give the entry of a table that a user set to a file or to ``zero``."""
    file = text if text == ZERO else str(Path(text).resolve())
    return {"file": file, "unit": UNIT, "origin": SET_BY_USER}


def digest(table: Table) -> str:
    """Give a digest of a table's numbers."""
    return hashlib.sha256(np.ascontiguousarray(table, dtype="<f8").tobytes()).hexdigest()[:16]


def _find(path: str, name: str, folders: tuple[Path, ...]) -> Path:
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{path}.file", name, "must name an existing CSV file", ZERO)


def _portable(file: Path, folders: tuple[Path, ...]) -> str:
    return file.name if file.parent == folders[-1] else str(file.resolve())


def _check_digest(path: str, table: Table, expected: object) -> None:
    if expected is not None and digest(table) != expected:
        raise InputError(
            f"{path}.digest", expected, "must be the digest of the file's numbers", digest(table)
        )


def _parse(path: str, file: Path, shape: tuple[int, int]) -> Table:
    try:
        table = np.loadtxt(file, delimiter=",", ndmin=2, dtype=np.float64)
    except (ValueError, UnicodeDecodeError) as error:
        rule = f"must be a CSV file of numbers ({error})"
        raise InputError(f"{path}.file", file.name, rule, ZERO) from error
    if table.shape != shape:
        rule = f"must have {shape[0]} rows and {shape[1]} columns, not {table.shape[0]} and {table.shape[1]}"
        raise InputError(f"{path}.file", file.name, rule, f"a table of that shape, or {path}={ZERO}")
    if not (np.abs(table) <= LARGEST[UNIT]).all():
        rule = f"must hold numbers of at most {whole(LARGEST[UNIT])} only, either way"
        raise InputError(f"{path}.file", file.name, rule, ZERO)
    return _freeze(table)


def _freeze(table: Table) -> Table:
    table.flags.writeable = False
    return table
