"""The wrappers in `kernels/`, cut into blocks, so that a source takes only those that it uses."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
FAMILIES = ("base", "clock", "mbarrier", "tma", "cluster", "fence", "dsmem", "check", "subset")
_DEFINES = re.compile(r"^(?:DEVICE [\w<>]+ (\w+)\(|template <int WIDTH> struct (\w+))", re.MULTILINE)
_STARTS = re.compile(r"^(?=using|#define|struct|template|(?<!>\n)DEVICE)", re.MULTILINE)
JOINED = 150
"""Characters up to which a wrapper is written on one line of a stand-alone source."""


@cache
def blocks() -> tuple[tuple[str, str, frozenset[str]], ...]:
    """List (family, text, names that it defines) of all wrappers, callees before callers."""
    found = []
    for family in FAMILIES:
        text = (KERNELS / f"{family}.cuh").read_text(encoding="utf-8")
        bare = "\n".join(line for line in text.splitlines() if line and not line.startswith("//"))
        for part in _STARTS.split(bare):
            if part.strip():
                names = frozenset(first or second for first, second in _DEFINES.findall(part))
                found.append((family, part.strip(), names))
    return tuple(found)


def needed(text: str, *, joined: bool = False) -> str:
    """Give the base and the wrappers that a kernel's text calls, with those that they call.

    Parameters
    ----------
    text
        The kernel.
    joined
        Write short wrappers on one line each.
    """
    wanted, before = set(re.findall(r"\w+", text)), 0
    while len(wanted) != before:
        before = len(wanted)
        for _, block, names in blocks():
            if names & wanted:
                wanted |= set(re.findall(r"\w+", block))
    kept = [block for family, block, names in blocks() if family == "base" or names & wanted]
    return "\n".join(_join(block) if joined else block for block in kept)


def _join(block: str) -> str:
    line = re.sub(r"\s*\n\s*", " ", block)
    return line if len(line) <= JOINED and "#pragma" not in block else block
