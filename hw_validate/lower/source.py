"""The whole kernel of a flow: prologue, roles as warp ranges, stamps, epilogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hoppersim.program.operations import BulkCopy, StAsync, TmaLoad
from hoppersim.program.work import Flow, Program, Role, SmSet
from hw_validate.lower.context import Names, RoleContext
from hw_validate.lower.layout import (
    HEADER_WORDS, WARP_WORDS, Layout, lay_out, meets_widely, stage_stride, stores, wait_sites, walk,
)  # fmt: skip
from hw_validate.lower.names import identifiers
from hw_validate.lower.operands import Values
from hw_validate.lower.statements import write_body
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


def kernel_source(flow: Flow, options: Options = Options()) -> str:
    """Write the CUDA C++ text of a flow's kernel `flow`, with the wrappers that it uses.

    The text compiles by itself. With the macro VERIFY_DATA, roles check the data that they wait for.
    """
    kernel = kernel_text(flow, options)
    switch = "#ifdef VERIFY_DATA\nconstexpr bool CHECK = true;\n#else\nconstexpr bool CHECK = false;\n#endif\n"
    return f"{limit_text(options)}{switch}{needed(kernel)}\n{kernel}"


def limit_text(options: Options) -> str:
    """Write the limit of waits as a constant."""
    return f"constexpr unsigned long long WAIT_LIMIT = {options.wait_limit};  // SM cycles\n"


def kernel_text(flow: Flow, options: Options = Options(), head: str = 'extern "C"') -> str:
    """Write the kernel without the wrappers; `head` comes before it and must leave CHECK defined."""
    layout = lay_out(flow)
    program = flow.program
    names = Names(
        identifiers((buffer.name for buffer in program.buffers), upper=True),
        identifiers((barrier.name for barrier in program.barriers), upper=True, suffix="_BAR"),
        {item.name: place for place, item in enumerate(program.maps)},
    )
    tables: dict[tuple[int, ...], str] = {}
    skew = Values("skew", tables)
    delay = skew.text(flow.launch.skew, {})
    roles = _roles(flow, layout, names, tables, options, delay)
    entry = _prologue(flow, layout, names)
    lines = [
        *_constants(program, layout, names),
        *(f"__constant__ int {name}[] = {{{', '.join(map(str, row))}}};" for row, name in tables.items()),
        f"struct Params {{ TensorMap map[{max(1, len(program.maps))}]; Launched to; }};",
        f"{head} __global__ void __launch_bounds__({layout.threads}, 1) flow(const __grid_constant__ Params p) {{",
        *(f"    {line}" for line in (*entry, *skew.entry, *roles, *_epilogue(program))),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _constants(program: Program, layout: Layout, names: Names) -> list[str]:
    lines = []
    for buffer in program.buffers:
        name = names.buffers[buffer.name]
        place, stride = layout.buffers[buffer.name], stage_stride(buffer.bytes)
        lines.append(f"constexpr u32 {name}_AT = {place}, {name}_STRIDE = {stride};")
    lines += [f"constexpr u32 {names.barriers[item.name]} = {layout.barriers[item.name]};" for item in program.barriers]
    return lines


def _prologue(flow: Flow, layout: Layout, names: Names) -> list[str]:
    program, size = flow.program, flow.launch.cluster_size
    lines = [
        "extern __shared__ __align__(1024) unsigned char memory[];",
        "const u32 smem = shared_address(memory), rank = cluster_rank();",
        "const u32 warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);",
    ]
    if flow.launch.sms == SmSet():
        lines.append("const u32 cluster = cluster_number();")
    else:
        lines.append(f"const u32 cluster = join(p.to, smem + {layout.scratch}, rank, {size});")
        lines.append("if (cluster == ~0u) return;")
    lines.append(f"u64* const record = p.to.out + (cluster * {size} + rank) * {layout.record_words}ull;")
    lines.append("if (threadIdx.x == 0) {")
    lines.append("    record[0] = 1ull << 32 | sm_number();")
    if "init" not in program.without:
        for barrier in program.barriers:
            name = names.barriers[barrier.name]
            each = f"barrier_init(smem + {name} + 8 * s, {barrier.count});"
            lines.append(f"    for (u32 s = 0; s < {barrier.stages}; ++s) {each}")
    if "init_fence" not in program.without:
        lines.append("    fence_mbarrier_init();")
    lines += [f"    prefetch_map(&p.map[{place}]);" for place in range(len(program.maps))]
    lines.append("}")
    data = sum(stage_stride(buffer.bytes) * buffer.stages for buffer in program.buffers)
    if data:
        lines.append(f"if (CHECK) poison(smem, {data}), fence_proxy_async();")
    if "entry_sync" in program.without:
        return [*lines, "sync_cta();"]
    return [*lines, "cluster_arrive();", "cluster_wait();"]


def _epilogue(program: Program) -> list[str]:
    return [] if "exit_sync" in program.without else ["cluster_arrive();", "cluster_wait();"]


def guarded_buffers(program: Program) -> dict[str, tuple[str, ...]]:
    """Say which buffers' data the phases of a barrier announce."""
    found: dict[str, dict[str, None]] = {}
    for role in program.roles:
        for operation in walk(role.body):
            if isinstance(operation, TmaLoad | StAsync):
                found.setdefault(operation.barrier, {})[operation.buffer] = None
            elif isinstance(operation, BulkCopy):
                found.setdefault(operation.barrier, {})[operation.destination] = None
    return {barrier: tuple(buffers) for barrier, buffers in found.items()}


