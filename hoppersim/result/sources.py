"""The state of the package's own sources, which what is kept on disk must be kept with."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

SIMULATOR = ("units.py", "machine", "program", "blocks", "engine", "result")
"""What of the package decides a simulated time."""


@cache
def sources_hash(parts: tuple[str, ...] = SIMULATOR) -> str:
    """Hash source files of the package, as they are when this is first asked.

    Parameters
    ----------
    parts
        Files and folders, relative to the package.
    """
    root = Path(__file__).resolve().parents[1]
    state = hashlib.sha256()
    for part in parts:
        files = sorted((root / part).rglob("*.py")) if (root / part).is_dir() else [root / part]
        for file in files:
            state.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return state.hexdigest()[:16]
