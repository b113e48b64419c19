"""Run every point of a bundle in a process of its own: ``python3 hw_validate/isolated.py BUNDLE OUT.jsonl``.

A hang or a fault of one point then leaves the others alone. Needs what `runner.py` needs, resumes as it does,
and returns its exit code 2 where there is no usable GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hw_validate.rowfile import append_row, read_rows

RUNNER = Path(__file__).resolve().with_name("runner.py")
EXIT_NO_DEVICE = 2
START_SECONDS = 30.0
"""What a process may take beside its launches: the context, the clocks, loading the code."""


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
        end = _run(options, point)
        if end == EXIT_NO_DEVICE:
            return EXIT_NO_DEVICE
        if point["id"] not in _done(options.out):
            _lost(options.out, point, end)
        print(f"{point['label']}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
    return 0


def _run(options: argparse.Namespace, point: dict[str, Any]) -> int:
    """Run one point and give the exit code of its process; one that takes too long is killed."""
    command = [sys.executable, str(RUNNER), str(options.bundle), str(options.out), "--no-probe"]
    command += ["--limit", str(options.limit), "--only", f"^{re.escape(point['id'])}$"]
    launches = 3 + point["warm"] + point["repeats"]
    child = subprocess.Popen(command, start_new_session=True)
    try:
        return child.wait(timeout=START_SECONDS + options.limit * launches)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # its own children are of its group
        return child.wait()


def _done(out: Path) -> set[str]:
    return {row["id"] for row in read_rows(out) if row.get("row") == "point"}


def _lost(out: Path, point: dict[str, Any], code: int) -> None:
    """Write a row for a point whose process left none."""
    row = {"row": "point", "id": point["id"], "label": point["label"], "status": "error", "hang": []}
    append_row(out, {**row, "error": f"the process ended with code {code} and left no row"})


if __name__ == "__main__":
    sys.exit(main())