def _roles(
    flow: Flow, layout: Layout, names: Names, tables: dict[tuple[int, ...], str], options: Options, delay: str
) -> list[str]:
    program, lines = flow.program, []
    sites = [site.role for site in wait_sites(program)]
    gone = options.idle == "gone" or meets_widely(program)
    for number, role in enumerate(program.roles):
        context = RoleContext(
            program, role, number, layout, names, Values("a", tables), guarded_buffers(program), sites.index(role.name)
            if role.name in sites else 0,
        )  # fmt: skip
        lines += _role(context, delay, gone)
        lines[-1] += " else" if number + 1 < len(program.roles) else ""
    return lines


def _role(context: RoleContext, delay: str, gone: bool) -> list[str]:
    role, number = context.role, context.number
    body = write_body(context, role.body)
    if len(role.body) > 1:  # a jump to the end may not pass declarations
        body = ["{", *(f"    {line}" for line in body), "}"]
    many, first = role.width != "lane", context.layout.first_warp[role.name]
    stamps = [f"stamp{place} = 0" for place, key in enumerate(context.layout.stamps) if key[0] == role.name]
    variables = [*(text for ring in context.rings for text in ring.declarations()), *stamps]
    work = [
        *([f"const u32 thread = threadIdx.x - {32 * first};"] if many else []),
        *context.values.entry,
        *([f"u32 {', '.join(variables)};"] if variables else []),
        *([f"spin({delay});"] if delay != "0" else []),
        "Report report = begin();",
        *body,
        f"end{number}: finish{'_warps' if many else ''}(report, record + {HEADER_WORDS} + {WARP_WORDS} * warp);",
        *_after(context),
    ]
    last = first + role.warps
    where = f"warp == {first}" if role.warps == 1 else f"warp >= {first} && warp < {last}"
    lines = [f"if ({where}) {{  // role {role.name}"]
    if condition := _works(role, first):
        work = [f"if ({condition}) {{", *(f"    {line}" for line in work), "}" + (" else leave();" if gone else "")]
    return [*lines, *(f"    {line}" for line in work), "}"]


def _works(role: Role, first: int) -> str:
    """Write the condition under which a thread of the role's warps has work; empty where all have."""
    terms = []
    if role.ranks:
        terms.append(f"({sum(1 << rank for rank in set(role.ranks)):#x}u >> rank & 1)")
    if role.width == "lane":
        terms += [f"warp == {first}"] if role.warps > 1 else []
        terms.append("elect()")
    return " && ".join(terms)


def _after(context: RoleContext) -> list[str]:
    """Write what follows a role's end stamp: the drain of its stores, and leaving after a failed wait."""
    program = context.program
    lines = []
    if stores(context.role) and "drain" not in program.without:
        lines.append(context.issue("store_wait<0>();"))
    if meets_widely(program):
        lines.append("if (report.status) leave();")
    return lines
