"""Structs as plain dictionaries and lists, with every field left out that equals its default."""

from __future__ import annotations

from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """Turn structs and tuples into dictionaries and lists; a tagged struct starts with its tag."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        written = {config.tag_field: config.tag} if config.tag_field else {}
        defaults = struct_defaults(type(value))
        for field in value.__struct_fields__:
            part = getattr(value, field)
            if field not in defaults or part != defaults[field]:
                written[field] = plain(part)
        return written
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value


def struct_defaults(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Give the default of every field of a struct that has one."""
    defaults = {}
    for field in msgspec.structs.fields(kind):
        if field.default is not msgspec.NODEFAULT:
            defaults[field.name] = field.default
        elif field.default_factory is not msgspec.NODEFAULT:
            defaults[field.name] = field.default_factory()
    return defaults
