"""The rules that a work must keep, checked before it runs: all violations at once, each with its code."""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.machine import Machine
from hoppersim.program.rules import accesses, barriers, exits, launch, masks, operations, tensor_maps
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.registry import RULES, Finding, Rule, Violation, explain_code, rule
from hoppersim.program.work import Work


def check(work: Work, machine: Machine | None = None) -> list[Violation]:
    """Find all violations of a work.

    Rules that follow the program's course run only for flows that break no other rule.

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
    """
    found: list[Violation] = []
    for number, flow in enumerate(work.flows):
        context = Context(flow, machine)
        plain = list(_violations(context, number, deep=False))
        found += plain or list(_violations(context, number, deep=True))
    return found


def _violations(context: Context, number: int, *, deep: bool) -> Iterator[Violation]:
    for entry in RULES.values():
        if entry.deep is deep:
            for finding in entry.checker(context):
                yield Violation(entry.code, f"flows[{number}].{finding.field}", *finding[1:])


_FAMILIES = (tensor_maps, launch, barriers, masks, operations, accesses, exits)

__all__ = ["RULES", "Context", "Finding", "Rule", "Violation", "check", "explain_code", "rule"]
