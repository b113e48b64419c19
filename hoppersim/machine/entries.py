"""The numbers of a preset file: each with value, unit and origin, none unknown and none missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hoppersim.errors import InputError
from hoppersim.machine.provenance import Origin, check_origin
from hoppersim.machine.rules import COSTS, FieldRule, cost_rule, require_known, section_rules, sections

Entries = dict[str, Origin]
_FIELDS = ("value", "unit", "origin")


def read_entries(data: dict[str, Any], cost_keys: frozenset[str] | None) -> Entries:
    """Check all numbers of a preset and give them by path.

    Parameters
    ----------
    data
        The preset as plain data.
    cost_keys
        Costs that must be defined, and no others; None takes those that are there.

    Raises
    ------
    InputError
        If a number is unknown, missing, of the wrong type or unit, out of range, or without origin.
    """
    entries: Entries = {}
    for section in sections():
        given = _table(section, data.get(section))
        rules = section_rules(section)
        for name in given:
            require_known(f"{section}.{name}", name, rules, f"field of {section}")
        for name, rule in rules.items():
            entries[rule.path] = read_entry(rule.path, given.get(name), rule)
    costs = dict(flatten_costs(_table(COSTS, data.get(COSTS))))
    known = costs.keys() if cost_keys is None else cost_keys
    for key in costs:
        require_known(f"{COSTS}.{key}", key, known, "cost")
    for key in sorted(known):
        entries[f"{COSTS}.{key}"] = read_entry(f"{COSTS}.{key}", costs.get(key), cost_rule())
    return entries


def read_entry(path: str, entry: object, rule: FieldRule) -> Origin:
    """Check one number as a preset states it.

    Raises
    ------
    InputError
        If it is missing or breaks its rule.
    """
    shape = f'{{value = ..., unit = "{rule.unit}", origin = "..."}}'
    if entry is None:
        raise InputError(path, None, "is missing", shape)
    if not isinstance(entry, dict):
        raise InputError(path, entry, "must state value, unit and origin", shape)
    for name in entry:
        require_known(f"{path}.{name}", name, _FIELDS, "part of a number")
    if entry.get("unit") != rule.unit:
        raise InputError(f"{path}.unit", entry.get("unit"), "must be the field's unit", rule.unit)
    return Origin(rule.check(entry.get("value"), path), rule.unit, check_origin(path, entry.get("origin")))


def _table(section: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InputError(section, given, "must be a section of the machine file", f"[{section}]")
    return given


def flatten_costs(costs: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Join the parts of a cost key, which TOML reads as nested tables unless the key is quoted."""
    for name, entry in costs.items():
        if isinstance(entry, dict) and not set(_FIELDS) & entry.keys():
            yield from flatten_costs(entry, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", entry
