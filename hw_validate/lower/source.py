"""The whole kernel of a flow as CUDA C++ text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hoppersim.program.work import Flow
from hw_validate.lower.context import Names
from hw_validate.lower.frame import constants, epilogue, prologue
from hw_validate.lower.layout import lay_out
from hw_validate.lower.names import identifiers
from hw_validate.lower.operands import Tables, Values
from hw_validate.lower.roles import write_roles
from hw_validate.lower.wrappers import needed

WAIT_LIMIT = 20_000_000
"""SM cycles after which a wait gives up, so that a hang is a result."""


@dataclass(frozen=True)
class Options:
    """How a flow is lowered where the program leaves it open.

    Parameters
    ----------
    idle
        Threads without work leave at once (`gone`) or wait at the end (`parked`). Programs in which roles
        meet across warps always use `gone`.
    wait_limit
        SM cycles after which a wait gives up.
    """

    idle: Literal["gone", "parked"] = "gone"
    wait_limit: int = WAIT_LIMIT


DEFAULT_OPTIONS = Options()


def kernel_source(flow: Flow, options: Options = DEFAULT_OPTIONS) -> str:
    """Write the CUDA C++ text of a flow's kernel `flow`, with the wrappers that it uses.

    The text compiles by itself. With the macro VERIFY_DATA, roles check the data that they wait for.
    """
    kernel = kernel_text(flow, options)
    switch = (
        "#ifdef VERIFY_DATA\nconstexpr bool CHECK = true;\n#else\nconstexpr bool CHECK = false;\n#endif\n"
    )
    return f"{limit_text(options)}{switch}{needed(kernel)}\n{kernel}"


def limit_text(options: Options) -> str:
    """Write the limit of waits as a constant."""
    return f"constexpr unsigned long long WAIT_LIMIT = {options.wait_limit};  // SM cycles\n"


def kernel_text(flow: Flow, options: Options = DEFAULT_OPTIONS, head: str = 'extern "C"') -> str:
    """Write the kernel without the wrappers; `head` comes before it and must leave CHECK defined."""
    layout, program = lay_out(flow), flow.program
    names = Names(
        identifiers((buffer.name for buffer in program.buffers), upper=True),
        identifiers((barrier.name for barrier in program.barriers), upper=True, suffix="_BAR"),
        {item.name: place for place, item in enumerate(program.maps)},
    )
    tables: Tables = {}
    skew = Values("skew", tables)
    delay = skew.text(flow.launch.skew, {})
    roles = write_roles(flow, layout, names, tables, options.idle == "gone", delay)
    body = [*prologue(flow, layout, names), *skew.entry, *roles, *epilogue(program)]
    bounds = f"__launch_bounds__({layout.threads}, 1)"
    lines = [
        *constants(program, layout, names),
        *(f"__constant__ int {name}[] = {{{', '.join(map(str, row))}}};" for row, name in tables.items()),
        f"struct Params {{ TensorMap map[{max(1, len(program.maps))}]; Launched to; }};",
        f"{head} __global__ void {bounds} flow(const __grid_constant__ Params p) {{",
        *(f"    {line}" for line in body),
        "}",
    ]
    return "\n".join(lines) + "\n"
