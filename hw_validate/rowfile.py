"""The runner's rows on disk, and the note of the point under way. Imports the standard library only."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read what an earlier run wrote; a line that was cut off counts as not there."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def append_row(path: Path, row: dict[str, Any]) -> None:
    """Append a row; the mark of a lost context stays out of it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({key: value for key, value in row.items() if key != "lost"}) + "\n")


def current_file(out: Path) -> Path:
    """Give the file that names the point under way."""
    return out.with_name(f".{out.name}.current")


def note_current(out: Path, name: str, seconds: float) -> None:
    """Tell the supervisor which point is being measured, and how long it may take."""
    state = {"id": name, "since": time.time(), "seconds": seconds}
    partial = current_file(out).with_suffix(".new")
    partial.write_text(json.dumps(state), encoding="utf-8")
    partial.replace(current_file(out))
