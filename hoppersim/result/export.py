"""Results as documents: JSON that is read back, or a table with a row for each run."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from hoppersim.errors import InputError
from hoppersim.result.counters import unit_of
from hoppersim.result.documents import COMPARISON, Comparison
from hoppersim.result.files import write_text
from hoppersim.result.rows import result_row
from hoppersim.result.schema import SCHEMA, Result
from hoppersim.result.table_files import require_format, to_csv, write_table

_Document = TypeVar("_Document", Result, Comparison)


def to_json(value: object) -> str:
    """Give readable JSON of a Result, or of a table's rows."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def write_document(path: Path, document: Result | Comparison) -> None:
    """Write a Result, or two with their verdict: JSON has all of it, CSV and Parquet a row for each run.

    Raises
    ------
    InputError
        If the suffix is another one, the package for Parquet is missing, or the file cannot be written.
    """
    require_format("out", path, (".json",))
    if path.suffix == ".json":
        write_text(path, to_json(document))
    else:
        write_table(path, [result_row(result) for result in runs_of(document)])


def runs_of(document: Result | Comparison) -> tuple[Result, ...]:
    """List the runs of a document."""
    return document.runs if isinstance(document, Comparison) else (document,)


def counters_csv(result: Result) -> str:
    """Give the counters of a Result as CSV with name, value and unit."""
    rows = [
        {"counter": name, "value": value, "unit": unit_of(name)} for name, value in result.counters.items()
    ]
    return to_csv(rows)


def read_result(path: Path) -> Result:
    """Read a Result that was written as JSON.

    Raises
    ------
    InputError
        If the file is missing, or is not a Result of a known schema.
    """
    return _decode(path, _read(path), Result, SCHEMA)


def read_document(path: Path) -> Result | Comparison:
    """Read what `run --out` wrote as JSON: a Result, or two with their verdict.

    Raises
    ------
    InputError
        If the file is missing, or is neither of a known schema.
    """
    data = _read(path)
    if _schema(data).startswith("hoppersim.comparison/"):
        return _decode(path, data, Comparison, COMPARISON)
    return _decode(path, data, Result, SCHEMA)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError("result", str(path), f"it must be a readable file ({error.strerror})") from error


class _Head(msgspec.Struct):
    """The field that every document begins with."""

    schema: str = ""


def _schema(data: bytes) -> str:
    try:
        return msgspec.json.decode(data, type=_Head).schema
    except (msgspec.DecodeError, RecursionError):
        return ""


def _decode(path: Path, data: bytes, kind: type[_Document], schema: str) -> _Document:
    try:
        found = msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        rule = f"it must be a {kind.__name__} in JSON ({error})"
        newer = _schema(data)
        if newer.startswith("hoppersim.") and newer != schema:
            raise InputError("result.schema", newer, f"this version reads {schema}", schema) from error
        raise InputError("result", str(path), rule) from error
    if found.schema != schema:
        raise InputError("result.schema", found.schema, f"this version reads {schema}", schema)
    return found
