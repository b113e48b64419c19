"""Records measured rows as a dataset that ships: small tables with a manifest, written whole or not at all.

Equal rows give equal files. Works are kept as the fields that build them again, never as text. Of the machine
that measured them, only what the manifest names is kept; a path in a text is refused.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hoppersim.dataset import Counters, Litmus, Manifest, Point, Run
from hoppersim.dataset.verify import private_text
from hoppersim.errors import InputError
from hoppersim.program.case_spec import Case
from hw_validate.compare import read_rows
from hw_validate.counters import METRICS
from hw_validate.litmus import outcomes, read_flows
from hw_validate.record_files import Contents, joined, read_contents, write_dataset
from hw_validate.works import CASES, planned_works, works_of

FLOORPLAN_FIELDS = ("groups", "loose", "tpcs", "together", "never_in_clusters_of", "resident",
                    "resident_small", "pair_latency")  # fmt: skip
STATE_FIELDS = ("clocks.sm", "clocks.mem", "clocks.max.sm", "power.draw", "power.limit", "temperature.gpu",
                "ecc.mode.current")  # fmt: skip


@dataclass
class Session:
    """The rows of one run on one part, sorted by what they are."""

    device: dict[str, Any]
    floorplan: dict[str, Any]
    rows: list[dict[str, Any]]
    name: str = ""
    points: list[Point] = field(default_factory=list)


def record(
    rows: Sequence[Path], out: Path, *, counters: Sequence[Path] = (), litmus: Path | None = None,
    flows: Path | None = None, plan: Path | None = None, onto: str | None = None,
) -> Manifest:  # fmt: skip
    """Write a dataset from the runner's rows.

    Parameters
    ----------
    rows
        Files of the runs; the first names the run that counts where several measured one work.
    out
        Folder of the dataset, replaced as a whole; its error summary is kept.
    counters
        Files of rows of counters, each of points of one run.
    litmus, flows
        Rows of litmus flows, and the folder of the flows.
    plan
        Plan of a bundle, whose registers and instruction counts are kept.
    onto
        Dataset, by name or folder, behind whose runs these are put.

    Raises
    ------
    InputError
        If rows do not fit together, a work cannot be built again, or a text holds a path.
    """
    base = None if onto is None else read_contents(onto)
    sessions = [_session(path) for path in rows]
    _name(sessions, [] if base is None else [run.run for run in base.runs])
    for session in sessions:
        session.points = [_point(session.name, row) for row in session.rows]
    points = [point for session in sessions for point in session.points]
    works_of(points)
    contents = Contents(
        [_run(session) for session in sessions],
        points,
        [row for path in counters for row in _counters(path, sessions)],
        _litmus(litmus, flows, sessions) if litmus is not None and flows is not None else [],
        _details(sessions),
        {item.name: item.floorplan for item in sessions},
        _kernels(plan, points) if plan is not None else {},
    )
    return write_dataset(out, contents if base is None else joined(base, contents))


def _session(path: Path) -> Session:
    """Sort the rows of a file; the latest row of a point counts."""
    found = read_rows(path)
    devices = [row for row in found if row.get("row") == "device"]
    floorplan: dict[str, Any] = next((row for row in found if row.get("row") == "floorplan"), {})
    points = {row["id"]: row for row in found if row.get("row") == "point"}
    if not devices or len({row["uuid"] for row in devices}) != 1:
        raise InputError("rows", path.name, "must be the rows of one part")
    kept = {name: floorplan[name] for name in FLOORPLAN_FIELDS if name in floorplan}
    return Session(devices[0], kept, list(points.values()))


def _name(sessions: Iterable[Session], taken: Sequence[str]) -> None:
    """Name runs by day and part; several of one day and part are numbered, on from names that are taken."""
    used = set(taken)
    for session in sessions:
        stem = f"{session.device['when'][:10]}-{session.device['uuid'].removeprefix('GPU-')[:8]}"
        number, session.name = 1, stem
        while session.name in used:
            number += 1
            session.name = f"{stem}-{number}"
        used.add(session.name)


def _point(run: str, row: dict[str, Any]) -> Point:
    """Turn a row into a point."""
    tags = dict(row.get("tags", {}))
    aside = tags.pop("set_aside", "")
    if "case" in tags:
        tags["case"] = _full_case(tags["case"])
    work_hash = row.get("hash") or _hash_of(row["id"])
    planned = planned_works().get(work_hash)
    point = Point(
        run=run, id=row["id"], label=row["label"], hash=work_hash, plan=planned.plan if planned else CASES,
        tags=tags, status=row["status"], set_aside=aside, when=row.get("when", ""),
        kernel=" ".join(row.get("kernels", ())), error=_reason(row),
    )  # fmt: skip
    return replace(point, **_figures(row)) if row["status"] == "ok" else point


def _full_case(fields: dict[str, Any]) -> dict[str, Any]:
    """Write out every field of a case, so that a later default cannot change it."""
    case = msgspec.convert(fields, Case)
    sms = {name: msgspec.to_builtins(getattr(case.sms, name)) for name in case.sms.__struct_fields__}
    return {**{name: getattr(case, name) for name in case.__struct_fields__}, "sms": sms}


def _hash_of(point_id: str) -> str:
    """Find the hash of a lost point, whose row has only its identity."""
    found = [work_hash for work_hash in planned_works() if work_hash.startswith(point_id[:16])]
    if len(found) != 1:
        raise InputError("rows", point_id, "a row without a hash must be a point of a plan")
    return found[0]


def _reason(row: dict[str, Any]) -> str:
    """Give the first line of an error; a path in it is refused."""
    lines = str(row.get("error", "")).strip().splitlines()
    text = lines[0] if lines else ""
    if (found := private_text(text)) is not None:
        raise InputError(row["label"], found, "a path of the machine must not stand in a dataset")
    return text


def _figures(row: dict[str, Any]) -> dict[str, Any]:
    """Give what was measured; one flow only, since a point has one time."""
    if len(row["flows"]) != 1:
        raise InputError(row["label"], len(row["flows"]), "a point must have one flow", 1)
    flow = row["flows"][0]
    return {
        "cycles": float(flow["cycles"]),
        "repeats": [int(value) for value in flow["repeats"]],
        "spread": round(flow["spread"], 6),
        "event_ms": round(statistics.median(flow["event_ms"]), 6),
        "sm_ghz": flow["sm_ghz"],
        "clusters": row["clusters"][0],
        "ctas": flow["ctas"],
        "cta_cycles": round(statistics.fmean(flow["cta"]["cycles"]), 1),
        "verified": flow.get("check", {}).get("verified"),
    }


def _details(sessions: Iterable[Session]) -> dict[str, dict[str, Any]]:
    """Give the times by SM, role and stamp of every point."""
    return {
        session.name: {row["id"]: _detail(row["flows"][0]) for row in session.rows if row["status"] == "ok"}
        for session in sessions
    }


def _detail(flow: dict[str, Any]) -> dict[str, Any]:
    cta = flow["cta"]
    detail = {"sm": cta["sm"], "cycles": cta["cycles"], "roles": flow["roles"]}
    if cta["number"] != list(range(len(cta["sm"]))):
        detail["number"] = cta["number"]
    if flow["stamps"]:
        detail["stamps"] = flow["stamps"]
    return detail


def _run(session: Session) -> Run:
    device, points = session.device, session.points
    times = sorted(point.when for point in points if point.when)
    state = {name: device["nvidia_smi"][name] for name in STATE_FIELDS if name in device["nvidia_smi"]}
    return Run(
        run=session.name, uuid=device["uuid"], device=device["name"], driver=device["driver"],
        sms=device["sms"], l2_bytes=device["l2_bytes"], bus_bits=device["bus_bits"],
        clock_khz=device["clock_khz"], memory_clock_khz=device["memory_clock_khz"], state=state,
        first=times[0] if times else "", last=times[-1] if times else "", compiler=device["compiler"],
        groups=session.floorplan.get("groups", []), plans=_count(point.plan for point in points),
        repeats=_count(str(len(point.repeats)) for point in points if point.repeats),
        statuses=_count(point.status for point in points),
    )  # fmt: skip


def _count(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _counters(path: Path, sessions: Iterable[Session]) -> list[Counters]:
    """Read counters; they belong to the first run, on the part that the file names, with all their points."""
    found = read_rows(path)
    rows = [row for row in found if row.get("row") == "counters" and "counters" in row]
    parts = {row["uuid"] for row in found if row.get("row") == "device"}
    wanted = {row["id"] for row in rows}
    here = [session for session in sessions if parts <= {session.device["uuid"]}]
    run = next((s.name for s in here if wanted <= {point.id for point in s.points}), None)
    if run is None:
        raise InputError("counters", path.name, "must be of points of one of the runs")
    return [
        Counters(
            run=run, id=row["id"], hash=row["hash"], label=row["label"],
            counters={n: row["counters"][n] for n in METRICS if _is_number(row["counters"].get(n))},
        )
        for row in rows
    ]  # fmt: skip


def _is_number(value: float | None) -> bool:
    return value is not None and value == value


def _litmus(path: Path, flows: Path, sessions: Iterable[Session]) -> list[Litmus]:
    """Judge the outcomes of litmus flows; they belong to the run on the same part."""
    rows = read_rows(path)
    uuids = {row["uuid"] for row in rows if row.get("row") == "device"}
    run = next((s.name for s in sessions if {s.device["uuid"]} == uuids), None)
    if run is None:
        raise InputError("litmus", path.name, "must be measured on the part of one of the runs")
    found = []
    for row in outcomes(read_flows(flows), rows):
        if (text := private_text(row["where"])) is not None:
            raise InputError(row["flow"], text, "a path of the machine must not stand in a dataset")
        found.append(Litmus(**{**row, "run": run, "agrees": row["agrees"] == "yes"}))  # type: ignore[arg-type]
    return found


def _kernels(plan: Path, points: Sequence[Point]) -> dict[str, Any]:
    """Give registers and SASS instructions by opcode of the kernels that points were measured with."""
    used = {point.kernel for point in points}
    modules = json.loads(plan.read_text(encoding="utf-8"))["modules"].values()
    return {
        module["hash"]: {"registers": module["registers"], "sass": module["sass"]}
        for module in sorted(modules, key=lambda module: str(module["hash"]))
        if module["hash"] in used
    }
