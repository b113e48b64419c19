"""Results and tables as files. A file is written whole or not at all; its suffix says the format."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hoppersim.errors import InputError
from hoppersim.result.counters import unit_of
from hoppersim.result.documents import COMPARISON, Comparison
from hoppersim.result.rows import result_row, unit_of_column
from hoppersim.result.schema import SCHEMA, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES = (".csv", ".parquet")
"""Suffixes of the formats of tables."""
FIGURES = ("png", "svg")
"""Formats of figures."""
INSTALL_PARQUET = "pip install 'hoppersim[parquet]'"
"""What adds Parquet."""
Row = Mapping[str, Any]
_Document = TypeVar("_Document", Result, Comparison)


def write_whole(path: Path, write: Callable[[Path], None], field: str = "out") -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place in one step.

    Parameters
    ----------
    path
        The file.
    write
        Writes it under another name.
    field
        What names the file in errors.

    Raises
    ------
    InputError
        If the folder cannot be made or written, or something other than a file has the name.
    """
    require_place(field, path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
    except OSError as error:
        rule = f"the folder must be one that can be written ({error.strerror})"
        raise InputError(field, str(path), rule) from error
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def require_place(field: str, path: Path) -> None:
    """Refuse a file that could not be written, before what would be written is worked out.

    Raises
    ------
    InputError
        If something other than a file has the name, or the folder that it would be in, or be made in, is
        none that can be written.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError(field, str(path), "must name a file: what has this name is not one")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
    except OSError as error:
        raise InputError(field, str(path), f"must name a file ({error.strerror})") from error
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(field, str(path), f"must be in a folder that can be written: {folder} is none")


def write_text(path: Path, text: str, field: str = "out") -> None:
    """Write a text file whole or not at all; see `write_whole`."""
    write_whole(path, lambda temporary: _write(temporary, text), field)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def to_json(value: object) -> str:
    """Give readable JSON of a Result, or of a table's rows."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def to_csv(rows: Sequence[Row]) -> str:
    """Give CSV of rows that share their keys; None becomes an empty field."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def require_format(field: str, path: Path, others: tuple[str, ...] = ()) -> None:
    """Refuse, before anything runs, a table that cannot be written.

    Parameters
    ----------
    field
        The option that names the file.
    path
        The file.
    others
        Suffixes that are allowed beside those of `TABLES`.

    Raises
    ------
    InputError
        If the suffix is none of them, is ``.parquet`` and its package is not installed, or if something
        other than a file has the name.
    """
    require_place(field, path)
    known = (*others, *TABLES)
    if path.suffix not in known:
        rule = f"the name of the file must end in {', '.join(known[:-1])} or {known[-1]}"
        raise InputError(field, str(path), rule, path.with_suffix(known[0]))
    if path.suffix == ".parquet" and not has_parquet():
        rule = f"needs the package pyarrow; install it with: {INSTALL_PARQUET}"
        raise InputError(field, str(path), rule, path.with_suffix(".csv"))


def write_tables(stem: Path, rows: Sequence[Row], units: Mapping[str, str] | None = None) -> list[Path]:
    """Write rows in every format of a table for which the packages are installed; see `write_table`.

    Parameters
    ----------
    stem
        Path of the files without their suffix.
    rows, units
        As for `write_table`.

    Returns
    -------
    list of Path
        The files written.
    """
    able = [suffix for suffix in TABLES if suffix != ".parquet" or has_parquet()]
    files = [stem.with_name(f"{stem.name}{suffix}") for suffix in able]
    for file in files:
        write_table(file, rows, units)
    return files


def has_parquet() -> bool:
    """Tell whether the package that writes Parquet is installed."""
    return find_spec("pyarrow") is not None


def write_table(
    path: Path, rows: Sequence[Row], units: Mapping[str, str] | None = None, field: str = "out"
) -> None:
    """Write rows that share their keys as CSV or Parquet, as the suffix says, whole or not at all.

    Parameters
    ----------
    path
        File that ends in ``.csv`` or ``.parquet``.
    rows
        Plain values by column.
    units
        Units by column, which Parquet keeps; None takes those that the names of the columns tell.
    field
        What names the file in errors.

    Raises
    ------
    InputError
        If the suffix is another one, the package for Parquet is missing, or the file cannot be written.
    """
    require_format(field, path)
    if path.suffix == ".csv":
        write_text(path, to_csv(rows), field)
        return
    write_whole(path, lambda temporary: _write_parquet(temporary, rows, units), field)


def _write_parquet(path: Path, rows: Sequence[Row], units: Mapping[str, str] | None) -> None:
    """Write a Parquet file; a column of values of several kinds becomes text."""
    import pyarrow
    from pyarrow import parquet

    fields, columns = [], []
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        try:
            column = pyarrow.array(values)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            column = pyarrow.array([None if value is None else str(value) for value in values])
        unit = units.get(name, "") if units is not None else unit_of_column(name)
        metadata = {"unit": unit} if unit else None
        fields.append(pyarrow.field(name, column.type, metadata=metadata))
        columns.append(column)
    parquet.write_table(pyarrow.table(columns, schema=pyarrow.schema(fields)), path)


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


def write_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG beside each other; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        The figure.
    stem
        Name of the files without their suffixes.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    import matplotlib as mpl

    written = []
    for kind in FIGURES:
        path = stem.with_suffix(f".{kind}")
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        with mpl.rc_context({"svg.hashsalt": "hoppersim", "svg.fonttype": "none"}):
            write_whole(
                path,
                lambda file, kind=kind, metadata=metadata: figure.savefig(  # type: ignore[misc]
                    file, format=kind, dpi=150, metadata=metadata
                ),
            )
        written.append(path)
    return written
