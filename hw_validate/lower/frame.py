"""What surrounds the roles of a kernel: places in shared memory, prologue, epilogue."""

from __future__ import annotations

from hoppersim.program.operations import BulkCopy, StAsync, TmaLoad, Wait
from hoppersim.program.work import Flow, Program, SmSet
from hw_validate.lower.context import Names
from hw_validate.lower.layout import Layout, stage_stride, walk

SETTLE_CYCLES = 20_000
_BUFFER_FIELDS = ("buffer", "source", "destination")


def constants(program: Program, layout: Layout, names: Names) -> list[str]:
    """Write the places of barriers, and of the buffers that the program uses."""
    used = {
        getattr(op, part, None) for role in program.roles for op in walk(role.body) for part in _BUFFER_FIELDS
    }
    parts = []
    for buffer in (item for item in program.buffers if item.name in used):
        name = names.buffers[buffer.name]
        stride = f", {name}_STRIDE = {stage_stride(buffer.bytes)}" if buffer.stages > 1 else ""
        parts.append(f"{name}_AT = {layout.buffers[buffer.name]}{stride}")
    parts += [f"{names.barriers[item.name]} = {layout.barriers[item.name]}" for item in program.barriers]
    return [f"constexpr u32 {', '.join(parts)};"] if parts else []


def prologue(flow: Flow, layout: Layout, names: Names) -> list[str]:
    """Write what runs before the roles: who am I, barriers, tensor maps, the cluster's sync."""
    program, size = flow.program, flow.launch.cluster_size
    lines = [
        "extern __shared__ __align__(1024) unsigned char memory[];",
        "const u32 smem = shared_address(memory), rank = cluster_rank();",
    ]
    number = "cluster_number()"
    if flow.launch.sms != SmSet():
        number = f"join(p.to, smem + {layout.scratch}, rank, {size})"
    lines.append(f"const u32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), cluster = {number};")
    if flow.launch.sms != SmSet():
        lines.append("if (cluster == ~0u) return;")
    lines.append(f"u64* const record = p.to.out + (cluster * {size} + rank) * {layout.record_words}ull;")
    lines += ["if (threadIdx.x == 0) {", *(f"    {line}" for line in _first_thread(program, names)), "}"]
    data = sum(stage_stride(buffer.bytes) * buffer.stages for buffer in program.buffers)
    if data:
        lines.append(f"if (CHECK) poison(smem, {data}), fence_proxy_async();")
    if "entry_sync" in program.without:
        return [*lines, "sync_cta();"]
    return [*lines, "cluster_arrive(), cluster_wait();"]


def _first_thread(program: Program, names: Names) -> list[str]:
    """Write what one thread of a CTA prepares."""
    lines = []
    for barrier in program.barriers if "init" not in program.without else ():
        each = f"barrier_init(smem + {names.barriers[barrier.name]} + 8 * s, {barrier.count});"
        lines.append(f"for (u32 s = 0; s < {barrier.stages}; ++s) {each}")
    last = ["fence_mbarrier_init()"] if "init_fence" not in program.without else []
    last += [f"prefetch_map(&p.map[{place}])" for place in range(len(program.maps))]
    return [*lines, f"{', '.join((*last, 'record[0] = 1ull << 32 | sm_number()'))};"]


def epilogue(program: Program) -> list[str]:
    """Write what runs after the roles: CTAs leave together, and not before data on their way have arrived."""
    if "exit_sync" in program.without:
        return []
    settles = "drain" not in program.without and _has_unawaited_data(program)
    settle = (
        [f"spin({SETTLE_CYCLES});  // data that no role waits for may still be under way"] if settles else []
    )
    return [*settle, "cluster_arrive(), cluster_wait();"]


def _has_unawaited_data(program: Program) -> bool:
    """Say whether data arrive at a barrier on which no role waits."""
    operations = [operation for role in program.roles for operation in walk(role.body)]
    awaited = {operation.barrier for operation in operations if isinstance(operation, Wait)}
    return bool(guarded_buffers(program).keys() - awaited)


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
