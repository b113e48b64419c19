"""Writes `docs/schema.md` from the structs themselves.

``python -m hoppersim.result.schema_page > docs/schema.md``
"""

from __future__ import annotations

import sys
from typing import Any

from msgspec import inspect

from hoppersim.engine.output import COUNTER_NAMES
from hoppersim.program.work import Work
from hoppersim.result import documents
from hoppersim.result.counters import public_name, unit_of
from hoppersim.result.rows import COLUMNS, UNITS, unit_of_column
from hoppersim.result.schema import (
    SCHEMA,
    Bounds,
    Design,
    Designs,
    GpcFigures,
    Limiter,
    LinkUse,
    Measured,
    Rates,
    Relaxation,
    Result,
    SmFigures,
    SmTiles,
    Source,
    Speed,
    Stage,
    TileFigures,
    TileTimes,
    WhatIf,
)
from hoppersim.result.tiles import WHERE
from hoppersim.result.verdict import Verdict

PARTS = (
    Rates, Limiter, Bounds, LinkUse, SmFigures, GpcFigures, TileFigures, TileTimes, Stage, SmTiles, Speed,
    WhatIf, Relaxation, Designs, Design, Measured, Source,
)  # fmt: skip
VERDICT = {
    "first": ("", "what the first run is called"),
    "second": ("", "what the second run is called"),
    "first_cycles": ("cycle", "time of the first: slowest CTA; if one of both runs in waves, window"),
    "second_cycles": ("cycle", "time of the second, likewise"),
    "difference_cycles": ("cycle", "second less first, positive when the first is faster"),
    "speedup": ("ratio", "time of the second over time of the first, or time per byte"),
    "per_byte": ("", "whether times per byte are compared, since the bytes differ"),
    "error": ("share", "relative error allowed for"),
    "decided": ("", "whether the difference exceeds the error, or that on silicon its repeats"),
    "text": ("", "the verdict in one sentence"),
    "silicon_speedup": ("ratio", "the speedup on silicon, which decides then; null where not measured alike"),
}
"""Units and meanings of the fields of a verdict, whose struct does not state them."""
INTRODUCTION = """\
# What is written to files

Made from the code by `python -m hoppersim.result.schema_page > docs/schema.md`; a test compares the two.

Every JSON document names its schema in its first field, with a version. A field may be added, with a
default, without a new version; whatever would mislead a reader of older files raises it, and a reader
refuses versions that it does not know. "Cycle" is an SM cycle, "share" a fraction from 0 to 1, "null" says
that a figure does not exist. The same input gives the same document, but for `speed`.

| document | schema | written by |
|---|---|---|
| [Result](#result) | `{result}` | `run --json`, `run --out FILE.json` |
| [Comparison](#comparison) | `{comparison}` | the same with `--against` |
| [Study](#study) | `{study}` | `experiment` |
| [Sweep](#sweep) | `{sweep}` | `sweep` |
| [tables](#tables) | | `run --out FILE.csv` or `.parquet`, `experiment`, `sweep` |
"""
TABLES = """
## Tables

CSV has a header and an empty field where a figure does not exist. Parquet (`pip install
'hoppersim[parquet]'`) has the same columns with their types, nulls, and the unit of a column in its metadata
under `unit`. `run` writes a row for each run:

| column | unit | field of the [Result](#result) |
|---|---|---|
"""
ENDINGS = """
A column for each [counter](#counters) follows. The rows of studies have columns of their own; in all tables
the end of a column's name tells its unit:

| name ends in | unit |
|---|---|
"""
STAGES = """
## Stages

Parts of a tile's time, in order; [tiles.md](tiles.md) tells more.

| stage | where the tile is meanwhile |
|---|---|
"""
COUNTERS = """
## Counters

Totals over all units of the chip. A counter that Nsight Compute has too bears its name there.

| counter | unit | what the model counts |
|---|---|---|
"""


def schema_page() -> str:
    """Write the page."""
    head = INTRODUCTION.format(
        result=SCHEMA, comparison=documents.COMPARISON, study=documents.STUDY, sweep=documents.SWEEP
    )
    structs = (Result, *PARTS, documents.Comparison, Verdict, documents.Study, documents.Sweep)
    return head + "".join((*map(_struct, structs), _stages(), _tables(), _counters()))


def _struct(kind: type[Any]) -> str:
    """Write the section of one struct: what it is, then a row for each field."""
    first = (kind.__doc__ or "").strip().splitlines()[0]
    lines = [
        f"\n## {kind.__name__}\n",
        f"{first}\n",
        "| field | type | unit | meaning |",
        "|---|---|---|---|",
    ]
    for field in inspect.type_info(kind).fields:  # type: ignore[attr-defined]
        shape, unit, meaning = _field(kind, field)
        lines.append(f"| `{field.name}` | {shape} | {unit} | {meaning} |")
    return "\n".join(lines) + "\n"


def _field(kind: type[Any], field: inspect.Field) -> tuple[str, str, str]:
    """Give type, unit and meaning of a field."""
    if kind is Verdict:
        return _type(field.type), *VERDICT[field.name]
    assert isinstance(field.type, inspect.Metadata)
    unit = (field.type.extra or {})["unit"]
    meaning = (field.type.extra_json_schema or {})["description"]
    return _type(field.type.type), unit, meaning


def _type(shape: inspect.Type) -> str:
    """Name a type in the words of JSON; a struct is a link to its section."""
    match shape:
        case inspect.Metadata(type=inner):
            return _type(inner)
        case inspect.StructType(cls=kind):
            return "work" if kind is Work else f"[{kind.__name__}](#{kind.__name__.lower()})"
        case inspect.UnionType(types=kinds):
            return " or ".join(_type(kind) for kind in kinds)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return f"list of {_type(item)}"
        case inspect.DictType(value_type=value):
            return f"object of {_type(value)}"
        case _:
            return _PLAIN[type(shape)]


_PLAIN: dict[type[inspect.Type], str] = {
    inspect.IntType: "whole number",
    inspect.FloatType: "number",
    inspect.StrType: "text",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.AnyType: "any",
}


def _tables() -> str:
    rows = (f"| `{name}` | {unit_of_column(name)} | `{path}` |\n" for name, path in COLUMNS.items())
    endings = (f"| `{ending}` | {unit} |\n" for ending, unit in UNITS.items())
    return "".join((TABLES, *rows, ENDINGS, *endings))


def _stages() -> str:
    return "".join((STAGES, *(f"| `{name}` | {place} |\n" for name, place in WHERE.items())))


def _counters() -> str:
    names = sorted(name for name in COUNTER_NAMES if not name.startswith("busy."))
    rows = (f"| `{public_name(name)}` | {unit_of(public_name(name))} | `{name}` |\n" for name in names)
    return "".join((COUNTERS, *rows))


if __name__ == "__main__":
    sys.stdout.write(schema_page())
