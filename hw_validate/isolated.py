"""Run every point of a bundle in a process of its own: ``python3 hw_validate/isolated.py BUNDLE OUT.jsonl``.

A hang or a fault of one point then leaves the others alone. Needs what `runner.py` needs, and resumes as it does.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

RUNNER = Path(__file__).resolve().with_name("runner.py")
EXIT_NO_DEVICE = 2
STARTS = 30.0
"""Seconds that a process may take beside its launches: the context, the clocks, loading the code."""


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run the points one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path, help="folder with plan.json and the cubins")
    parser.add_argument("out", type=Path, help="JSON lines; rows are appended")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds that one launch may take")
    options = parser.parse_args(arguments)
    plan = json.loads((options.bundle / "plan.json").read_text(encoding="utf-8"))
    for point in plan["points"]:
        if point["id"] in _done(options.out):
            continue
        begin = time.monotonic()
        why = _run(options, point)
        if why == EXIT_NO_DEVICE:
            return EXIT_NO_DEVICE
        if point["id"] not in _done(options.out):
            _lost(options.out, point, str(why))
        print(f"{point['label']}: {time.monotonic() - begin:.1f} s, {why or 'done'}", file=sys.stderr)
    return 0


def _run(options: argparse.Namespace, point: dict[str, object]) -> int | str:
    """Run one point; give the exit code, or what happened to the process."""
    command = [sys.executable, str(RUNNER), str(options.bundle), str(options.out), "--no-probe"]
    command += ["--limit", str(options.limit), "--only", f"^{re.escape(str(point['id']))}$"]
    launches = 3 + int(str(point["warm"])) + int(str(point["repeats"]))
    child = subprocess.Popen(command, start_new_session=True)
    try:
        return child.wait(timeout=STARTS + options.limit * launches)
    except subprocess.TimeoutExpired:
        _end(child)
        return "killed after its time"


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started: they share its group."""
    import os
    import signal

    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _done(out: Path) -> set[str]:
    if not out.exists():
        return set()
    found = set()
    for line in out.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row.get("row") == "point":
            found.add(row["id"])
    return found


def _lost(out: Path, point: dict[str, object], why: str) -> None:
    """Write a row for a point whose process left none."""
    row = {
        "row": "point",
        "id": point["id"],
        "label": point["label"],
        "status": "error",
        "hang": [],
        "error": why,
    }
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    sys.exit(main())
