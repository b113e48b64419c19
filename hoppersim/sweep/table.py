"""The rows of a study, in the order of its points: what varies, what was found, what stands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from hoppersim.result.export import to_json
from hoppersim.result.files import write_text
from hoppersim.result.table_files import write_tables
from hoppersim.sweep.figures import SPEEDUP, Figures, show
from hoppersim.sweep.finding import describe
from hoppersim.sweep.journal import Outcome
from hoppersim.sweep.pareto import pareto_set
from hoppersim.sweep.plan import Plan

SCHEMA = "hoppersim.sweep/1"

Row = dict[str, Any]
"""Values by column; None where there is none."""


@dataclass(frozen=True)
class SweepResult:
    """What a study found.

    Attributes
    ----------
    plan
        The study and its points.
    rows
        A row for each point. ``status`` is ``ok``; ``refused``: it cannot be launched; ``outside`` a limit;
        ``hang``; or ``failed``; ``reason`` says why. ``pareto`` marks the Pareto set.
    simulated, kept
        Simulations of this run, and of earlier ones.
    """

    plan: Plan
    rows: list[Row]
    simulated: int
    kept: int

    @cached_property
    def pareto(self) -> list[Row]:
        """Rows of the Pareto set."""
        return [row for row in self.rows if row.get("pareto")]

    @cached_property
    def finding(self) -> list[str]:
        """What the rows show, in sentences."""
        return describe(self.plan, self.rows)

    @property
    def provisional(self) -> int:
        """Numbers of the machine that are not measured yet, at most."""
        return max(point.provisional for point in self.plan.points)

    def document(self) -> dict[str, Any]:
        """Give all of it as plain data; the same study gives the same document, however it was run."""
        sweep = self.plan.sweep
        return {
            "schema": SCHEMA,
            "study": sweep.name,
            "question": sweep.question,
            "machines": sorted({point.machine for point in self.plan.points if point.machine}),
            "provisional": self.provisional,
            "parameters": self.plan.columns.parameters,
            "units": self.plan.columns.units,
            "objectives": sweep.objectives,
            "finding": self.finding,
            "rows": self.rows,
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``NAME.json``, and the rows in every format of a table, each file whole or not at all.

        Raises
        ------
        InputError
            If the folder cannot be written.
        """
        stem = Path(folder) / self.plan.sweep.name
        file = stem.with_name(f"{stem.name}.json")
        write_text(file, to_json(self.document()))
        return [file, *write_tables(stem, self.rows, self.plan.columns.units)]

    def __repr__(self) -> str:
        done = sum(row["status"] == "ok" for row in self.rows)
        return f"<SweepResult {self.plan.sweep.name}: {len(self.rows)} points, {done} ok>"

    def _repr_html_(self) -> str:
        names = [name for name in self.rows[0] if name != "point"]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        cells = ("".join(f"<td>{escape(show(name, row[name]))}</td>" for name in names) for row in self.rows)
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"


def make_rows(plan: Plan, outcomes: Mapping[str, Outcome]) -> list[Row]:
    """Make the rows of a plan; they depend on the outcomes alone.

    Parameters
    ----------
    plan
        The study and its points.
    outcomes
        What each simulation gave, by the key of the point.
    """
    found = [_found(plan, number, outcomes) for number in range(len(plan.points))]
    if plan.columns.against:
        _add_speedup(plan, found)
    rows = []
    for number, (point, figures) in enumerate(zip(plan.points, found, strict=True)):
        values = point.known | figures
        status, reason = figures["status"], figures["reason"]
        if status == "ok" and (breach := plan.columns.breach(point.settings | values)):
            status, reason = "outside", breach
        kept = {name: values.get(name) for name in plan.columns.figures}
        mark = {"pareto": False} if plan.sweep.objectives else {}
        rows.append({"point": number, "status": status, **point.settings, **kept, **mark, "reason": reason})
    _mark_pareto(plan, rows)
    return rows


def _found(plan: Plan, number: int, outcomes: Mapping[str, Outcome]) -> Figures:
    point = plan.points[number]
    if not point.key:
        return {"status": point.status, "reason": point.reason}
    outcome = outcomes[point.key]
    return {**outcome.figures, "status": outcome.status, "reason": outcome.reason}


def _add_speedup(plan: Plan, found: list[Figures]) -> None:
    """Compare each point with the baseline that agrees with it in all else, by time per delivered byte."""
    against = plan.columns.against
    rates: dict[str, float] = {}
    for point, figures in zip(plan.points, found, strict=True):
        if all(point.settings[name] == value for name, value in against.items()) and figures.get("cycles"):
            rates[_others(point.settings, against)] = figures["tb_per_second"]
    for point, figures in zip(plan.points, found, strict=True):
        base = rates.get(_others(point.settings, against))
        figures[SPEEDUP] = figures["tb_per_second"] / base if base and figures.get("cycles") else None


def _others(settings: Mapping[str, Any], against: Mapping[str, Any]) -> str:
    return repr([(name, value) for name, value in settings.items() if name not in against])


def _mark_pareto(plan: Plan, rows: list[Row]) -> None:
    """Mark the Pareto set; points that did not run, or have no value for an objective, are no part of it."""
    objectives = plan.sweep.objectives
    if not objectives:
        return
    able = [
        row for row in rows if row["status"] == "ok" and all(row[name] is not None for name in objectives)
    ]
    marks = pareto_set([[row[name] for name in objectives] for row in able], list(objectives.values()))
    for row, mark in zip(able, marks, strict=True):
        row["pareto"] = mark
