"""Works printed as pseudo code: one operation a line, loops indented, masks in binary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hoppersim.program.operations import (
    Affine,
    Arrive,
    BulkCopy,
    Compute,
    Exit,
    ExpectTx,
    Fence,
    For,
    LocalRead,
    Operand,
    Operation,
    RemoteLoad,
    RemoteStore,
    Stamp,
    StAsync,
    StoreWait,
    Sync,
    TmaLoad,
    TmaStore,
    Wait,
)
from hoppersim.program.work import Flow, Launch, Program, Role, TensorMap, Work
from hoppersim.units import format_bytes

_INDENT = "  "


def format_work(work: Work) -> str:
    """Print a work: launch, memory, barriers, and the body of each role.

    Examples
    --------
    >>> from hoppersim.program import Arrive, Barrier, Role, make_work
    >>> print(
    ...     format_work(make_work("hello", (Role("r", (Arrive("b", to=3),)),), barriers=(Barrier("b", 1),)))
    ... )
    program hello
      launch: grid fill, cluster 1x1x1, 1 warm launch
      barrier b: 1 arrival
      role r (1 warp, one lane):
        arrive b at 0b11
    """
    return "\n".join(line for flow in work.flows for line in _flow(flow))


def format_operation(operation: Operation) -> str:
    """Print one operation on one line; of a loop, its head."""
    match operation:
        case Wait(barrier, phase, form):
            parity = phase if isinstance(phase, str) else f"parity {format_operand(phase)}"
            return f"wait {barrier} {parity}" + (" by polling" if form == "test" else "")
        case Arrive(barrier, to, release):
            return f"arrive {barrier}{_at(to)}{_release(release)}"
        case ExpectTx(barrier, count, to, arrive, release):
            head = "arrive and expect" if arrive else "expect"
            return f"{head} {barrier} {format_operand(count)} B{_at(to)}{_release(release)}"
        case TmaLoad(name, coordinates, buffer, barrier, offset, mask):
            target = f"{buffer}{_plus(offset)}{_at(mask)}"
            return f"tma_load {name}[{_list(coordinates)}] -> {target}, completes {barrier}"
        case TmaStore(name, coordinates, buffer, offset):
            return f"tma_store {buffer}{_plus(offset)} -> {name}[{_list(coordinates)}]"
        case StoreWait(pending, read):
            return f"store_wait until {pending} pending" + (" (source read)" if read else "")
        case BulkCopy(source, destination, count, rank, barrier, first, second):
            target = f"{destination}{_plus(second)} of rank {format_operand(rank)}"
            return f"bulk_copy {count} B {source}{_plus(first)} -> {target}, completes {barrier} there"
        case _:
            return _format_other(operation)


def _format_other(operation: Operation) -> str:
    """Print the operations without a barrier, and loops."""
    match operation:
        case RemoteLoad(buffer, rank, count, width, unroll):
            return f"remote_ld {count} B of {buffer} at rank {format_operand(rank)}, {width} B x {unroll}"
        case RemoteStore(buffer, rank, count, width, unroll):
            return f"remote_st {count} B to {buffer} at rank {format_operand(rank)}, {width} B x {unroll}"
        case StAsync(buffer, rank, count, barrier, width):
            target = f"{buffer} at rank {format_operand(rank)}"
            return f"st_async {count} B to {target}, {width} B each, completes {barrier} there"
        case LocalRead(buffer, times, width):
            return f"local_read {buffer} x {times}, {width} B each"
        case Compute(cycles):
            return f"compute {format_operand(cycles)} cycles"
        case Sync(scope, form):
            return f"sync {scope}" + (" relaxed" if form == "relaxed" else "")
        case Fence(kind):
            return f"fence {kind}"
        case Stamp(name):
            return f"stamp {name}"
        case For(n, _, stages, name):
            return f"for {name} in 0..{n - 1}" + (f", ring of {stages} stages:" if stages > 1 else ":")
        case Exit():
            return "exit"
    raise AssertionError(operation)


def format_operand(operand: Operand) -> str:
    """Print an operand as a formula of `cluster`, `rank` and the names of loops."""
    if isinstance(operand, int):
        return str(operand)
    terms = [str(operand.base)] if operand.base else []
    if operand.by_rank:
        terms.append(f"[{', '.join(map(str, operand.by_rank))}][rank]")
    named = {"cluster": operand.cluster, "rank": operand.rank, **operand.loops}
    terms += [name if step == 1 else f"{step} * {name}" for name, step in named.items() if step]
    text = " + ".join(terms).replace("+ -", "- ") or "0"
    return f"({text}) mod {operand.wrap}" if operand.wrap else text


def format_mask(mask: Operand) -> str:
    """Print a set of cluster ranks: in binary where it is a table or a constant."""
    if isinstance(mask, int):
        return f"0b{mask:b}"
    if mask == Affine(by_rank=mask.by_rank):
        return f"[{', '.join(f'0b{part:b}' for part in mask.by_rank)}][rank]"
    return f"mask {format_operand(mask)}"


def _flow(flow: Flow) -> Iterator[str]:
    program = flow.program
    yield f"program {program.name}"
    yield f"{_INDENT}launch: {_launch(flow.launch)}"
    for line in _declarations(program, flow.launch):
        yield _INDENT + line
    for role in program.roles:
        yield f"{_INDENT}role {role.name} ({_role(role)}):"
        yield from _body(role.body, 2)


def _launch(launch: Launch) -> str:
    parts = [f"grid {launch.grid}", f"cluster {'x'.join(map(str, launch.cluster))}"]
    parts.append(f"{_count(launch.warm, 'warm launch')}" if launch.warm else "cold L2")
    if launch.sms.gpcs:
        parts.append(f"GPCs {_list(launch.sms.gpcs)}")
    if launch.sms.per_gpc:
        spread = ", one of each TPC first" if launch.sms.spread else ""
        parts.append(f"{_count(launch.sms.per_gpc, 'SM')} of each GPC{spread}")
    if launch.skew != 0:
        parts.append(f"skew {format_operand(launch.skew)} cycles")
    return ", ".join(parts)


def _declarations(program: Program, launch: Launch) -> Iterator[str]:
    for memory in launch.allocations:
        yield f"memory {memory.name}: {format_bytes(memory.bytes)}" + _plus(memory.base)
    for item in program.maps:
        yield f"map {item.name}: {_map(item)}"
    for buffer in program.buffers:
        yield f"buffer {buffer.name}: {format_bytes(buffer.bytes)}{_stages(buffer.stages)}"
    for barrier in program.barriers:
        yield f"barrier {barrier.name}: {_count(barrier.count, 'arrival')}{_stages(barrier.stages)}"
    if program.without:
        yield f"without {', '.join(program.without)}"


def _map(item: TensorMap) -> str:
    dims, box = ("x".join(map(str, part)) for part in (item.dims, item.box))
    swizzle = f", swizzle {item.swizzle}" if item.swizzle else ""
    tensor = f"{dims} of {item.element_bytes} B on {item.allocation}"
    return f"{tensor}, box {box} = {format_bytes(item.box_bytes)}{swizzle}"


def _role(role: Role) -> str:
    width = {"lane": "one lane", "warp": "whole warp", "warps": "all threads"}[role.width]
    ranks = f", ranks {_list(role.ranks)}" if role.ranks else ""
    return f"{_count(role.warps, 'warp')}, {width}{ranks}"


def _body(body: Iterable[Operation], depth: int) -> Iterator[str]:
    for operation in body:
        yield _INDENT * depth + format_operation(operation)
        if isinstance(operation, For):
            yield from _body(operation.body, depth + 1)


def _at(mask: Operand | None) -> str:
    return "" if mask is None else f" at {format_mask(mask)}"


def _release(release: str) -> str:
    return "" if release == "cta" else f", release {release}"


def _plus(offset: Operand) -> str:
    return "" if offset == 0 else f" + {format_operand(offset)}"


def _stages(stages: int) -> str:
    return f", {stages} stages" if stages > 1 else ""


def _list(items: Iterable[Operand]) -> str:
    return ", ".join(format_operand(item) for item in items)


def _count(count: int, noun: str) -> str:
    plural = "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}" + (plural if count != 1 else "")
