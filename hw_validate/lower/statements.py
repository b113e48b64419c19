"""Every operation as C++ statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hoppersim.program.operands import mask_ranks
from hoppersim.program.operations import (
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
)  # fmt: skip
from hw_validate.lower.context import Ring, RoleContext
from hw_validate.lower.layout import STAMPS_KEPT
from hw_validate.lower.operands import operand_key, step_text, stepped_by

CHECK_FACTOR = 31
"""Factor by which the check of data advances from one tile to the next."""


def write_body(role: RoleContext, body: tuple[Operation, ...]) -> list[str]:
    """Write a body, one line a statement; the lines of a loop's body are indented."""
    lines: list[str] = []
    for operation in body:
        lines += _WRITERS[type(operation)](role, operation)
    return lines


def write_loop(role: RoleContext, loop: For) -> list[str]:
    """Write a loop with its ring and its running values."""
    ring = Ring(loop, len(role.rings))
    role.rings.append(ring)
    outer, counter = role.running, f"i{ring.number}"
    advancing = [(operand, f"v{ring.number}_{place}") for place, operand in enumerate(stepped_by(loop))]
    lines = [f"int {name} = {role.values.text(operand, outer)};" for operand, name in advancing]
    role.running = outer | {operand_key(operand): name for operand, name in advancing}
    role.open.append(ring)
    body = write_body(role, loop.body)
    role.open.pop()
    role.running = outer
    body += [step_text(operand, loop.name, name) for operand, name in advancing]
    body += _advance(ring)
    lines.append(f'_Pragma("unroll 1") for (u32 {counter} = 0; {counter} < {loop.n}; ++{counter}) {{')
    return [*lines, *(f"    {line}" for line in body), "}"]


def _advance(ring: Ring) -> list[str]:
    """Write the ring's step to its next stage."""
    flip = f"{ring.phase} ^= 1;" if ring.uses_phase else ""
    if ring.loop.stages == 1:
        return [flip] if flip else []
    if not (ring.uses_stage or ring.uses_phase):
        return []
    return [f"if (++{ring.stage} == {ring.loop.stages}) {{ {ring.stage} = 0; {flip} }}"]


def _wait(role: RoleContext, wait: Wait) -> list[str]:
    site = role.first_site + role.sites
    role.sites += 1
    ring = role.ring(role.program.barrier(wait.barrier).stages)
    if wait.phase == "full":
        parity = ring.phase if ring else "0"
    elif wait.phase == "free":
        parity = f"{ring.phase} ^ 1" if ring else "1"
    else:
        parity = role.value(wait.phase)
    stage = role.stage(role.program.barrier(wait.barrier).stages)
    at = f"i{role.open[-1].number}" if role.open else "0"
    bail = f"hung(report, {site}, {stage}, {parity}, {at}); goto end{role.number};"
    lines = [f"if (!wait_{wait.form}({role.barrier(wait.barrier)}, {parity})) {{ {bail} }}"]
    return lines + (_checks(role, wait.barrier) if wait.phase == "full" else [])


def _checks(role: RoleContext, barrier: str) -> list[str]:
    """Write the check of the data that a completed phase announces (in the verifying build only)."""
    lines = []
    for name in role.guarded.get(barrier, ()):
        size = role.program.buffer(name).bytes
        weigh = f"weigh<{size}, {role.threads}>({role.buffer(name)}, {role.thread})"
        lines.append(f"if (CHECK) report.check = report.check * {CHECK_FACTOR} + {weigh};")
    if lines and role.role.width != "lane":
        lines.append(f"if (CHECK) sync_role({role.number + 1}, {role.threads});")
    return lines


def _to_ranks(role: RoleContext, to: Operand, barrier: str, call: Callable[[str], str]) -> list[str]:
    """Write a remote operation for each rank of a mask: straight code if it is constant, else a loop."""
    if isinstance(to, int):
        ranks = mask_ranks(to)
        if len(ranks) > 2 and ranks == tuple(range(ranks[0], ranks[-1] + 1)):
            each = role.issue(call(f"in_rank({barrier}, r)"))
            return [f'_Pragma("unroll") for (u32 r = {ranks[0]}; r < {ranks[-1] + 1}; ++r) {each}']
        return [role.issue(call(f"in_rank({barrier}, {rank})")) for rank in ranks]
    there = call(f"in_rank({barrier}, __ffs(mask) - 1)")
    return [role.issue(f"for (u32 mask = {role.value(to)}; mask; mask &= mask - 1) {there}")]


def _arrive(role: RoleContext, arrive: Arrive) -> list[str]:
    barrier = role.barrier(arrive.barrier)
    if arrive.to is None:
        return [role.issue(f"arrive_{arrive.release}({barrier});")]
    return _to_ranks(role, arrive.to, barrier, lambda bar: f"arrive_remote_{arrive.release}({bar});")


def _expect_tx(role: RoleContext, expect: ExpectTx) -> list[str]:
    barrier, size = role.barrier(expect.barrier), role.value(expect.bytes)
    place = "" if expect.to is None else "_remote"
    name = f"arrive_expect{place}_{expect.release}" if expect.arrive else f"expect{place}"
    if expect.to is None:
        return [role.issue(f"{name}({barrier}, {size});")]
    return _to_ranks(role, expect.to, barrier, lambda bar: f"{name}({bar}, {size});")


