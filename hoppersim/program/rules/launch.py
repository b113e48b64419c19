"""Rules of the launch: what the hardware would refuse to start."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hoppersim.errors import InputError
from hoppersim.machine import require_launchable, select_sms
from hoppersim.program.operands import operand_faults
from hoppersim.program.operations import Affine
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.registry import Finding, rule
from hoppersim.program.work import Program, SmSet

_GUIDE = "CUDA C++ Programming Guide, thread block clusters"
MOST_CLUSTER = 16
_PAGE = 2 * 2**20
_WARP = 32


@rule("HS-LA-001", "A cluster has 1 to 16 CTAs and fits one GPC of the part.", _GUIDE, needed=True)
def cluster_size(context: Context) -> Iterator[Finding]:
    """Check the cluster; its CTAs run at the same time inside one GPC.

    Example: ``cluster = [32, 1, 1]``; or 16 on a part whose largest GPC has 14 SMs.

    Fix: use the largest cluster that fits; 8 is portable to every Hopper part.
    """
    shape, size = context.launch.cluster, context.launch.cluster_size
    if min(shape) < 1:
        nearest = tuple(max(1, extent) for extent in shape)
        yield Finding("launch.cluster", shape, "every extent of a cluster is at least 1", nearest)
    elif size > MOST_CLUSTER:
        yield Finding("launch.cluster", shape, f"a cluster of {size} CTAs is larger than 16", MOST_CLUSTER)
    elif context.machine:
        yield from _refused(context, size, 0, _WARP)


@rule("HS-LA-002", "A grid is a positive multiple of the cluster.", _GUIDE, needed=True)
def grid(context: Context) -> Iterator[Finding]:
    """Check the grid; clusters are started whole.

    Example: ``grid = 132`` with clusters of 16.

    Fix: ``grid = 128``, or ``fill``.
    """
    count, size = context.launch.grid, context.cluster_size
    if isinstance(count, int) and (count < 1 or count % size):
        nearest = max(1, count // size) * size
        yield Finding(
            "launch.grid", count, f"a grid is a positive multiple of the cluster of {size}", nearest
        )


@rule(
    "HS-LA-003",
    "A CTA fits an SM: shared memory and threads.",
    "CUDA C++ Programming Guide, compute capabilities",
    needed=True,
)
def cta_resources(context: Context) -> Iterator[Finding]:
    """Check what one CTA needs against what one SM has.

    Example: 8 stages of 32 KiB are 256 KiB of shared memory; an H100 gives a CTA at most 227 KiB.

    Fix: 7 stages, or smaller boxes.
    """
    if context.machine:
        for finding in _refused(context, 1, context.program.shared_bytes, max(1, context.program.threads)):
            yield _with_stages(context.program, finding)


@rule(
    "HS-LA-004",
    "Some cluster has all its SMs among those that may take part.",
    "Definition of `SmSet`",
    needed=True,
)
def sms(context: Context) -> Iterator[Finding]:
    """Check the chosen SMs; a cluster with any CTA elsewhere exits at once.

    Example: ``per_gpc = 4`` with clusters of 8.

    Fix: let more SMs take part, or use smaller clusters.
    """
    chosen, machine = context.launch.sms, context.machine
    if machine is None or chosen == SmSet():
        return
    try:
        select_sms(machine.floorplan, chosen.gpcs, chosen.per_gpc, chosen.spread)
    except InputError as error:
        yield Finding(error.field, error.value, error.rule, error.nearest)
        return
    if 1 <= context.launch.cluster_size <= MOST_CLUSTER and not list(
        _refused(context, context.cluster_size, 0, _WARP)
    ):
        yield from _refused(context, context.cluster_size, 0, _WARP, chosen)


@rule(
    "HS-LA-005",
    "A start skew is not negative, and neither are warm-up launches and the seed.",
    "Definition of `Launch`",
    needed=True,
)
def skew(context: Context) -> Iterator[Finding]:
    """Check delays; a CTA can be held back, not started before the launch.

    Example: ``skew = {rank = -100}``.

    Fix: delay the other ranks instead.
    """
    delay = context.launch.skew
    faults = list(operand_faults(delay, (), context.cluster_size))
    for below, value, rule_text, nearest in faults:
        yield Finding(f"launch.skew.{below}", value, rule_text, nearest)
    if not faults:
        least = min(context.first_value(delay, rank) for rank in range(context.cluster_size))
        if least < 0 or (isinstance(delay, Affine) and delay.cluster < 0 and not delay.wrap):
            yield Finding("launch.skew", least, "a skew is 0 SM cycles or more", 0)
    if context.launch.warm < 0:
        yield Finding("launch.warm", context.launch.warm, "the number of warm-up launches is 0 or more", 0)
    if context.launch.seed < 0:
        yield Finding("launch.seed", context.launch.seed, "a seed is 0 or more", 0)


@rule(
    "HS-LA-006",
    "An allocation has at least one byte and starts inside its first 2 MiB page.",
    "Definition of `Allocation`",
    needed=True,
)
def allocations(context: Context) -> Iterator[Finding]:
    """Check the allocations; `base` is the offset from a 2 MiB boundary.

    Example: ``{name = "data", bytes = 0}``.

    Fix: give it the size of the tensors on it.
    """
    for number, item in enumerate(context.launch.allocations):
        field = f"launch.allocations[{number}]"
        if item.bytes < 1:
            yield Finding(f"{field}.bytes", item.bytes, "an allocation has at least one byte", 1)
        if not 0 <= item.base < _PAGE:
            nearest = min(max(item.base, 0), _PAGE - 1)
            yield Finding(f"{field}.base", item.base, "a base lies from 0 to below 2 MiB", nearest)


@rule(
    "HS-LA-007",
    "Roles own whole warps, one for a lane or a warp, on ranks of the cluster.",
    "Definition of `Role`",
    needed=True,
)
def roles(context: Context) -> Iterator[Finding]:
    """Check the roles of a CTA.

    Example: ``ranks = [2]`` in clusters of 2: no CTA would run the role.

    Fix: name ranks from 0 to the cluster's size less one.
    """
    if not context.program.roles:
        yield Finding("program.roles", (), "a program has at least one role")
    for number, role in enumerate(context.program.roles):
        field = f"program.roles[{number}]"
        if role.warps < 1 or (role.width != "warps" and role.warps != 1):
            rule_text = (
                "a role has at least one warp"
                if role.warps < 1
                else f"a role of width {role.width} is one warp"
            )
            yield Finding(f"{field}.warps", role.warps, rule_text, 1)
        for rank in role.ranks:
            if not 0 <= rank < context.cluster_size:
                nearest = min(max(rank, 0), context.cluster_size - 1)
                yield Finding(
                    f"{field}.ranks", rank, f"a rank lies from 0 to {context.cluster_size - 1}", nearest
                )


@rule(
    "HS-LA-008",
    "Sizes and counts of shared memory and loops are positive.",
    "Definition of the language",
    needed=True,
)
def counts(context: Context) -> Iterator[Finding]:
    """Check buffers, stages and trip counts.

    Example: ``{op = "for", n = 0, body = []}``.

    Fix: leave the loop out, or run it once.
    """
    for number, buffer in enumerate(context.program.buffers):
        for name, value in (("bytes", buffer.bytes), ("stages", buffer.stages)):
            if value < 1:
                yield Finding(f"program.buffers[{number}].{name}", value, "must be at least 1", 1)
    for visit in context.visits:
        for name in ("n", "stages", "times", "unroll"):
            value = getattr(visit.operation, name, 1)
            if value < 1:
                yield Finding(f"{visit.path}.{name}", value, "must be at least 1", 1)


def _with_stages(program: Program, finding: Finding) -> Finding:
    """Add to a limit of shared memory how many stages of the longest ring it holds, if any."""
    stages = max((item.stages for item in program.buffers), default=1)
    if finding.field != "program.shared_bytes" or not isinstance(finding.nearest, int):
        return finding
    buffers = tuple(replace(item, stages=1) for item in program.buffers if item.stages == stages)
    barriers = tuple(replace(item, stages=1) for item in program.barriers if item.stages == stages)
    stage = replace(program, buffers=buffers, barriers=barriers).shared_bytes
    most = stages - -(-(program.shared_bytes - finding.nearest) // stage) if stage else 0
    hint = f"at most {most} stages" if most > 0 else "fewer or smaller buffers"
    return finding._replace(nearest=f"{finding.nearest}, {hint}")


def _refused(
    context: Context, size: int, shared: int, threads: int, chosen: SmSet | None = None
) -> Iterator[Finding]:
    """Ask the machine whether it would launch; give its reason if not."""
    machine = context.machine
    assert machine is not None
    try:
        allowed = None
        if chosen is not None:
            allowed = select_sms(machine.floorplan, chosen.gpcs, chosen.per_gpc, chosen.spread)
        require_launchable(machine, size, shared, threads, allowed)
    except InputError as error:
        yield Finding(error.field, error.value, error.rule, error.nearest)
