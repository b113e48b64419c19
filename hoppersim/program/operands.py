"""Values of operands, and what makes an operand illegal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from hoppersim.errors import InputError
from hoppersim.program.operations import Affine, For, Operand


def evaluate(operand: Operand, cluster: int, rank: int, loops: Mapping[str, int]) -> int:
    """Give the value of an operand in one CTA at one point of its loops.

    Parameters
    ----------
    operand
        A constant or an affine expression.
    cluster
        Number of the CTA's cluster among those that take part.
    rank
        Cluster rank of the CTA.
    loops
        Trip count of every enclosing loop, by name.

    Raises
    ------
    InputError
        If the operand names a loop that does not enclose it, or its table has no entry for `rank`.
    """
    if isinstance(operand, int):
        return operand
    value = operand.base + operand.cluster * cluster + operand.rank * rank
    if operand.by_rank:
        if rank >= len(operand.by_rank):
            raise InputError("by_rank", operand.by_rank, f"the table must have an entry for rank {rank}")
        value += operand.by_rank[rank]
    for name, step in operand.loops.items():
        if name not in loops:
            raise InputError("loops", name, "the loop must enclose the operation", nearest_name(name, loops))
        value += step * loops[name]
    return value % operand.wrap if operand.wrap else value


def operand_faults(
    operand: Operand, loops: Collection[str], cluster_size: int
) -> Iterator[tuple[str, object, str, object]]:
    """Yield (field below the operand, value, rule, nearest legal value) for each rule that it breaks.

    Parameters
    ----------
    operand
        The operand to look at.
    loops
        Names of the enclosing loops.
    cluster_size
        CTAs of a cluster.
    """
    if isinstance(operand, int):
        return
    if operand.wrap < 0:
        yield "wrap", operand.wrap, "a modulus is positive, or 0 for none", -operand.wrap
    if operand.by_rank and len(operand.by_rank) != cluster_size:
        nearest = (operand.by_rank * cluster_size)[:cluster_size]
        rule = f"a table by rank has one entry for each of {cluster_size} ranks"
        yield "by_rank", operand.by_rank, rule, nearest
    for name, step in operand.loops.items():
        if name not in loops:
            yield f"loops.{name}", name, "an operand uses enclosing loops only", nearest_name(name, loops)
        elif operand.wrap > 0 and not 0 <= step < operand.wrap:
            rule = f"a loop step lies from 0 to below the wrap of {operand.wrap}: one subtraction resets it"
            yield f"loops.{name}", step, rule, step % operand.wrap


def constant_value(operand: Operand) -> int | None:
    """Give the value of an operand that is the same everywhere, else None."""
    if isinstance(operand, int):
        return operand
    if operand.cluster or operand.rank or operand.by_rank or any(operand.loops.values()):
        return None
    return operand.base % operand.wrap if operand.wrap else operand.base


def mask_ranks(mask: int) -> tuple[int, ...]:
    """List the cluster ranks whose bits are set in a mask.

    Examples
    --------
    >>> mask_ranks(0b1010)
    (1, 3)
    """
    return tuple(rank for rank in range(mask.bit_length()) if mask >> rank & 1)


def ring_of(stages: int, enclosing: Sequence[For]) -> For | None:
    """Find the loop whose ring drives a buffer or barrier of that many stages: the innermost that fits.

    Parameters
    ----------
    stages
        Stages of the buffer or barrier.
    enclosing
        The enclosing loops, outermost first.
    """
    return next((loop for loop in reversed(enclosing) if loop.stages == stages), None)


def nearest_name(name: str, known: Collection[str]) -> str | None:
    """Suggest the known name that looks most like `name`, if any does."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return close[0] if close else None


__all__ = ["Affine", "constant_value", "evaluate", "mask_ranks", "nearest_name", "operand_faults", "ring_of"]
