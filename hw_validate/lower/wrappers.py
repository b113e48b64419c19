"""The wrappers in `kernels/`, cut into blocks, so that a source takes only those that it uses."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
FAMILIES = ("base", "clock", "mbarrier", "tma", "cluster", "fence", "dsmem", "check", "subset")
_DEFINES = re.compile(r"^(?:DEVICE [\w<>]+ (\w+)\(|template <int WIDTH> struct (\w+))", re.MULTILINE)
_STARTS = re.compile(r"^(?=typedef|#define|struct|template|(?<!>\n)DEVICE)", re.MULTILINE)
JOINED = 150
"""Characters up to which the lines of a wrapper are filled in a stand-alone source."""


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
        Fill the lines of the wrappers.
    """
    wanted, before = set(re.findall(r"\w+", text)), 0
    while len(wanted) != before:
        before = len(wanted)
        for _, block, names in blocks():
            if names & wanted:
                wanted |= set(re.findall(r"\w+", block))
    kept = [block for family, block, names in blocks() if family == "base" or names & wanted]
    kept = [block for block in kept if _is_wide_enough(block, text)]
    return "\n".join(_join(block) if joined else block for block in kept)


def _is_wide_enough(block: str, text: str) -> bool:
    """Say whether a wrapper for words of one width serves a width that the kernel uses."""
    width = re.search(r"Words<(\d+)>& v", block)
    return width is None or f"<{width.group(1)}, " in text


def _join(block: str) -> str:
    """Fill the lines of a wrapper up to JOINED characters; preprocessor lines stay as they are."""
    if "#pragma" in block or block.startswith("#"):
        return block
    lines = [""]
    for part in (re.sub(r"\s*//.*", "", line).strip() for line in block.splitlines()):
        if lines[-1] and len(lines[-1]) + 1 + len(part) > JOINED:
            lines.append("   ")
        lines[-1] += (" " if lines[-1] else "") + part
    return "\n".join(lines)
