"""Operations that send data to another SM or to memory: copies, remote loads and stores, TMA stores."""

from __future__ import annotations

from hoppersim.engine.interface import COPY, REMOTE, STORE, Destination, Transfer
from hoppersim.engine.reach import reach_cta
from hoppersim.engine.roles import RoleRun, Step, Waiting
from hoppersim.program import operations as op
from hoppersim.program.boxes import box_lines
from hoppersim.units import LINE_BYTES, to_ticks

BATCH = 4
"""Loads that the compiler issues before it uses the first of them, however far a loop is unrolled."""


def bind_copy(run: RoleRun, operation: op.BulkCopy, before: int = 0, kind: int = COPY) -> Step:
    """Turn a copy into a step; `before` are the ticks that its thread has already spent on it."""
    ring = run.ring_for(run.flow.flow.program.barrier(operation.barrier).stages)
    rank, issue = run.value(operation.rank), run.cost(operation, "issue")
    follow = run.clockwork.tiles.follower(run, COPY, operation.destination, before + issue)

    def step() -> None:
        run.debt += issue
        target = reach_cta(run, rank(), "a bulk copy")
        if target is not None:
            receiver = (Destination(target.sm, target.barrier(operation.barrier, ring.stage)),)
            size, number = operation.bytes, follow(receiver)
            run.clockwork.inject(
                Transfer(run.time, kind, run.cta.sm, run.order, receiver, 0, size, bytes=size, tile=number)
            )

    return False, step


