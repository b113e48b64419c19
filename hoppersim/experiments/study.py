"""What a study is: points, what is measured at each, columns to show, and a finding in words.

Also what studies share: the row that a simulated case gives, the words for its modes, and sentences about
how far the model can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any, Literal

from hoppersim.dataset import error_summary
from hoppersim.errors import InputError
from hoppersim.experiments.silicon import silicon_run
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.work import Work
from hoppersim.result.api import IllegalWorkError, simulate
from hoppersim.result.rows import result_row
from hoppersim.result.schema import Result
from hoppersim.result.verdict import UNCALIBRATED_ERROR

MODE_NAMES = {
    "unicast": "unicast, shared tile",
    "unicast_distinct": "unicast, distinct tiles",
    "multicast": "multicast, leader",
    "multicast_slices": "multicast, slices",
}
"""What every table, figure and sentence calls the ways of loading."""
Memory = Literal["l2", "hbm"]
MEMORIES: tuple[Memory, ...] = ("l2", "hbm")
MEMORY_NAMES = {"l2": "L2-resident", "hbm": "HBM stream"}
ERROR_KINDS = {"l2": "memory sweep", "hbm": "memory hbm"}
"""Group of the error summary that a memory belongs to."""

SHORT = 4
"""A run is short beside a measured one of more than so many times its iterations."""
Row = dict[str, Any]
"""One measured point: plain values by column key; None where a figure does not exist."""


@dataclass(frozen=True)
class Column:
    """A column of the table in the terminal: key of the row, heading, format, alignment by type."""

    key: str
    heading: str
    form: str = ""

    def text(self, row: Row) -> str:
        """Write the value of one row."""
        value = row.get(self.key)
        if value is None:
            return "-"
        scaled = self.key == "silicon_cycles" and is_scaled(row)
        return f"{'~' if scaled else ''}{format(value, self.form)}"


def is_scaled(row: Row) -> bool:
    """Say whether a row's time on silicon is in proportion from another number of iterations."""
    return row.get("silicon_iterations") not in (None, row.get("iterations"))


@dataclass(frozen=True)
class Study:
    """One experiment.

    Attributes
    ----------
    name, title, question
        Name on the command line; heading of its table and figure; what it answers.
    points
        Gives the points for a machine, fewer or shorter ones when quick.
    measure
        Turns a machine and a point into a row; must be a module's function, since processes share it.
    columns, group
        What the terminal shows, and the column whose values part the table.
    finding
        Says in sentences what the rows show, from the rows alone.
    named_by
        Keys of the columns that tell the rows of a group apart; a message about a row names it by them.
    """

    name: str
    title: str
    question: str
    points: Callable[[Machine, bool], list[Any]]
    measure: Callable[[Machine, Any], Row]
    columns: tuple[Column, ...]
    group: Column
    finding: Callable[[list[Row]], list[str]]
    named_by: tuple[str, ...] = ("mode", "cluster")

    def row_name(self, row: Row) -> str:
        """Name a row in a message: its group, then the columns that tell it apart."""
        shown = {column.key: column for column in (self.group, *self.columns)}
        keys = [key for key in (self.group.key, *self.named_by) if key in shown]
        return ", ".join(f"{shown[key].heading} {shown[key].text(row)}" for key in keys)


@cache
def model_error(kind: str = "") -> float:
    """Give the error that nine in ten of the set-aside points of the shipped dataset stay within [ratio].

    Where no set-aside points are scored, the training points stand for them.

    Parameters
    ----------
    kind
        Group of points that the question is about, for example ``memory hbm``; its error counts if it is
        larger than that of all points.
    """
    groups = error_summary().groups
    for score in ("set aside", "training"):
        if score in groups:
            return max(groups[name]["p90"] for name in (score, f"{score}: {kind}") if name in groups)
    return UNCALIBRATED_ERROR


def within_error(ratio: float, row: Row) -> str:
    """Say behind a ratio of two times, where it is so, that the model's error may explain it."""
    error = row["model_error"]
    return f" (within the model's error of {error:.0%})" if max(ratio, 1 / ratio) - 1 <= error else ""


def is_measured(machine: Machine) -> bool:
    """Say whether the machine is the preset that the dataset's part was compared with."""
    return machine.name == error_summary().preset


