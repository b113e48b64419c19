"""A user's changes to a machine, as ``path=value``."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from hoppersim.errors import InputError
from hoppersim.machine.entries import Entries
from hoppersim.machine.provenance import SET_BY_USER, Origin
from hoppersim.machine.rules import COSTS, FieldRule, closest, cost_rule, section_rules
from hoppersim.machine.tables import TABLES, override_entry
from hoppersim.units import parse_bytes


def apply_overrides(entries: Entries, tables: dict[str, Any], overrides: Iterable[str]) -> None:
    """Change numbers and tables in place.

    Raises
    ------
    InputError
        If a path is unknown or a value breaks its rule.
    """
    table_paths = {f"tables.{name}": name for name in TABLES}
    for text in overrides:
        path, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise InputError("set", text, "must read path=value", f"{path or 'tma.line_interval'}=<value>")
        if path in table_paths:
            tables[table_paths[path]] = override_entry(value)
        elif path in entries:
            rule = _rule(path)
            entries[path] = Origin(rule.check(_number(rule, path, value), path), rule.unit, SET_BY_USER)
        else:
            known = [*entries, *table_paths]
            raise InputError(path, value, "is no known field of the machine", closest(path, known))


def _rule(path: str) -> FieldRule:
    section, _, field = path.partition(".")
    return cost_rule() if section == COSTS else section_rules(section)[field]


def _number(rule: FieldRule, path: str, text: str) -> int | float:
    if "_" in text:
        raise InputError(path, text, "must be written without underscores", text.replace("_", ""))
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    try:
        if rule.unit == "B":
            return parse_bytes(text)
        raise ValueError(f"{text!r} is not a number")
    except ValueError as error:
        kind = "a whole number" if rule.kind is int else "a number"
        raise InputError(path, text, f"must be {kind} in {rule.unit}", rule.bounds or None) from error