def bind_st_async(run: RoleRun, operation: op.StAsync) -> Step:
    """Turn asynchronous stores into a step: threads make the packets, which then travel like a copy."""
    copy = op.BulkCopy("", operation.buffer, operation.bytes, operation.rank, operation.barrier)
    count = max(1, operation.bytes // (operation.width * 32 * run.role.warps))
    start = run.cost(operation, "start") if count > 1 else 0
    issue = run.cost(operation, "issue")
    packets = 1 if run.role.width == "lane" else operation.width * 32 // LINE_BYTES
    further = (packets - 1) * run.cost(operation, "packet")
    rest = (count - 1) * run.cost(operation, "next") + count * further
    first = start + issue - run.cost(copy, "issue")
    _, send = bind_copy(run, copy, first, REMOTE)

    def step() -> None:
        run.debt += first
        send()
        run.debt += rest

    return False, step


def bind_store(run: RoleRun, operation: op.TmaStore) -> Step:
    """Turn a TMA store into a step; its group is done when shared memory has been read."""
    tensor = run.flow.flow.program.map(operation.map)
    base = run.flow.address(tensor.allocation)
    coordinates = [run.value(item) for item in operation.coordinates]
    issue = run.cost(operation, "issue")

    def step() -> None:
        run.debt += issue
        box = box_lines(tensor, base, [value() for value in coordinates])
        if box.row_bytes == 0:
            return
        group = run.clockwork.add_barrier(1)
        count = box.row_bytes * box.counts[0] * box.counts[1] * box.counts[2] * box.counts[3]
        run.clockwork.post(group, run.time, 1, -count, run.who)
        run.groups.append(group)
        run.clockwork.inject(
            Transfer(run.time, STORE, run.cta.sm, run.order, (Destination(run.cta.sm, group),), box.address,
                     box.row_bytes, box.counts, box.strides, count)
        )  # fmt: skip

    return False, step


def bind_store_wait(run: RoleRun, operation: op.StoreWait) -> Step:
    """Turn a wait for stores into a step."""
    issue = max(1, run.cost(operation, "issue"))

    def step() -> Waiting:
        yield from run.pay()
        while len(run.groups) > operation.pending:
            group = run.groups.pop(0)
            if not run.clockwork.passed(group, 0):
                run.waiting = (operation, "bulk group", 0, 0)
                since = run.time
                yield run.clockwork.wait(group)
                run.waiting = None
                run.waited += run.time - since
        run.debt += issue

    return True, step


def bind_remote_load(run: RoleRun, operation: op.RemoteLoad) -> Step:
    """Turn loads from a peer's shared memory into a step, which ends when the last byte is there.

    The threads wait for each batch, but not for each other, so the owner sends as fast as they ask.
    """
    rank = run.value(operation.rank)
    issue, following = run.cost(operation, "issue"), run.cost(operation, "next")
    own = _own_access(run, operation, issue)
    together = min(BATCH, operation.unroll)
    batch = operation.width * together * 32 * run.role.warps
    sizes = [min(batch, operation.bytes - start) for start in range(0, operation.bytes, batch)]
    launch = to_ticks(run.flow.machine.spec.tma.copy_launch_latency)
    clockwork = run.clockwork

    def step() -> Waiting:
        yield from run.pay()
        target = reach_cta(run, rank(), "a remote access")
        if target is None:
            return
        if target.sm == run.cta.sm:
            run.waited += own - issue
            run.debt += own
            return
        asked = run.time
        spent = len(sizes) * (issue + (together - 1) * following)
        way = run.flow.path_ticks(run.cta.sm, target.sm)
        group = clockwork.add_barrier(1)
        clockwork.post(group, run.time, 1, -operation.bytes, run.who)
        for size in sizes:
            run.debt += issue + (together - 1) * following
            yield run.settle()
            start = run.time + max(0, way - launch)
            receiver = (Destination(run.cta.sm, group),)
            clockwork.inject(Transfer(start, REMOTE, target.sm, run.order, receiver, 0, size, bytes=size))
            run.debt += 2 * way
        yield from run.pay()
        if not clockwork.passed(group, 0):
            run.waiting = (operation, "remote loads", 0, 0)
            yield clockwork.wait(group)
            run.waiting = None
        run.waited += max(0, run.time - asked - spent)

    return True, step


def bind_remote_store(run: RoleRun, operation: op.RemoteStore) -> Step:
    """Turn stores to a peer's shared memory into a step, which ends when its last packet has left."""
    rank = run.value(operation.rank)
    issue, following = run.cost(operation, "issue"), run.cost(operation, "next")
    threads = 32 * run.role.warps
    rounds = -(-operation.bytes // (threads * operation.width * operation.unroll))
    busy = rounds * (issue + (operation.unroll - 1) * following)
    own = _own_access(run, operation, issue)
    carry = to_ticks(operation.bytes / run.flow.machine.spec.fabric.sm_bytes_per_cycle)
    clockwork = run.clockwork
    under_way: list[int] = []

    def step() -> Waiting:
        yield from run.pay()
        target = reach_cta(run, rank(), "a remote access")
        if target is None:
            return
        if target.sm == run.cta.sm:
            run.debt += own
            return
        if len(under_way) > 1 and not clockwork.passed(under_way[0], 0):
            run.waiting = (operation, "remote stores", 0, 0)
            since = run.time
            yield clockwork.wait(under_way[0])
            run.waiting = None
            run.waited += run.time - since
        group = clockwork.add_barrier(1)
        under_way[:] = [*under_way[-1:], group]
        clockwork.post(group, run.time, 1, -operation.bytes, run.who)
        receiver = (Destination(target.sm, group),)
        size = operation.bytes
        clockwork.inject(Transfer(run.time, REMOTE, run.cta.sm, run.order, receiver, 0, size, bytes=size))
        run.waited += max(0, carry - busy)
        run.debt += max(busy, carry)

    return True, step


def _own_access(run: RoleRun, operation: op.RemoteLoad | op.RemoteStore, issue: int) -> int:
    """Ticks of an access that turns out to reach the CTA's own shared memory."""
    smem = run.flow.machine.spec.smem
    per_round = 32 * run.role.warps * operation.width * operation.unroll
    rounds = -(-operation.bytes // per_round)
    carry = to_ticks(smem.latency + operation.bytes / smem.bytes_per_cycle)
    return issue * rounds * operation.unroll + carry
