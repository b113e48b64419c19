"""Operands as C++: constants, values fixed at entry, and running values that loops advance."""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import Affine, For, Operand, Operation

Tables = dict[tuple[int, ...], str]
"""Names of the tables by rank, by their values."""


def affines_of(operation: Operation) -> Iterator[Affine]:
    """Yield the affine operands of one operation, without those of a loop's body."""
    for field in operation.__struct_fields__:
        value = getattr(operation, field)
        for part in value if field == "coordinates" else (value,):
            if isinstance(part, Affine):
                yield part


def reduced(operand: Affine) -> Affine:
    """Bring base, coefficients and steps into 0 <= x < wrap, where there is a wrap."""
    steps = {name: step for name, step in operand.loops.items() if step}
    if not operand.wrap:
        return Affine(operand.base, operand.cluster, operand.rank, operand.by_rank, steps)
    wrap = operand.wrap
    return Affine(
        operand.base % wrap,
        operand.cluster % wrap,
        operand.rank % wrap,
        tuple(value % wrap for value in operand.by_rank),
        {name: step % wrap for name, step in steps.items() if step % wrap},
        wrap,
    )


def stepped_by(loop: For) -> list[Affine]:
    """List the operands inside a loop that advance with it."""
    found: dict[str, Affine] = {}

    def visit(body: tuple[Operation, ...], name: str) -> None:
        for operation in body:
            for operand in affines_of(operation):
                short = reduced(operand)
                if name in short.loops:
                    found[operand_key(short)] = short
            if isinstance(operation, For) and operation.name != name:
                visit(operation.body, name)

    visit(loop.body, loop.name)
    return list(found.values())


def operand_key(operand: Affine) -> str:
    """Give a text that is equal for equal operands."""
    return repr(reduced(operand))


class Values:
    """Names the C++ variables of one role that hold operands.

    Entry values are collected in `entry` while the body is written; `tables` holds tables by rank.
    """

    def __init__(self, prefix: str, tables: Tables) -> None:
        self.prefix = prefix
        self.tables = tables
        self.entry: list[str] = []
        self._names: dict[str, str] = {}

    def text(self, operand: Operand, running: dict[str, str]) -> str:
        """Write the value of an operand where the loops in `running` are open.

        Parameters
        ----------
        operand
            What to write.
        running
            Variables of the operands that an open loop advances, by operand key.
        """
        if isinstance(operand, int):
            return str(operand)
        key = operand_key(operand)
        return running[key] if key in running else self.entry_value(operand)

    def entry_value(self, operand: Affine) -> str:
        """Give the variable, or the constant, of the operand's value with all loops at 0."""
        short = reduced(operand)
        short = Affine(short.base, short.cluster, short.rank, short.by_rank, {}, short.wrap)
        if not (short.cluster or short.rank or short.by_rank):
            return str(short.base)
        key = repr(short)
        if key not in self._names:
            name = f"{self.prefix}{len(self._names)}"
            self._names[key] = name
            self.entry.append(f"const int {name} = {self._formula(short)};")
        return self._names[key]

    def _formula(self, operand: Affine) -> str:
        terms = [str(operand.base)] if operand.base else []
        if operand.by_rank:
            terms.append(f"{self._table(operand.by_rank)}[rank]")
        if operand.rank:
            terms.append(f"{operand.rank} * (int)rank" if not operand.wrap else f"{operand.rank}ull * rank")
        if operand.cluster:
            terms.append(
                f"{operand.cluster} * (int)cluster" if not operand.wrap else f"{operand.cluster}ull * cluster"
            )
        total = " + ".join(terms)
        return f"(int)(({total}) % {operand.wrap}u)" if operand.wrap else total

    def _table(self, values: tuple[int, ...]) -> str:
        return self.tables.setdefault(values, f"by_rank{len(self.tables)}")


def step_text(operand: Affine, loop: str, variable: str) -> str:
    """Write the advance of a running value: an increment, then a compare-and-reset."""
    advance = f"{variable} += {operand.loops[loop]};"
    if operand.wrap:
        advance += f" if ({variable} >= {operand.wrap}) {variable} -= {operand.wrap};"
    return advance
