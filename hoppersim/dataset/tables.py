"""Tables of a dataset as text, both ways, so that what is written can be read back."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from hoppersim.dataset.schema import Counters, Litmus, Point
from hoppersim.errors import InputError

POINTS, PER_SM, COUNTERS, LITMUS = "points.csv", "per_sm.json.gz", "counters.csv", "litmus.csv"
FLOORPLANS, MANIFEST, ERRORS = "floorplans.json.gz", "manifest.json", "errors.json"
KERNELS = "kernels.json.gz"
_KEYS = ("run", "id", "hash", "label")


def points_text(points: Iterable[Point]) -> str:
    """Write points as CSV: tags as JSON, repeats with spaces between, what is unknown empty."""
    rows = []
    for point in points:
        row: dict[str, Any] = msgspec.to_builtins(point)
        row["tags"] = json.dumps(point.tags, sort_keys=True, separators=(",", ":"))
        row["repeats"] = " ".join(map(str, point.repeats))
        row["verified"] = {True: "yes", False: "no", None: ""}[point.verified]
        rows.append(row)
    return _csv(Point.__struct_fields__, rows)


def read_points(text: str, name: str = POINTS) -> tuple[Point, ...]:
    """Read points from CSV.

    Raises
    ------
    InputError
        If a line does not hold a point; names the file and the line.
    """
    return tuple(_read_point(row, f"{name}:{line}") for line, row in _rows(text))


def _read_point(row: dict[str, str], where: str) -> Point:
    fields: dict[str, Any] = {name: value for name, value in row.items() if value != ""}
    try:
        fields["tags"] = json.loads(row.get("tags") or "{}")
        fields["repeats"] = [int(value) for value in row.get("repeats", "").split()]
        fields["verified"] = {"yes": True, "no": False, "": None}[row.get("verified", "")]
        return msgspec.convert(fields, Point, strict=False)
    except (ValueError, KeyError, msgspec.ValidationError) as error:
        raise InputError(where, row.get("label", ""), f"must be a point of a dataset ({error})") from error


def counters_text(rows: Sequence[Counters]) -> str:
    """Write counters as CSV, a column for each name."""
    names = sorted({name for row in rows for name in row.counters})
    table = [
        {**{key: getattr(row, key) for key in _KEYS}, **{n: _number(v) for n, v in row.counters.items()}}
        for row in rows
    ]
    return _csv((*_KEYS, *names), table)


def read_counters(text: str, name: str = COUNTERS) -> tuple[Counters, ...]:
    """Read counters from CSV; empty fields are counters that were not read.

    Raises
    ------
    InputError
        If a line does not hold counters; names the file and the line.
    """
    found = []
    for line, row in _rows(text):
        try:
            values = {key: float(value) for key, value in row.items() if key not in _KEYS and value != ""}
            found.append(Counters(**{key: row[key] for key in _KEYS}, counters=values))
        except (ValueError, KeyError) as error:
            raise InputError(
                f"{name}:{line}", row.get("label", ""), f"must hold counters ({error})"
            ) from error
    return tuple(found)


def litmus_text(rows: Iterable[Litmus]) -> str:
    """Write litmus outcomes as CSV."""
    table = [{**msgspec.to_builtins(row), "agrees": "yes" if row.agrees else "no"} for row in rows]
    return _csv(Litmus.__struct_fields__, table)


def read_litmus(text: str, name: str = LITMUS) -> tuple[Litmus, ...]:
    """Read litmus outcomes from CSV.

    Raises
    ------
    InputError
        If a line does not hold an outcome; names the file and the line.
    """
    found = []
    for line, row in _rows(text):
        try:
            found.append(msgspec.convert({**row, "agrees": row["agrees"] == "yes"}, Litmus))
        except (KeyError, msgspec.ValidationError) as error:
            raise InputError(
                f"{name}:{line}", row.get("flow", ""), f"must be an outcome ({error})"
            ) from error
    return tuple(found)


def pack(value: object) -> bytes:
    """Compress JSON; equal values give equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def unpack(data: bytes) -> Any:
    """Read what `pack` wrote."""
    return json.loads(gzip.decompress(data))


def _csv(names: Sequence[str], rows: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(text: str) -> Iterable[tuple[int, dict[str, str]]]:
    reader = csv.DictReader(io.StringIO(text))
    for row in reader:
        yield reader.line_num, {str(key): value or "" for key, value in row.items()}


def _number(value: float) -> float | int:
    """Write whole numbers without a fraction."""
    return int(value) if value == int(value) else value
