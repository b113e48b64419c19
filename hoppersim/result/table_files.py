"""Rows as CSV or Parquet; the suffix of a file says the format."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hoppersim.errors import InputError
from hoppersim.result.files import require_place, write_text, write_whole
from hoppersim.result.rows import unit_of_column

TABLES = (".csv", ".parquet")
"""Suffixes of the formats of tables."""
INSTALL_PARQUET = "pip install 'hoppersim[parquet]'"
"""What adds Parquet."""
Row = Mapping[str, Any]


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
