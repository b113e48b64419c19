"""Every operation of a program with its place and its enclosing loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from hoppersim.errors import InputError
from hoppersim.program.operations import Exit, For, Operation
from hoppersim.program.work import Program, Role

MOST_NESTED = 32
"""Loops that may lie in each other; a kernel has three or four."""


class Visit(NamedTuple):
    """One operation: `path` is its field inside the program, `loops` its loops from the outermost."""

    path: str
    role: Role
    operation: Operation
    loops: tuple[For, ...]

    @property
    def loop_names(self) -> tuple[str, ...]:
        """Names of the enclosing loops."""
        return tuple(loop.name for loop in self.loops)


def walk(program: Program) -> Iterator[Visit]:
    """Yield every operation of every role, a loop before its body.

    Raises
    ------
    InputError
        If more than `MOST_NESTED` loops lie in each other.
    """
    for number, role in enumerate(program.roles):
        yield from _walk(f"roles[{number}]", role, role.body, ())


def walk_performed(program: Program) -> Iterator[Visit]:
    """Yield, as `walk` does, the operations that are performed: none comes behind an `Exit`."""
    for number, role in enumerate(program.roles):
        yield from _walk(f"roles[{number}]", role, performed(role.body), ())


def performed(body: Iterable[Operation]) -> tuple[Operation, ...]:
    """Cut a body behind its first `Exit`; a loop around one makes a single trip."""
    kept: list[Operation] = []
    for operation in body:
        if isinstance(operation, For):
            inner = performed(operation.body)
            kept.append(replace(operation, n=1, body=inner) if _leaves(inner) else operation)
        else:
            kept.append(operation)
        if _leaves(kept[-1:]):
            break
    return tuple(kept)


def _leaves(body: Sequence[Operation]) -> bool:
    """Tell whether a body that was cut ends with an `Exit`."""
    last = body[-1] if body else None
    return _leaves(last.body) if isinstance(last, For) else isinstance(last, Exit)


def role_runs_on(role: Role, rank: int) -> bool:
    """Tell whether a role runs on a cluster rank."""
    return not role.ranks or rank in role.ranks


def _walk(path: str, role: Role, body: Iterable[Operation], loops: tuple[For, ...]) -> Iterator[Visit]:
    if len(loops) > MOST_NESTED:
        rule = f"at most {MOST_NESTED} loops lie in each other"
        raise InputError(f"program.{path.split('.')[0]}", role.name, rule, f"{MOST_NESTED} loops")
    for number, operation in enumerate(body):
        here = f"{path}.body[{number}]"
        yield Visit(here, role, operation, loops)
        if isinstance(operation, For):
            yield from _walk(here, role, operation.body, (*loops, operation))
