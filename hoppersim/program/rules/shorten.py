"""The first rounds of a program: enough to see what happens in all of them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hoppersim.program.operations import (
    Arrive,
    BulkCopy,
    Exit,
    ExpectTx,
    For,
    Operation,
    RemoteLoad,
    RemoteStore,
    StAsync,
    Sync,
    TmaLoad,
    Wait,
)
from hoppersim.program.work import Program

ROUNDS = 3
_RELEVANT = (Wait, Arrive, ExpectTx, TmaLoad, BulkCopy, StAsync, RemoteLoad, RemoteStore, Sync, Exit)


def shortened(program: Program) -> Program:
    """Cut the main loops to the first rounds of their rings, where all roles have the same main loop."""
    mains = [[op for op in role.body if isinstance(op, For) and matters(op)] for role in program.roles]
    shapes = {(loop.n, loop.stages) for main in mains for loop in main}
    if len(shapes) != 1 or any(len(main) > 1 for main in mains):
        return program
    trips, stages = shapes.pop()
    least = min(trips, ROUNDS * stages + trips % stages)
    roles = tuple(
        msgspec.structs.replace(
            role,
            body=tuple(
                msgspec.structs.replace(op, n=least) if any(op is loop for loop in main) else op
                for op in role.body
            ),
        )
        for role, main in zip(program.roles, mains, strict=True)
    )
    return msgspec.structs.replace(program, roles=roles)


def _flat(body: tuple[Operation, ...]) -> Iterator[Operation]:
    for operation in body:
        yield operation
        if isinstance(operation, For):
            yield from _flat(operation.body)


def matters(loop: For) -> bool:
    """Tell whether a loop does anything that other roles or barriers notice."""
    return any(isinstance(operation, _RELEVANT) for operation in _flat(loop.body))
