"""The steps of the probe that Nsight Compute (ncu) does: clocks of units, names of counters. Stdlib only."""

from __future__ import annotations

import gzip
import math
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from hw_validate.counters import METRICS, NoCounters, parse_csv

CHIP = "gh100"
CLOCK = "__cycles_elapsed"
RATE = ".avg.per_second"
SECONDS = 240.0
_NAME = re.compile(r"^([a-z0-9_]+__[a-z0-9_]+)\s", re.MULTILINE)


def shipped_names() -> frozenset[str]:
    """Give the counters that ncu 2025.3 listed on an H200, without their rollups such as ``.sum``."""
    data = files("hw_validate").joinpath("counter_names.txt.gz").read_bytes()
    return frozenset(gzip.decompress(data).decode().split())


def parse_query(text: str) -> list[str]:
    """Read the names of counters from ``ncu --query-metrics``; what is no table row is skipped."""
    return sorted(set(_NAME.findall(text)))


def query_counters() -> dict[str, Any]:
    """List the counters that ncu knows on this chip.

    Raises
    ------
    NoCounters
        If ncu is missing or lists nothing.
    """
    names = parse_query(_run(["--query-metrics", "--chip", CHIP]))
    if not names:
        raise NoCounters("ncu lists no counters")
    return {"chip": CHIP, "ncu": _version(), "names": names}


def clock_metrics(names: Sequence[str]) -> list[str]:
    """Give the metric of the clock of every unit among counters' names."""
    return [name + RATE for name in names if name.endswith(CLOCK)]


def read_clocks(names: Sequence[str], command: Sequence[str]) -> dict[str, Any]:
    """Read the clock of every unit while all SMs are busy, and try the counters that Results carry.

    Parameters
    ----------
    names
        Counters that ncu lists.
    command
        A program that launches one kernel between a profiler's marks.

    Returns
    -------
    dict
        `clocks_ghz`: by unit, what runs only; `readable`: counters with a value; `unreadable`: the others.

    Raises
    ------
    NoCounters
        If ncu is missing, or this user may not read counters.
    """
    units = clock_metrics(names)
    values = _read(METRICS, command)
    values |= _read_what_can_be(units, command)
    clocks = {
        name.removesuffix(CLOCK + RATE): values[name] / 1e9 for name in units if values.get(name, 0) > 0
    }
    wanted = sorted({*units, *METRICS})
    return {
        "clocks_ghz": {unit: round(rate, 4) for unit, rate in sorted(clocks.items())},
        "readable": [name for name in wanted if name in values],
        "unreadable": [name for name in wanted if name not in values],
    }


def _read(names: Sequence[str], command: Sequence[str]) -> dict[str, float]:
    """Read counters of the command's kernel; those without a value are left out."""
    options = ["--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off"]
    options += ["--clock-control", "none", "--cache-control", "none"]
    found = parse_csv(_run([*options, "--metrics", ",".join(names), *command]))
    if not found:
        raise NoCounters("ncu gave no counters")
    return {name: value for name, value in found[0].items() if name in names and not math.isnan(value)}


def _read_what_can_be(names: Sequence[str], command: Sequence[str]) -> dict[str, float]:
    """Read counters of which some cannot be read here: ncu then gives none, so halves are tried."""
    try:
        return _read(names, command)
    except NoCounters:
        if len(names) < 2:
            return {}
    half = len(names) // 2
    return _read_what_can_be(names[:half], command) | _read_what_can_be(names[half:], command)


def _run(arguments: Sequence[str]) -> str:
    """Run ncu and give what it printed."""
    if shutil.which("ncu") is None:
        raise NoCounters("ncu (Nsight Compute) is not on the PATH")
    try:
        done = subprocess.run(
            ["ncu", *arguments], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise NoCounters(f"ncu took more than {SECONDS:.0f} s") from error
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
        raise NoCounters("this user may not read counters (ERR_NVGPUCTRPERM)")
    if done.returncode:
        lines = (done.stdout.strip() or done.stderr.strip() or "no output").splitlines()
        first = next((line for line in lines if line.startswith("==ERROR==")), lines[-1])
        raise NoCounters(f"ncu ended with code {done.returncode}: {first}")
    return done.stdout


def _version() -> str:
    found = re.search(r"Version (\S+)", _run(["--version"]))
    return found.group(1) if found else "unknown"