def _tma_load(role: RoleContext, load: TmaLoad) -> list[str]:
    rank = len(load.coordinates)
    coordinates = ", ".join(role.value(part) for part in load.coordinates)
    target = role.buffer(load.buffer, load.offset)
    target += f", &p.map[{role.names.maps[load.map]}], {role.barrier(load.barrier)}"
    if load.mask is None:
        return [role.issue(f"tma_load_{rank}d({target}, {coordinates});")]
    return [role.issue(f"tma_multicast_{rank}d({target}, {role.value(load.mask)}, {coordinates});")]


def _tma_store(role: RoleContext, store: TmaStore) -> list[str]:
    coordinates = ", ".join(role.value(part) for part in store.coordinates)
    source = f"{role.buffer(store.buffer, store.offset)}, &p.map[{role.names.maps[store.map]}]"
    call = f"tma_store_{len(store.coordinates)}d({source}, {coordinates});"
    return [role.issue(f"{{ {call} store_commit(); }}")]


def _store_wait(role: RoleContext, wait: StoreWait) -> list[str]:
    return [role.issue(f"store_wait{'_read' if wait.read else ''}<{wait.pending}>();")]


def _bulk_copy(role: RoleContext, copy: BulkCopy) -> list[str]:
    rank = role.value(copy.rank)
    target = f"in_rank({role.buffer(copy.destination, copy.destination_offset)}, {rank})"
    source = role.buffer(copy.source, copy.source_offset)
    barrier = f"in_rank({role.barrier(copy.barrier)}, {rank})"
    return [role.issue(f"bulk_copy({target}, {source}, {copy.bytes}, {barrier});")]


def _remote_load(role: RoleContext, load: RemoteLoad) -> list[str]:
    shape = f"{load.width}, {load.unroll}, {load.bytes}, {role.threads}"
    source = f"in_rank({role.buffer(load.buffer)}, {role.value(load.rank)})"
    return [f"report.sum += remote_load<{shape}>({source}, {role.thread});"]


def _remote_store(role: RoleContext, store: RemoteStore) -> list[str]:
    shape = f"{store.width}, {store.unroll}, {store.bytes}, {role.threads}"
    target = f"in_rank({role.buffer(store.buffer)}, {role.value(store.rank)})"
    return [f"remote_store<{shape}>({target}, {role.thread});"]


def _st_async(role: RoleContext, store: StAsync) -> list[str]:
    rank = role.value(store.rank)
    target = f"in_rank({role.buffer(store.buffer)}, {rank}), in_rank({role.barrier(store.barrier)}, {rank})"
    return [f"store_async<{store.width}, {store.bytes}, {role.threads}>({target}, {role.thread});"]


def _local_read(role: RoleContext, read: LocalRead) -> list[str]:
    size = role.program.buffer(read.buffer).bytes
    shape = f"{read.width}, {size}, {role.threads}"
    call = f"report.sum += local_read<{shape}>({role.buffer(read.buffer)}, {role.thread});"
    return [call if read.times == 1 else f'_Pragma("unroll 1") for (u32 k = 0; k < {read.times}; ++k) {call}']


def _compute(role: RoleContext, compute: Compute) -> list[str]:
    return [f"spin({role.value(compute.cycles)});"]


def _sync(role: RoleContext, sync: Sync) -> list[str]:
    if sync.scope == "warp":
        return [] if role.role.width == "lane" else ["sync_warp();"]
    if sync.scope == "role":
        return [] if role.role.width == "lane" else [f"sync_role({role.number + 1}, {role.threads});"]
    if sync.scope == "cta":
        return ["sync_cta();"]
    return [f"cluster_arrive{'_relaxed' if sync.form == 'relaxed' else ''}();", "cluster_wait();"]


def _fence(_: RoleContext, fence: Fence) -> list[str]:
    return [f"fence_{fence.kind}();"]


def _stamp(role: RoleContext, stamp: Stamp) -> list[str]:
    offset = role.layout.stamp_offset(role.role.name, stamp.name)
    name = f"stamp{role.layout.stamps.index((role.role.name, stamp.name))}"
    first = "" if role.role.width == "lane" else "thread == 0 && "
    return [f"if ({first}{name} < {STAMPS_KEPT}) record[{offset + 1} + {name}] = cycle();", f"++{name};"]


def _exit(role: RoleContext, _: Exit) -> list[str]:
    return [f"goto end{role.number};"]


_WRITERS: dict[type, Callable[[RoleContext, Any], list[str]]] = {
    Arrive: _arrive,
    BulkCopy: _bulk_copy,
    Compute: _compute,
    Exit: _exit,
    ExpectTx: _expect_tx,
    Fence: _fence,
    For: write_loop,
    LocalRead: _local_read,
    RemoteLoad: _remote_load,
    RemoteStore: _remote_store,
    StAsync: _st_async,
    Stamp: _stamp,
    StoreWait: _store_wait,
    Sync: _sync,
    TmaLoad: _tma_load,
    TmaStore: _tma_store,
    Wait: _wait,
}
