"""Writes plain data as TOML that people read: tables for the outline, one operation a line for bodies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_INDENT = "    "


def write_toml(document: Mapping[str, Any], outline: frozenset[str]) -> str:
    """Write a document as TOML.

    Parameters
    ----------
    document
        Nested dictionaries and lists of strings, integers and booleans.
    outline
        Keys whose value (a table or an array of tables) gets headings of its own; all else is inline.
    """
    return "\n".join(_table(document, (), outline)) + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], outline: frozenset[str]) -> list[str]:
    """Write a table's own values, then the tables below it, each under its heading."""
    below = {key: value for key, value in table.items() if key in outline and value}
    own = {key: value for key, value in table.items() if key not in below}
    lines = [f"{_key(key)} = {_value(value, 0)}" for key, value in _short_first(own)]
    for key, value in below.items():
        inner = (*path, _key(key))
        name = ".".join(inner)
        if isinstance(value, Mapping):
            lines += ["", f"[{name}]", *_table(value, inner, outline)]
        else:
            for item in value:
                lines += ["", f"[[{name}]]", *_table(item, inner, outline)]
    return lines


def _value(value: Any, depth: int) -> str:
    """Write a value; a list of tables takes a line for each of them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        parts = (f"{_key(key)} = {_value(part, depth)}" for key, part in _short_first(value))
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        if not _is_long(value):
            return "[" + ", ".join(_value(part, depth) for part in value) + "]"
        inner = _INDENT * (depth + 1)
        lines = "".join(f"{inner}{_value(part, depth + 1)},\n" for part in value)
        return f"[\n{lines}{_INDENT * depth}]"
    return str(value)


def _is_long(value: Any) -> bool:
    """Tell whether a value is a list that takes a line for each item: operations and declarations."""
    return isinstance(value, list) and any(
        isinstance(part, Mapping) and ("op" in part or "name" in part) for part in value
    )


def _short_first(table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Put the values that take several lines behind the others."""
    return sorted(table.items(), key=lambda item: _is_long(item[1]))


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _value(key, 0)
