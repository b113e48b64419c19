"""The rules that a work must keep, checked before it runs: all violations at once, each with its code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from hoppersim.machine import Machine
from hoppersim.program.rules import accesses, barriers, exits, launch, masks, operations, sizes, tensor_maps
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.registry import RULES, Finding, Rule, Turn, Violation, explain_code, rule
from hoppersim.program.work import Work


def check(work: Work, machine: Machine | None = None) -> list[Violation]:
    """Find all violations of a work.

    A flow whose sizes cannot be counted with is looked at no further, and rules that follow the program's
    course run only for flows that break no other rule.

    Parameters
    ----------
    work
        The work.
    machine
        The machine that it is to run on; None leaves out what depends on one.

    Returns
    -------
    list of Violation
        Empty for a legal work.

    Raises
    ------
    InputError
        If loops lie in each other so deep that they cannot be followed.
    """
    return _check(work, machine, list(RULES.values()))


def check_needed(work: Work, machine: Machine) -> list[Violation]:
    """Find, as `check` does, what keeps a work from being simulated at all, hangs and races left aside."""
    return _check(work, machine, [entry for entry in RULES.values() if entry.needed])


def _check(work: Work, machine: Machine | None, rules: list[Rule]) -> list[Violation]:
    found: list[Violation] = []
    for number, flow in enumerate(work.flows):
        context = Context(flow, machine)
        turns = (list(_violations(context, number, rules, turn)) for turn in get_args(Turn))
        found += next(filter(None, turns), [])
    return found


def _violations(context: Context, number: int, rules: list[Rule], turn: Turn) -> Iterator[Violation]:
    for entry in rules:
        if entry.turn == turn:
            for finding in entry.checker(context):
                yield Violation(entry.code, f"flows[{number}].{finding.field}", *finding[1:])


_FAMILIES = (sizes, tensor_maps, launch, barriers, masks, operations, accesses, exits)

__all__ = [
    "RULES",
    "Context",
    "Finding",
    "Rule",
    "Violation",
    "check",
    "check_needed",
    "explain_code",
    "rule",
]