def against_silicon(rows: Iterable[Row]) -> list[str]:
    """Say how far the times are from measured ones, each work once; nothing without any."""
    known = [row for row in rows if row["cycles"] and row["silicon_cycles"]]
    pairs = {row["work_hash"]: (row["cycles"], row["silicon_cycles"]) for row in known}
    if not pairs:
        return []
    errors = sorted(((mine - theirs) / min(mine, theirs) for mine, theirs in pairs.values()), key=abs)
    typical, worst = median(map(abs, errors)), errors[-1]
    text = (
        f"Against an H200 at {len(pairs)} of these points: the simulated time is off by {typical:.0%} in the "
        f"median, by {worst:+.0%} at worst; simulated differences below {abs(worst):.0%} may be error."
    )
    if any(map(is_scaled, known)):
        text += " A time behind ~ is in proportion from another number of iterations."
    short = [row for row in known if (row.get("silicon_iterations") or 0) > SHORT * row.get("iterations", 0)]
    if short:
        least = min(short, key=lambda row: row["iterations"])
        text += (
            f" {len(short)} of them run as few as {least['iterations']} iterations beside measured ones of "
            f"{least['silicon_iterations']}: the start of a loop weighs more in them."
        )
    return [text]


def case_row(machine: Machine, case: Case, work: Work | None = None, *, silicon: bool = True) -> Row:
    """Simulate a case and give what studies tell about it.

    Parameters
    ----------
    machine, case
        What to simulate.
    work
        The work, where it is not the one that the case describes; it has no measured time then.
    silicon
        Look the case up among what was measured.

    Returns
    -------
    Row
        Fields of the case, then figures in bytes and SM cycles; figures are None, and ``status`` says why,
        where the machine cannot run it.
    """
    row: Row = {
        "machine": machine.name,
        "sms_of_chip": machine.sm_count,
        "cycles_per_second": machine.cycles_per_second,
        "provisional": machine.provisional_count,
        "memory": case.memory,
        "mode": case.mode,
        "way": MODE_NAMES[case.mode],
        "cluster": case.cluster,
        "tile_bytes": case.tile_bytes,
        "boxes": case.boxes,
        "stages": case.stages,
        "ring": f"{case.stages} x {case.boxes}",
        "iterations": case.iterations,
        "bytes_per_cta": case.bytes_per_cta,
        "model_error": model_error(ERROR_KINDS[case.memory]),
        "status": "ok",
    }
    try:
        result = simulate(machine, work or build_case(case))
    except (InputError, IllegalWorkError) as error:
        return row | dict.fromkeys(_FIGURES) | {"status": str(error)}
    # What distinct tiles could gain from merging is no part of their idea.
    figures = _figures(result)
    kind = "unmerged" if case.mode == "unicast_distinct" else "merged"
    measured = silicon_run(case) if silicon and work is None and is_measured(machine) else None
    cycles, iterations = measured if measured is not None else (None, None)
    beside = {"silicon_cycles": cycles, "silicon_iterations": iterations}
    return row | figures | {"bound_cycles": figures[f"bound_{kind}_cycles"]} | beside


_COLUMNS = (
    "work_hash",
    "ctas",
    "sms_used",
    "cycles",
    "delivered_bytes",
    "chip_bytes_per_cycle",
    "used_sm_bytes_per_cycle",
    "chip_sm_bytes_per_cycle",
    "limiter",
    "limiter_share",
    "bound_merged_cycles",
    "bound_merged_link",
    "bound_unmerged_cycles",
    "bound_unmerged_link",
)
"""Columns of a run's row that studies keep."""
_COUNTERS = {
    "l2_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2_hits": "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
    "l2_misses": "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum",
    "fabric_sectors": "lts__t_sectors_srcunit_ltcfabric.sum",
    "dram_bytes": "dram__bytes_read.sum",
}
_FIGURES = (*_COLUMNS, "microseconds", *_COUNTERS, "bound_cycles", "silicon_cycles", "silicon_iterations")


def _figures(result: Result) -> Row:
    row = result_row(result)
    return {
        **{name: row[name] for name in _COLUMNS},
        "microseconds": result.seconds * 1e6,
        **{name: result.counters.get(counter, 0) for name, counter in _COUNTERS.items()},
    }
