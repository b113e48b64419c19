"""A machine as plain data: rows for a table, differences between two, and a file that loads again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from hoppersim.machine.floorplan import Floorplan, Gpc
from hoppersim.machine.machine import Machine
from hoppersim.machine.provenance import Origin
from hoppersim.machine.rules import COSTS, cost_rule, section_rules, sections
from hoppersim.machine.tables import TABLES, ZERO, Table, digest


class ConfigRow(NamedTuple):
    """One parameter of a machine."""

    path: str
    value: int | float | str
    unit: str
    origin: str
    description: str


class DiffRow(NamedTuple):
    """One parameter that two machines do not share; None where a machine lacks it."""

    path: str
    left: int | float | str | None
    right: int | float | str | None
    unit: str


def configuration_rows(machine: Machine) -> tuple[ConfigRow, ...]:
    """List all parameters of a machine with their origins, section by section."""
    return tuple(
        ConfigRow(path, origin.value, origin.unit, origin.origin, _description(path))
        for path, origin in machine.provenance.items()
    )


def configuration_diff(left: Machine, right: Machine) -> tuple[DiffRow, ...]:
    """List the parameters in which two machines differ; names and origins do not count.

    Floorplans are compared GPC by GPC, tables by the digest of their numbers.
    """
    ours, theirs = _comparable(left), _comparable(right)
    rows = []
    for path in dict.fromkeys((*ours, *theirs)):
        one, other = ours.get(path), theirs.get(path)
        if one != other:
            known = left.provenance.get(path) or right.provenance.get(path)
            rows.append(DiffRow(path, one, other, known.unit if known else ""))
    return tuple(rows)


def configuration_toml(machine: Machine) -> str:
    """Write the whole configuration as TOML.

    Returns
    -------
    str
        Text that `load_machine` reads back to a machine of the same hash. The floorplan stands in it; a
        table is named by its file, with the digest that its numbers must have.
    """
    return "\n".join((f"name = {_text(machine.name)}", "", *_body(machine), *_floorplan(machine.floorplan)))


def _description(path: str) -> str:
    section, _, field = path.partition(".")
    if section == COSTS:
        return cost_rule().description
    return section_rules(section)[field].description if section in sections() else ""


def _comparable(machine: Machine) -> dict[str, int | float | str]:
    values = {path: origin.value for path, origin in machine.provenance.items()}
    del values["floorplan"]
    for number, gpc in enumerate(machine.floorplan.gpcs):
        values[f"floorplan.gpc[{number}]"] = f"partition {gpc.partition}: {_nested(gpc.cpcs)}{_lone(gpc)}"
    for name in TABLES:
        values[f"tables.{name}"] = digest(getattr(machine, name))
    return values


def _lone(gpc: Gpc) -> str:
    return f", pairs only {_nested(gpc.pairs_only)}" if gpc.pairs_only else ""


def _body(machine: Machine) -> Iterator[str]:
    yield "[tables]"
    for name in TABLES:
        yield _table_line(name, machine.provenance[f"tables.{name}"], getattr(machine, name))
    for section in (*sections(), COSTS):
        yield ""
        yield f"[{section}]"
        for path, entry in machine.provenance.items():
            if path.startswith(f"{section}."):
                yield _number_line(path.removeprefix(f"{section}."), entry)


def _table_line(name: str, entry: Origin, table: Table) -> str:
    check = "" if entry.value == ZERO else f", digest = {_text(digest(table))}"
    return f"{name} = {{file = {_text(str(entry.value))}, {_unit_and_origin(entry)}{check}}}"


def _number_line(name: str, entry: Origin) -> str:
    key = name if name.isidentifier() else _text(name)
    return f"{key} = {{value = {entry.value!r}, {_unit_and_origin(entry)}}}"


def _unit_and_origin(entry: Origin) -> str:
    return f"unit = {_text(entry.unit)}, origin = {_text(entry.origin)}"


def _floorplan(plan: Floorplan) -> Iterator[str]:
    yield from ("", "[floorplan]", f"name = {_text(plan.name)}", f"origin = {_text(plan.origin)}")
    for gpc in plan.gpcs:
        yield from ("", "[[floorplan.gpc]]", f"partition = {gpc.partition}", "cpcs = [")
        yield from (f"    {_nested(cpc)}," for cpc in gpc.cpcs)
        yield "]"
        if gpc.pairs_only:
            yield f"pairs_only = {_nested(gpc.pairs_only)}"
    yield ""


def _nested(value: object) -> str:
    return json.dumps(value)


def _text(value: str) -> str:
    # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
