"""Results and tables as files. A file is written whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hoppersim.errors import InputError
from hoppersim.result.schema import SCHEMA, Result


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place in one step.

    Raises
    ------
    InputError
        If the folder cannot be made or written, or something other than a file has the name.
    """
    if path.exists() and not path.is_file():
        raise InputError("out", str(path), "must name a file: what has this name is not one")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
    except OSError as error:
        rule = f"the folder must be one that can be written ({error.strerror})"
        raise InputError("out", str(path.parent), rule) from error
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_whole(path, lambda temporary: _write(temporary, text))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def to_json(value: object) -> str:
    """Give readable JSON of a Result, or of a table's rows."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Give CSV of rows that share their keys; None becomes an empty field."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def counters_csv(result: Result) -> str:
    """Give the counters of a Result as CSV with name, value and unit."""
    from hoppersim.result.counters import unit_of

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
    try:
        result = msgspec.json.decode(path.read_bytes(), type=Result)
    except OSError as error:
        raise InputError("result", str(path), f"it must be a readable file ({error.strerror})") from error
    except msgspec.DecodeError as error:
        raise InputError("result", str(path), f"it must be a Result in JSON ({error})") from error
    if result.schema != SCHEMA:
        raise InputError("result.schema", result.schema, f"this version reads {SCHEMA}", SCHEMA)
    return result
