"""Roles as ranges of warps: who works, stamps, body, report."""

from __future__ import annotations

from hoppersim.program.work import Flow, Program, Role
from hw_validate.lower.context import Names, RoleContext
from hw_validate.lower.frame import guarded_buffers
from hw_validate.lower.layout import HEADER_WORDS, WARP_WORDS, Layout, meets_widely, stores, wait_sites
from hw_validate.lower.operands import Tables, Values
from hw_validate.lower.statements import write_body


def write_roles(
    flow: Flow, layout: Layout, names: Names, tables: Tables, gone: bool, delay: str
) -> list[str]:
    """Write all roles as one chain of conditions on the warp.

    Parameters
    ----------
    flow, layout, names, tables
        What is lowered, where its parts lie, what they are called, tables by rank so far.
    gone
        Threads without work leave at once.
    delay
        Start skew of the CTA in cycles, as C++.
    """
    program = flow.program
    sites = [site.role for site in wait_sites(program)]
    guarded = guarded_buffers(program)
    lines: list[str] = []
    if rest := _without_roles(program, flow.launch.cluster_size):
        lines = [f"if ({rest:#x}u >> rank & 1) {{  // no role here, but peers may reach this CTA", "}"]
    for number, role in enumerate(program.roles):
        first_site = sites.index(role.name) if role.name in sites else 0
        values = Values("a", tables)
        context = RoleContext(program, role, number, layout, names, values, guarded, first_site)
        part = _role(context, delay, gone or meets_widely(program))
        lines += [f"{lines.pop()} else {part[0]}", *part[1:]] if lines else part
    return lines


def _without_roles(program: Program, size: int) -> int:
    """Give the mask of the ranks on which no role runs."""
    used = {rank for role in program.roles for rank in role.ranks or range(size)}
    return sum(1 << rank for rank in range(size) if rank not in used)


def _role(context: RoleContext, delay: str, gone: bool) -> list[str]:
    """Write one role: who runs it, its variables, stamps around its body."""
    role, number = context.role, context.number
    body = write_body(context, role.body)
    if len(role.body) > 1:  # a jump to the end may not pass declarations
        body = ["{", *(f"    {line}" for line in body), "}"]
    many, first = role.width != "lane", context.layout.first_warp[role.name]
    stamps = [f"stamp{place} = 0" for place, key in enumerate(context.layout.stamps) if key[0] == role.name]
    variables = [*(text for ring in context.rings for text in ring.declarations()), *stamps]
    variable_text = f"u32 {', '.join(variables)}; " if variables else ""
    work = [
        *([f"const u32 thread = threadIdx.x - {32 * first};"] if many else []),
        *context.values.entry,
        *([f"spin({delay});"] if delay != "0" else []),
        f"{variable_text}Report report = begin();",
        *body,
        f"end{number}: finish(report, record + {HEADER_WORDS} + {WARP_WORDS} * warp, {str(many).lower()});",
        *_after(context),
    ]
    last = first + role.warps
    where = f"warp == {first}" if role.warps == 1 else f"warp >= {first} && warp < {last}"
    lines = [f"if ({where}) {{  // role {role.name}"]
    if (condition := _works(role, first)) and gone:
        work.insert(0, f"if (!({condition})) return;")
    elif condition:
        work = [f"if ({condition}) {{", *(f"    {line}" for line in work), "}"]
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
    """Write what follows a role's end: counts of stamps, drain of stores, leaving after a failed wait."""
    program, role = context.program, context.role
    first = "" if role.width == "lane" else "if (thread == 0) "
    lines = [
        f"{first}record[{context.layout.stamp_offset(*key)}] = stamp{place};"
        for place, key in enumerate(context.layout.stamps)
        if key[0] == role.name
    ]
    if stores(role) and "drain" not in program.without:
        lines.append(context.issue("store_wait<0>();"))
    if meets_widely(program):
        lines.append("if (report.status) return;")
    return lines
