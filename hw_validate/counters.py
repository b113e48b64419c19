"""Hardware counters of a bundle's points: ``python hw_validate/counters.py BUNDLE OUT.jsonl [--only REGEX]``.

Runs Nsight Compute (ncu) once for each point, around the runner's single launch. Imports the standard library
only.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

METRICS = (
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_self.sum",
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast.sum",
    "l1tex__m_l1tex2xbar_read_requests_mem_global_op_tma_ld_dest_multicast.sum",
    "lrc__xbar2lrc_requests_op_read.sum",
    "lrc__lrc2xbar_sectors_op_read.sum",
    "lrc__lrc2xbar_sectors_op_read_coalescing_achieved_type_hardware.sum",
    "lrc__lrc2xbar_sectors_op_read_coalescing_achieved_type_programmatic.sum",
    "lrc__xbar2gpc_sectors_op_read.sum",
    "lrc__xbar2gpc_sectors_op_read_coalescing_achieved_type_hardware.sum",
    "lrc__xbar2gpc_sectors_op_read_coalescing_achieved_type_programmatic.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_read.max",
    "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "dram__bytes_read.sum",
    "l1tex__m_l1tex2xbar_write_bytes_mem_dshared_op_tma_st.sum",
    "l1tex__m_xbar2l1tex_read_bytes_mem_dshared_op_tma_st.sum",
    "sm__cycles_elapsed.max",
    "sm__cycles_elapsed.avg.per_second",
    "lts__cycles_elapsed.avg.per_second",
    "dram__cycles_elapsed.avg.per_second",
    "gpu__time_duration.sum",
)
RUNNER = Path(__file__).resolve().with_name("runner.py")
EXIT_NO_COUNTERS = 2
SECONDS_PER_POINT = 240.0


class NoCounters(Exception):
    """Counters cannot be read here; the message says why."""


def ncu_command(
    bundle: Path,
    point: str,
    rows: Path,
    *,
    cold: bool = False,
    metrics: Sequence[str] = METRICS,
    replay: str = "application",
) -> list[str]:
    """Give the command line that counts one launch of a point.

    Parameters
    ----------
    bundle, point
        Where the point is, and its id or label.
    rows
        The runner's rows, for the floorplan.
    cold
        Empty the caches before each pass, for points that start with a cold L2.
    metrics
        What to count.
    replay
        How ncu repeats the launch for metrics that do not fit in one pass. ``application`` runs the whole
        program again, so each pass finds what the program left in the L2; ``kernel`` saves and restores
        memory in between, through the L2, which is faster but spoils the counts of a warm one.
    """
    ncu = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off"]
    ncu += ["--replay-mode", replay, "--clock-control", "none", "--cache-control", "all" if cold else "none"]
    ncu += ["--kernel-name", "flow", "--metrics", ",".join(metrics)]
    return [*ncu, sys.executable, str(RUNNER), str(bundle), str(rows), "--single", point]


def parse_csv(text: str) -> list[dict[str, float]]:
    """Read ncu's CSV, raw page or details page: one dictionary of metrics for each profiled kernel.

    Lines before the header, which ncu and the profiled program print, are skipped.
    """
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))
    if rows and "Metric Name" in rows[0]:
        found: dict[str, dict[str, float]] = {}
        for row in rows:
            found.setdefault(row["ID"], {})[row["Metric Name"]] = _number(row["Metric Value"])
        return list(found.values())
    names = [name for name in (rows[0] if rows else ()) if "__" in name and "launch__" not in name]
    return [{name: _number(row[name]) for name in names} for row in rows if row["ID"].strip()]


def _number(text: str) -> float:
    """Read a number as ncu writes it; what is not a number becomes NaN."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return float("nan")


def count_point(
    bundle: Path, point: dict[str, Any], rows: Path, replay: str = "application"
) -> dict[str, float]:
    """Count one point.

    Raises
    ------
    NoCounters
        If ncu is missing or may not read counters.
    """
    if shutil.which("ncu") is None:
        raise NoCounters("ncu (Nsight Compute) is not on the PATH")
    command = ncu_command(bundle, point["id"], rows, cold=point["warm"] == 0, replay=replay)
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_PER_POINT, check=False)
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
        raise NoCounters("this user may not read counters (ERR_NVGPUCTRPERM)")
    found = parse_csv(done.stdout)
    if not found:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise NoCounters(f"ncu gave no counters: {last}")
    return {name: sum(kernel.get(name, 0.0) for kernel in found) for name in found[0]}


def main(arguments: list[str] | None = None) -> int:
    """Count all points that match and append a row for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("out", type=Path, help="JSON lines; rows are appended")
    parser.add_argument("--only", default="", help="regular expression that a point's id or label must match")
    parser.add_argument("--replay", choices=("application", "kernel"), default="application",
                        help="how ncu makes its passes; kernel is faster and spoils a warm L2")  # fmt: skip
    options = parser.parse_args(arguments)
    plan = options.bundle / "plan.json"
    if not plan.is_file():
        print(f"no counters: {plan} does not exist", file=sys.stderr)
        return EXIT_NO_COUNTERS
    points = json.loads(plan.read_text(encoding="utf-8"))["points"]
    wanted = [point for point in points if re.search(options.only, point["id"] + " " + point["label"])]
    for number, point in enumerate(wanted):
        row = {"row": "counters", "id": point["id"], "label": point["label"], "hash": point["hash"]}
        try:
            row["counters"] = count_point(options.bundle, point, options.out, options.replay)
        except NoCounters as error:
            print(f"no counters: {error}", file=sys.stderr)
            return EXIT_NO_COUNTERS
        except subprocess.TimeoutExpired:
            row["error"] = f"ncu took more than {SECONDS_PER_POINT:.0f} s"
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"[{number + 1}/{len(wanted)}] {point['label']}: counted", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
