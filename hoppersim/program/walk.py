"""Every operation of a program with its place and its enclosing loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hoppersim.program.operations import For, Operation
from hoppersim.program.work import Program, Role


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
    """Yield every operation of every role, a loop before its body."""
    for number, role in enumerate(program.roles):
        yield from _walk(f"roles[{number}]", role, role.body, ())


def role_runs_on(role: Role, rank: int) -> bool:
    """Tell whether a role runs on a cluster rank."""
    return not role.ranks or rank in role.ranks


def _walk(path: str, role: Role, body: Iterable[Operation], loops: tuple[For, ...]) -> Iterator[Visit]:
    for number, operation in enumerate(body):
        here = f"{path}.body[{number}]"
        yield Visit(here, role, operation, loops)
        if isinstance(operation, For):
            yield from _walk(here, role, operation.body, (*loops, operation))
