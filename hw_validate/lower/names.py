"""C++ names for the parts of a program."""

from __future__ import annotations

import re
from collections.abc import Iterable


def identifiers(names: Iterable[str], *, upper: bool = False, suffix: str = "") -> dict[str, str]:
    """Map names to distinct C++ identifiers.

    Parameters
    ----------
    names
        Names of a program's parts; any text.
    upper
        Write constants in capitals.
    suffix
        Ends every identifier, so that families cannot collide.
    """
    given: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name) or "unnamed"
        plain = plain.upper() if upper else plain
        if plain[0].isdigit():
            plain = f"_{plain}"
        candidate, number = f"{plain}{suffix}", 2
        while candidate in given.values():
            candidate, number = f"{plain}_{number}{suffix}", number + 1
        given[name] = candidate
    return given
