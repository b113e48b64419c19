"""What a study is: points, what is measured at each, columns to show, and a finding in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hoppersim.machine.machine import Machine

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
        return "-" if value is None else format(value, self.form)


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
    """

    name: str
    title: str
    question: str
    points: Callable[[Machine, bool], list[Any]]
    measure: Callable[[Machine, Any], Row]
    columns: tuple[Column, ...]
    group: Column
    finding: Callable[[list[Row]], list[str]]


@dataclass(frozen=True)
class MachineRequest:
    """How to load the machine; travels to the processes instead of the machine."""

    preset: str
    overrides: tuple[str, ...] = ()
    floorplan: str | None = None
