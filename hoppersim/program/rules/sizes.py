"""Limits of size: within them all other rules can count, and a run fits what simulates it."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, prod

from hoppersim.machine.addresses import MOST_BYTES, PAGE_BYTES
from hoppersim.program.operations import Affine, For
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.registry import Finding, rule
from hoppersim.program.walk import Visit
from hoppersim.program.work import Barrier, Buffer

MOST_CTAS, MOST_IN_CLUSTER = 2**31 - 1, 32
MOST_TRIPS, MOST_STAGES, MOST_VALUES = 2**40, 2**15, 2**24
MOST_SUM, MOST_OPERATIONS = 2**60, 2**15


@rule(
    "HS-LA-009",
    "A work is of a size that a GPU could run and that can be counted.",
    "CUDA C++ Programming Guide, compute capabilities; and what a simulation can hold",
    turn="first",
    needed=True,
)
def sizes(context: Context) -> Iterator[Finding]:
    """Check grid, cluster, memory, stages and trips against limits far beyond any kernel: slips of the pen.

    Example: ``{name = "data", bytes = 4611686018427387904}``: no GPU has 4 EiB of memory.

    Fix: the size that was meant.
    """
    yield from _launch(context)
    held: dict[str, tuple[Buffer | Barrier, ...]] = {
        "buffers": context.program.buffers,
        "barriers": context.program.barriers,
    }
    for field, items in held.items():
        for number, item in enumerate(items):
            yield from _stages(f"program.{field}[{number}]", item.stages)
    if len(context.visits) > MOST_OPERATIONS:
        rule_text = f"a program has at most {MOST_OPERATIONS} operations"
        yield Finding("program.roles", len(context.visits), rule_text, MOST_OPERATIONS)
        return
    for visit in context.visits:
        if isinstance(visit.operation, For):
            yield from _loop(visit, visit.operation)
        for field in visit.operation.__struct_fields__:
            value = getattr(visit.operation, field)
            for operand in value if field == "coordinates" else (value,):
                if isinstance(operand, Affine):
                    yield from _operand(f"{visit.path}.{field}", visit, operand)


def _launch(context: Context) -> Iterator[Finding]:
    launch = context.launch
    if launch.cluster_size > MOST_IN_CLUSTER:
        yield Finding("launch.cluster", launch.cluster, "a cluster has at most 16 CTAs", 16)
    if isinstance(launch.grid, int) and launch.grid > MOST_CTAS:
        yield Finding("launch.grid", launch.grid, "a grid has at most 2^31 - 1 CTAs", MOST_CTAS)
    held = 0
    for number, item in enumerate(launch.allocations):
        pages = -(-(max(0, item.base) + max(0, item.bytes)) // PAGE_BYTES)
        held += pages * PAGE_BYTES
        if held > MOST_BYTES:
            rule_text = f"the allocations take at most {MOST_BYTES} bytes in whole pages of 2 MiB"
            nearest = max(1, item.bytes - (held - MOST_BYTES))
            yield Finding(f"launch.allocations[{number}].bytes", item.bytes, rule_text, nearest)
            return


def _stages(path: str, stages: int) -> Iterator[Finding]:
    if stages > MOST_STAGES:
        rule_text = f"a ring has at most {MOST_STAGES} stages: an SM has no room for more barriers"
        yield Finding(f"{path}.stages", stages, rule_text, MOST_STAGES)


def _loop(visit: Visit, loop: For) -> Iterator[Finding]:
    yield from _stages(visit.path, loop.stages)
    outer = prod(max(1, around.n) for around in visit.loops)
    if outer <= MOST_TRIPS < outer * loop.n:
        rule_text = "loops in each other make at most 2^40 trips together"
        yield Finding(f"{visit.path}.n", loop.n, rule_text, MOST_TRIPS // outer)


def _operand(path: str, visit: Visit, operand: Affine) -> Iterator[Finding]:
    """Check what loops add to an operand, and through how many values they take it."""
    values = 1
    for loop in visit.loops:
        step = operand.loops.get(loop.name, 0)
        if abs(step) * loop.n > MOST_SUM:
            rule_text = "a loop adds at most 2^60 in all"
            yield Finding(f"{path}.loops.{loop.name}", step, rule_text, MOST_SUM // loop.n)
            return
        if step:
            period = operand.wrap // gcd(step, operand.wrap) if operand.wrap > 0 else loop.n
            values *= min(loop.n, period)
    if values > MOST_VALUES:
        rule_text = "loops take an operand through at most 2^24 values"
        yield Finding(path, values, rule_text, "a wrap, or fewer trips")
