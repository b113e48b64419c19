"""Litmus flows on silicon: a bundle of all of them, and what came out beside what was required.

``python -m hw_validate.litmus bundle FLOWS BUNDLE`` makes the bundle, ``python3 hw_validate/isolated.py
BUNDLE OUT.jsonl`` runs it on a GPU machine, ``python -m hw_validate.litmus table FLOWS OUT.jsonl TABLE.csv``
joins.
"""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoppersim.program.files import load_work
from hoppersim.program.work import Work
from hw_validate.bundle import Point, make_bundle
from hw_validate.lower import Options

WAIT_LIMIT = 4_000_000
"""SM cycles after which a wait gives up: 2 ms, far longer than any of these flows takes."""
REPEATS = 3
EARLY_CYCLES = 200
"""Least lead of a wait over the data that shows that it did not wait for them [cycle]."""
COLUMNS = ("flow", "row", "verdict", "required", "observed", "agrees", "where")


@dataclass(frozen=True)
class Litmus:
    """One flow with its verdicts.

    Parameters
    ----------
    name
        Name of its file.
    work
        The flow.
    about
        Its notes: `row`, `verdict` (of the simulator), `silicon` (the outcome that is required there:
        ``ok``, ``hang``, ``wrong data``, ``race``, ``error``, ``refused``, ``any``, or a list), and perhaps
        `seen`: what was observed, where it needs words, and `witness`: two stamps (``role.stamp``) of which
        the first comes too early in a race.
    """

    name: str
    work: Work
    about: dict[str, Any]


def read_flows(folder: Path) -> tuple[Litmus, ...]:
    """Read all litmus flows of a folder, in the order of their names."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        about = tomllib.loads(path.read_text(encoding="utf-8"))["about"]
        found.append(Litmus(path.stem, load_work(path), about))
    return tuple(found)


def litmus_points(flows: Iterable[Litmus]) -> Iterator[Point]:
    """Make a point of each flow, marked for a process of its own."""
    for flow in flows:
        tags = {"litmus": flow.name, "isolate": True}
        yield Point(flow.work, flow.name, REPEATS, options=Options(wait_limit=WAIT_LIMIT), tags=tags)


def litmus_bundle(flows: Path, folder: Path) -> Path:
    """Make the bundle of all litmus flows of a folder; `isolated.py` runs it."""
    return make_bundle(litmus_points(read_flows(flows)), folder, probe=False)


def observed(row: dict[str, Any], about: dict[str, Any]) -> tuple[str, str]:
    """Say in a word what a row shows, and where."""
    if row["status"] == "hang":
        return "hang", _where(row)
    if row["status"] != "ok":
        error = row.get("error", "")
        refused = ("cluster" in error and "fits" in error) or "TensorMap" in error
        return ("refused" if refused else "error"), error.splitlines()[0] if error else ""
    flow = row["flows"][0]
    if "witness" in about:
        lead = _lead(flow["stamps"], about["witness"])
        return (
            "race" if lead > EARLY_CYCLES else "ok"
        ), f"{about['witness'][0]} leads by up to {lead} cycles"
    check = flow["check"]
    if check["verified"] is False and check.get("compared"):
        wrong = check["wrong"][0]
        place = f"role {wrong['role']} of cluster {wrong['cluster']} rank {wrong['rank']}"
        return "wrong data", f"{place}, {check['mismatches']} of {check['compared']} checks"
    return "ok", "data right" if check["verified"] else f"data not checked: {check.get('why', '')}"


def _where(row: dict[str, Any]) -> str:
    """Name the first waits that passed their limit."""
    waits = [wait for flow in row.get("hang", []) for wait in flow]
    parts = [
        f"rank {wait['rank']} {wait['role']}: {wait['barrier']}[{wait['stage']}] parity {wait['parity']}, "
        f"iteration {wait['iteration']}"
        for wait in waits
    ]
    return "; ".join(dict.fromkeys(parts)) or row.get("error", "")


def _lead(stamps: dict[str, list[list[int]]], names: list[str]) -> int:
    """Give the most cycles by which the first stamp comes before the second, over all CTAs and iterations."""
    early, late = (stamps[name] for name in names)
    pairs = [
        pair for first, second in zip(early, late, strict=True) for pair in zip(first, second, strict=False)
    ]
    return max((second - first for first, second in pairs), default=0)


def outcomes(flows: Iterable[Litmus], rows: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Join what was observed with what was required; flows without a row are left out."""
    points = {row["label"]: row for row in rows if row.get("row") == "point"}
    by_id = {row["id"]: row for row in rows if row.get("row") == "point"}
    table = []
    for flow, point in ((flow, next(litmus_points([flow]))) for flow in flows):
        row = by_id.get(point.id) or points.get(flow.name)
        if row is None:
            continue
        word, where = observed(row, flow.about)
        wanted = flow.about["silicon"]
        wanted = [wanted] if isinstance(wanted, str) else wanted
        agrees = "yes" if {"any", word} & set(wanted) else "no"
        values = (
            flow.name,
            flow.about["row"],
            flow.about["verdict"],
            " or ".join(wanted),
            word,
            agrees,
            where,
        )
        table.append(dict(zip(COLUMNS, values, strict=True)))
    return table


def write_table(table: Iterable[dict[str, str]], path: Path) -> None:
    """Write the joined table as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


def main(arguments: list[str] | None = None) -> int:
    """Make the bundle, or the table; see the module's text."""
    what, flows, *paths = sys.argv[1:] if arguments is None else arguments
    if what == "bundle":
        litmus_bundle(Path(flows), Path(paths[0]))
        return 0
    lines = Path(paths[0]).read_text(encoding="utf-8").splitlines()
    write_table(outcomes(read_flows(Path(flows)), [json.loads(line) for line in lines]), Path(paths[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
