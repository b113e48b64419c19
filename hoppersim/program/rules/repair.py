"""Which single change of a wait lets a program that stops go on: its phase, or one more wait."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Literal, NamedTuple

from msgspec.structs import replace

from hoppersim.program.operations import BulkCopy, ExpectTx, For, Operation, StAsync, TmaLoad, Wait
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.diagnosis import place, runs_through
from hoppersim.program.rules.registry import Finding
from hoppersim.program.walk import Visit
from hoppersim.program.work import Program

MOST_TRIED = 24
"""Changes that are tried, each by following the program's course once more."""
MOST_VISITS, MOST_FOLLOWED = 500, 20_000
"""Operations of a program, and of its course, that this is not too slow for."""
Phase = Literal["full", "free"]
_BRINGING = (TmaLoad, BulkCopy, StAsync)


class Repair(NamedTuple):
    """A change that mends a program: the field below the flow, its value, what is wrong, what to do."""

    field: str
    value: object
    text: str
    fix: str

    def finding(self, rule: str) -> Finding:
        """Report what goes wrong by where it can be mended."""
        return Finding(self.field, self.value, f"{rule}: {self.text}", self.fix)


def find_repair(context: Context) -> Repair | None:
    """Find the first change of one wait with which all roles come to their end.

    Parameters
    ----------
    context
        A flow whose course stops, or runs a phase ahead of its waits.
    """
    if len(context.visits) > MOST_VISITS or context.course.followed > MOST_FOLLOWED:
        return None
    changes = islice(chain(_other_phases(context), _further_waits(context)), MOST_TRIED)
    return next((repair for repair, program in changes if runs_through(context, program)), None)


def _other_phases(context: Context) -> Iterator[tuple[Repair, Program]]:
    """Yield the program with the phase of each wait that is not the usual one turned into it."""
    for visit in context.visits:
        wait = visit.operation
        usual = _usual_phase(context, visit)
        if isinstance(wait, Wait) and isinstance(wait.phase, str) and wait.phase != usual:
            text = f"{place(visit)} waits for the wrong phase of {wait.barrier}"
            changed = _changed(context.program, visit.path, replace(wait, phase=usual))
            yield Repair(f"{visit.path}.phase", wait.phase, text, usual), changed


def _usual_phase(context: Context, visit: Visit) -> Phase:
    """Give the phase that a role waits for: ``full`` where others let data come, else ``free``."""
    name = getattr(visit.operation, "barrier", "")
    own = {type(other.operation) for other in _on_barrier(context, name) if other.role is visit.role}
    brought = any(isinstance(other.operation, _BRINGING) for other in _on_barrier(context, name))
    return "full" if brought and not own & {ExpectTx, *_BRINGING} else "free"


def _on_barrier(context: Context, name: str) -> Iterator[Visit]:
    return (visit for visit in context.visits if getattr(visit.operation, "barrier", None) == name)


def _further_waits(context: Context) -> Iterator[tuple[Repair, Program]]:
    """Yield the program with one more wait at the start of each loop, for a barrier that it leaves out."""
    for visit in context.visits:
        loop = visit.operation
        if not isinstance(loop, For):
            continue
        used = {getattr(operation, "barrier", None) for operation in loop.body}
        for barrier in context.program.barriers:
            if barrier.name in used or barrier.stages != loop.stages:
                continue
            wait = Wait(barrier.name)
            phase = _usual_phase(context, visit._replace(operation=wait))
            text = f"loop {loop.name} of role {visit.role.name} never waits for {barrier.name}"
            fix = f'{{op = "wait", barrier = "{barrier.name}", phase = "{phase}"}} as its first operation'
            changed = replace(loop, body=(replace(wait, phase=phase), *loop.body))
            yield (
                Repair(f"{visit.path}.body", visit.role.name, text, fix),
                _changed(context.program, visit.path, changed),
            )


def _changed(program: Program, path: str, new: Operation) -> Program:
    """Put an operation in the place of that at a path."""
    number, *places = map(int, re.findall(r"\[(\d+)\]", path))
    role = program.roles[number]
    changed = replace(role, body=_changed_body(role.body, places, new))
    return replace(program, roles=(*program.roles[:number], changed, *program.roles[number + 1 :]))


def _changed_body(body: tuple[Operation, ...], places: list[int], new: Operation) -> tuple[Operation, ...]:
    at, *below = places
    if below:
        loop = body[at]
        assert isinstance(loop, For)
        new = replace(loop, body=_changed_body(loop.body, below, new))
    return (*body[:at], new, *body[at + 1 :])
