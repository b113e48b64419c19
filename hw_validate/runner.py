"""Run a bundle on this machine's GPU: ``python hw_validate/runner.py BUNDLE OUT.jsonl``.

Needs numpy and cuda.bindings only. Writes one JSON line for each point as it goes; points that OUT holds are
skipped, so an interrupted run is resumed by the same command. Exit code 2: no usable GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hw_validate.driver import Device, DriverError, NoDevice, TimeLimit, clocks
from hw_validate.floorplan_probe import pair_latencies, probe_floorplan
from hw_validate.launch import Session
from hw_validate.rowfile import append_row, current_file, note_current, read_rows

EXIT_NO_DEVICE = 2
EXIT_AGAIN = 75
"""A child's way to say that its context is lost and that a fresh process should go on."""
EXIT_BUDGET = 76
EXIT_HANG = 4
MOST_LOST_IN_A_ROW = 3
GRACE_SECONDS = 60.0
FLOORPLAN = "floorplan"
LOST = range(700, 720)
"""Error codes after which a context is of no use."""


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and supervise a child that measures."""
    options = _parser().parse_args(arguments)
    if options.check:
        return _refusing(_check)
    if options.single:
        return _refusing(lambda: _single(options))
    if options.child:
        return _refusing(lambda: _child(options))
    if not (options.bundle / "plan.json").is_file():
        print(f"no measurement: {options.bundle / 'plan.json'} does not exist", file=sys.stderr)
        return EXIT_NO_DEVICE
    return _supervise(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path, help="folder with plan.json and the cubins")
    parser.add_argument("out", type=Path, help="JSON lines; rows are appended")
    parser.add_argument("--only", default="", help="regular expression that a point's id or label must match")
    parser.add_argument(
        "--budget", type=float, default=0.0, help="stop after so many seconds, between points"
    )
    parser.add_argument("--limit", type=float, default=10.0, help="seconds that one launch may take")
    parser.add_argument(
        "--single", default="", help="warm and launch this point once, for a profiler; no row"
    )
    parser.add_argument("--no-probe", action="store_true", help="leave the floorplan probe out")
    parser.add_argument("--check", action="store_true", help="only say whether there is a usable GPU")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


def _refusing(work: Any) -> int:
    """Run something that needs the device; without one, say so in one line."""
    try:
        return int(work())
    except NoDevice as error:
        print(f"no measurement: {error}", file=sys.stderr)
        return EXIT_NO_DEVICE


def _check() -> int:
    """Open the device."""
    Device()
    return 0


def _supervise(options: argparse.Namespace) -> int:
    """Start a child, and a fresh one whenever one is lost, until all points have a row."""
    begin = time.monotonic()
    command = [
        sys.executable,
        str(Path(__file__).resolve()),
        str(options.bundle),
        str(options.out),
        "--child",
    ]
    command += [
        "--only",
        options.only,
        "--limit",
        str(options.limit),
        *(["--no-probe"] if options.no_probe else []),
    ]
    lines, in_a_row = -1, 0
    while in_a_row < MOST_LOST_IN_A_ROW:
        left = options.budget - (time.monotonic() - begin) if options.budget else 0.0
        if options.budget and left <= 0:
            return 0
        child = subprocess.Popen([*command, "--budget", str(left)])
        try:
            code = _watch(child, options)
        except KeyboardInterrupt:
            child.wait()
            return 130
        if code in (0, EXIT_BUDGET):
            return 0
        if code != EXIT_AGAIN and not _lost_point(options.out, f"the process ended with code {code}"):
            return code
        before, lines = lines, len(read_rows(options.out))
        in_a_row = in_a_row + 1 if lines <= before + 2 else 0
    print(f"stopped: {in_a_row} points in a row were lost", file=sys.stderr)
    return EXIT_HANG


def _watch(child: subprocess.Popen[bytes], options: argparse.Namespace) -> int:
    """Wait for the child; one that stays on a point for too long is killed and the point gets a row."""
    current = current_file(options.out)
    while True:
        try:
            return child.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            pass
        try:
            state = json.loads(current.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if time.time() - state["since"] > state["seconds"]:
            child.kill()
            child.wait()
            _lost_point(options.out, f"killed after {state['seconds']:.0f} s", status="hang")
            return EXIT_AGAIN


def _lost_point(out: Path, why: str, status: str = "error") -> bool:
    """Write a row for the point on which a child was lost; false where it was not on one."""
    try:
        state = json.loads(current_file(out).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    current_file(out).unlink()
    if state["id"] != FLOORPLAN:
        append_row(
            out, {"row": "point", "id": state["id"], "label": "", "status": status, "hang": [], "error": why}
        )
    else:
        append_row(out, {"row": "floorplan", "error": why})
    return True


def _child(options: argparse.Namespace) -> int:
    """Measure all points that have no row yet."""
    begin = time.monotonic()
    plan = json.loads((options.bundle / "plan.json").read_text(encoding="utf-8"))
    device = Device()
    rows = [row for row in read_rows(options.out) if row.get("uuid", device.uuid) == device.uuid]
    session = Session(device, options.bundle, plan, [])
    session.warm_up()
    append_row(options.out, _manifest(device, plan))
    session.groups = _floorplan(session, options, rows, plan)
    done = {row["id"] for row in rows if row.get("row") == "point"}
    wanted = [point for point in plan["points"] if _matches(point, options.only)]
    todo = [point for point in wanted if point["id"] not in done]
    for number, point in enumerate(todo):
        if options.budget and time.monotonic() - begin > options.budget:
            print(f"time is up: {len(todo) - number} points left", file=sys.stderr)
            return EXIT_BUDGET
        row = _measure(session, point, options)
        append_row(options.out, row)
        current_file(options.out).unlink(missing_ok=True)
        _progress(number + 1, len(todo), row, begin)
        if row.pop("lost", False):  # nothing that touches the lost context may run, not even a destructor
            sys.stderr.flush()
            os._exit(EXIT_AGAIN)
    return 0


def _floorplan(session: Session, options: argparse.Namespace, rows: list[Any], plan: Any) -> list[list[int]]:
    """Give the groups of SMs that share a GPC: from a row, else by the probe, if the plan asks for it."""
    known = next((row for row in rows if row.get("row") == "floorplan"), None)
    if known is None and not options.no_probe and plan["probe"]:
        note_current(options.out, FLOORPLAN, 120.0)
        known = {"row": "floorplan", "uuid": session.device.uuid, **probe_floorplan(session)}
        try:
            known["pair_latency"] = pair_latencies(session)
        except (DriverError, TimeLimit) as error:
            known["pair_latency_error"] = str(error)
        append_row(options.out, known)
        current_file(options.out).unlink(missing_ok=True)
    return known.get("groups", []) if known else []


def _measure(session: Session, point: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Run one point; whatever goes wrong becomes its row."""
    launches = point["warm"] + point["repeats"] + 2
    note_current(options.out, point["id"], GRACE_SECONDS + options.limit * launches)
    begin = time.monotonic()
    row = {
        "row": "point",
        "id": point["id"],
        "label": point["label"],
        "hash": point["hash"],
        "uuid": session.device.uuid,
    }
    try:
        row |= session.run(point, options.limit)
    except TimeLimit as error:
        row |= {"status": "hang", "hang": [], "error": str(error), "lost": True}
    except DriverError as error:
        row |= {
            "status": "error",
            "error": str(error),
            "trace": traceback.format_exc(),
            "lost": error.code in LOST,
        }
    except Exception as error:  # a row says what happened, and the other points are still measured
        row |= {
            "status": "error",
            "error": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc(),
        }
    row["tags"] = point.get("tags", {})
    row["kernels"] = [flow["timed"] for flow in point["flows"]]
    row["seconds"] = round(time.monotonic() - begin, 3)
    row["when"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return row


def _single(options: argparse.Namespace) -> int:
    """Warm a point and launch it once between profiler marks."""
    plan = json.loads((options.bundle / "plan.json").read_text(encoding="utf-8"))
    point = next((item for item in plan["points"] if options.single in (item["id"], item["label"])), None)
    if point is None:
        print(f"no point {options.single!r} in {options.bundle}", file=sys.stderr)
        return EXIT_NO_DEVICE
    device = Device()
    groups: list[list[int]] = next(
        (row["groups"] for row in read_rows(options.out) if row.get("row") == "floorplan"), []
    )
    session = Session(device, options.bundle, plan, groups)
    with session.prepared(point) as flows:
        for _ in range(point["warm"]):
            session.once(flows, "timed", options.limit)
        device.call("cuProfilerStart")
        session.once(flows, "timed", options.limit)
        device.call("cuProfilerStop")
    return 0


def _manifest(device: Device, plan: dict[str, Any]) -> dict[str, Any]:
    """Say which device, driver and clocks the rows that follow belong to."""
    return {
        "row": "device",
        "name": device.name,
        "uuid": device.uuid,
        "driver": device.driver_version,
        "sms": device.attribute("MULTIPROCESSOR_COUNT"),
        "l2_bytes": device.attribute("L2_CACHE_SIZE"),
        "shared_bytes_per_sm": device.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        "bus_bits": device.attribute("GLOBAL_MEMORY_BUS_WIDTH"),
        "clock_khz": device.attribute("CLOCK_RATE"),
        "memory_clock_khz": device.attribute("MEMORY_CLOCK_RATE"),
        "nvidia_smi": clocks(),
        "compiler": plan["compiler"],
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _matches(point: dict[str, Any], pattern: str) -> bool:
    return not pattern or any(re.search(pattern, point[field]) for field in ("id", "label"))


def _progress(number: int, total: int, row: dict[str, Any], begin: float) -> None:
    left = (time.monotonic() - begin) / number * (total - number)
    first = row["flows"][0] if row["status"] == "ok" else {}
    figures = str(row.get("error", row.get("hang")))
    if first:
        figures = f"{first['cycles']:.0f} cycles, spread {first['spread']:.1%}"
    verified = first.get("check", {}).get("verified")
    checked = {True: "data right", False: "DATA WRONG"}.get(verified, "data not checked")
    print(
        f"[{number}/{total}] {row['label']}: {row['status']}, {figures}, {checked}; {left:.0f} s left",
        file=sys.stderr,
    )


if __name__ == "__main__":
    sys.exit(main())
