"""Probe this machine's GPU: ``python hw_validate/probe_runner.py BUNDLE OUT.jsonl [--only STEP ...]``.

Runs each step in a process of its own, with a time limit, and appends a row to OUT after each, so an
interrupted probe is resumed by the same command. Needs numpy and cuda.bindings only. Exit code 2: no usable
GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hw_validate import probe_ncu
from hw_validate.counters import NoCounters
from hw_validate.rowfile import append_row, read_rows

FAILED = "failed"
"""Row of a step that gave nothing: a rerun tries it again."""
SPIN = "spin"
"""What runs under the profiler; no step of its own."""
EXIT_FAILED, EXIT_NO_DEVICE, EXIT_HANG, EXIT_INTERRUPTED = 1, 2, 4, 130


@dataclass(frozen=True)
class Step:
    """One step of the probe.

    Parameters
    ----------
    name
        What `--only` calls it.
    says
        What it finds.
    seconds
        What it takes as a rule, for the time left.
    limit
        Seconds after which its process is ended.
    """

    name: str
    says: str
    seconds: float
    limit: float = 120.0


STEPS = (
    Step("device", "device, driver and the clock of each SM", 4),
    Step("occupancy", "clusters resident at once by cluster size and shared memory", 4),
    Step("floorplan", "which SMs share a GPC and a TPC", 6),
    Step("l2", "latency of L2 lines by SM and line", 10),
    Step("smem", "latency of shared memory, own and by pair of SMs", 6),
    Step("hbm", "latency of lines from HBM", 8),
    Step("counters", "names of the hardware counters", 10, probe_ncu.SECONDS + 30),
    Step("clocks", "clock of every unit, by ncu", 30, probe_ncu.SECONDS + 30),
)
NAMES = tuple(step.name for step in STEPS)


class Unusable(Exception):
    """The probe cannot go on; the message is one line that says why."""


class Refused(Exception):
    """A step was skipped, failed or took too long; `status` says which, the message why."""

    def __init__(self, status: str, why: str) -> None:
        self.status = status
        super().__init__(why)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and probe, or run one step in this process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path, help="folder that hw_validate probe --bundle-only wrote")
    parser.add_argument("out", type=Path, help="JSON lines; what they hold is not measured again")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=[], metavar="STEP", help=", ".join(NAMES))
    parser.add_argument("--step", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.step:
        return run_step(options.bundle, options.step, options.out)
    return supervise(options.bundle, options.out, options.only)


def supervise(bundle: Path, out: Path, only: Sequence[str] = ()) -> int:
    """Run all steps that OUT does not hold yet for this GPU and give the exit code.

    Parameters
    ----------
    bundle
        Folder of the kernels.
    out
        JSON lines; a row is appended after each step.
    only
        Names of steps; none: all.
    """
    statuses = []
    try:
        rows = _identify(bundle, out)
        done = {row["row"] for row in rows}
        todo = [step for step in STEPS if (not only or step.name in only) and step.name not in done]
        for number, step in enumerate(todo):
            left = sum(each.seconds for each in todo[number:])
            says = f"[{number + 1}/{len(todo)}] {step.name}: {step.says}; about {left:.0f} s left"
            print(says, file=sys.stderr, flush=True)
            row = _do(rows, step, bundle)
            _keep(out, row)
            rows.append(row)
            statuses.append(row.get("status"))
    except Unusable as error:
        print(f"no measurement: {error}", file=sys.stderr)
        return EXIT_NO_DEVICE
    except KeyboardInterrupt:
        print(f"interrupted; {out} keeps the steps done, and the same command goes on", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_HANG if "timeout" in statuses else EXIT_FAILED if "error" in statuses else 0


def run_step(bundle: Path, name: str, into: Path) -> int:
    """Run one step in this process, which needs the GPU, and write what it gives."""
    from hw_validate.driver import Device, NoDevice
    from hw_validate.launch import Session
    from hw_validate.probe_steps import ON_DEVICE

    try:
        device = Device()
    except NoDevice as error:
        print(error, file=sys.stderr)
        return EXIT_NO_DEVICE
    session = Session(device, bundle, json.loads((bundle / "plan.json").read_text(encoding="utf-8")), [])
    session.warm_up()
    into.write_text(json.dumps(ON_DEVICE[name](session)), encoding="utf-8")
    return 0


def _identify(bundle: Path, out: Path) -> list[dict[str, Any]]:
    """Find out which GPU this is, and give its rows of an earlier probe, or the first one."""
    step, begin = STEPS[0], time.monotonic()
    try:
        data = _in_process(step, bundle)
    except Refused as error:
        raise Unusable(f"the {step.name} step: {error}") from error
    try:
        rows = [row for row in read_rows(out) if row.get("uuid") == data["uuid"] and row.get("row") in NAMES]
    except (OSError, ValueError, AttributeError) as error:
        raise Unusable(f"{out} cannot be read as rows of a probe; name another --out") from error
    if not rows:
        rows.append(_stamped({"row": step.name, **data}, begin))
        _keep(out, rows[0])
    print(f"{data['name']}, {data['uuid']}", file=sys.stderr)
    return rows


def _do(rows: Sequence[dict[str, Any]], step: Step, bundle: Path) -> dict[str, Any]:
    """Run one step and give its row; a step that fails leaves the others alone."""
    uuid, begin = rows[0]["uuid"], time.monotonic()
    try:
        return _stamped({"row": step.name, "uuid": uuid, **_measure(rows, step, bundle)}, begin)
    except NoCounters as error:
        status, why = "skipped", str(error)
    except Refused as error:
        status, why = error.status, str(error)
    print(f"{step.name}: {status}: {why}", file=sys.stderr)
    return _stamped({"row": FAILED, "uuid": uuid, "step": step.name, "status": status, "why": why}, begin)


def _stamped(row: dict[str, Any], begin: float) -> dict[str, Any]:
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {**row, "seconds": round(time.monotonic() - begin, 1), "when": when}


def _measure(rows: Sequence[dict[str, Any]], step: Step, bundle: Path) -> dict[str, Any]:
    if step.name == "counters":
        return probe_ncu.query_counters()
    if step.name == "clocks":
        listed = next((row["names"] for row in rows if row["row"] == "counters"), None)
        names = listed or probe_ncu.query_counters()["names"]
        with tempfile.TemporaryDirectory() as folder:
            return probe_ncu.read_clocks(names, _command(SPIN, bundle, Path(folder) / "spin.json"))
    return _in_process(step, bundle)


def _command(name: str, bundle: Path, into: Path) -> list[str]:
    return [sys.executable, str(Path(__file__).resolve()), str(bundle), str(into), "--step", name]


def _in_process(step: Step, bundle: Path) -> dict[str, Any]:
    """Run a step in a process of its own and give what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "step.json"
        command = _command(step.name, bundle, into)
        child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            _, said = child.communicate(timeout=step.limit)
        except subprocess.TimeoutExpired as error:
            raise Refused("timeout", f"no end after {step.limit:.0f} s") from error
        finally:
            if child.poll() is None:  # its own children are of its group
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        last = (said.strip() or "no message").splitlines()[-1]
        if child.returncode == EXIT_NO_DEVICE:
            raise Unusable(last)
        if child.returncode or not into.is_file():
            raise Refused("error", f"the process ended with code {child.returncode}: {last}")
        return dict(json.loads(into.read_text(encoding="utf-8")))


def _keep(out: Path, row: dict[str, Any]) -> None:
    """Append a row to the file, whose folder is made if missing."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        append_row(out, row)
    except OSError as error:
        raise Unusable(f"{out} cannot be written ({error.strerror})") from error


if __name__ == "__main__":
    sys.exit(main())
