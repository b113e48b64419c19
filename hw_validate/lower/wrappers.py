"""The wrappers in `kernels/`, cut into blocks, so that a source takes only those that it uses."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
FAMILIES = ("base", "clock", "mbarrier", "tma", "cluster", "fence", "dsmem", "check", "subset")
_DEFINES = re.compile(r"^(?:DEVICE [\w<>]+ (\w+)\(|template <int WIDTH> struct (\w+))", re.MULTILINE)


@cache
def blocks() -> tuple[tuple[str, str, frozenset[str]], ...]:
    """List (family, text, names that it defines) of all blocks, callees before callers."""
    found = []
    for family in FAMILIES:
        text = (KERNELS / f"{family}.cuh").read_text(encoding="utf-8")
        for block in re.split(r"\n\s*\n", text.strip())[1:]:
            names = frozenset(first or second for first, second in _DEFINES.findall(block))
            found.append((family, block, names))
    return tuple(found)


def needed(text: str) -> str:
    """Give the base and the wrappers that a kernel's text calls, with those that they call."""
    wanted, before = set(re.findall(r"\w+", text)), 0
    while len(wanted) != before:
        before = len(wanted)
        for _, block, names in blocks():
            if names & wanted:
                wanted |= set(re.findall(r"\w+", block))
    return "\n".join(block for family, block, names in blocks() if family == "base" or names & wanted)
