"""What each operation does in the simulator. One binder for each operation: data in, a step out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hoppersim.engine.interface import LOAD, MULTICAST, Destination, Transfer
from hoppersim.engine.moves import (
    bind_copy,
    bind_remote_load,
    bind_remote_store,
    bind_st_async,
    bind_store,
    bind_store_wait,
)
from hoppersim.engine.reach import reach_cta
from hoppersim.engine.roles import Ring, RoleExit, RoleRun, Step, Waiting
from hoppersim.program import operations as op
from hoppersim.program.boxes import box_lines
from hoppersim.program.operations import Operation
from hoppersim.program.work import SmSet
from hoppersim.units import LINE_BYTES, TICKS_PER_CYCLE, to_ticks

_REACHING = (op.Arrive, op.ExpectTx, op.TmaLoad, op.BulkCopy, op.StAsync)
_SYNCS = frozenset({"entry_sync", "exit_sync"})


def bind(run: RoleRun, operation: Operation) -> Step:
    """Turn an operation into a step of a role's run."""
    return punctual(run, operation, plain_step(run, operation))


def plain_step(run: RoleRun, operation: Operation) -> Step:
    """Turn an operation into a step that may look at its targets before its thread's time has come."""
    return _BINDERS[type(operation)](run, operation)


def punctual(run: RoleRun, operation: Operation, step: Step) -> Step:
    """Let a step that reaches other CTAs wait for its time, where those may not be there yet or any more."""
    blocking, perform = step
    if blocking or not isinstance(operation, _REACHING) or _SYNCS.isdisjoint(run.flow.flow.program.without):
        return step

    def wait_and_perform() -> Waiting:
        yield from run.pay()
        perform()

    return True, wait_and_perform


def bind_wait(run: RoleRun, operation: op.Wait, notice: Callable[[int, int], None] | None = None) -> Step:
    """Turn a wait into a step; `notice` is called with barrier and parity when it has passed."""
    ring = run.ring_for(run.flow.flow.program.barrier(operation.barrier).stages)
    name, numbers, parity = (
        operation.barrier,
        run.cta.barriers[operation.barrier],
        _parity(run, operation, ring),
    )
    hit, wake = max(1, run.cost(operation, "hit")), max(1, run.cost(operation, "wake"))
    clockwork, poll = run.clockwork, hit if operation.form != "try" else 0
    tiles, landed = clockwork.tiles, clockwork.tiles.landed

    def step() -> Waiting:
        at, phase = ring.stage, parity()
        number = numbers[at]
        while True:
            since = run.time
            if not clockwork.passed(number, phase):
                run.waiting, run.since, run.debt = (operation, name, at, phase), since, 0
                flip = yield clockwork.wait(number, since, poll, wake)
                run.waiting = None
                if flip > since:
                    run.waited += flip - since
                    if number in landed:
                        tiles.go_on(number, flip, since, run.time)
                    break
            elif run.debt:  # it may flip again before the thread comes
                yield run.settle()
            else:
                if number in landed:
                    tiles.go_on(number, clockwork.barriers[number].flipped, since, since + hit)
                run.debt = hit
                break
        if notice is not None:
            notice(number, phase)

    return True, step


def _parity(run: RoleRun, operation: op.Wait, ring: Ring) -> Callable[[], int]:
    if operation.phase == "full":
        return lambda: ring.round & 1
    if operation.phase == "free":
        return lambda: ring.round & 1 ^ 1
    return run.value(operation.phase)


def _bind_arrive(run: RoleRun, operation: op.Arrive) -> Step:
    return _bind_post(run, operation, run.cost(operation, "effect"), 1, lambda: 0)


def _bind_expect(run: RoleRun, operation: op.ExpectTx) -> Step:
    count = run.value(operation.bytes)
    return _bind_post(run, operation, 0, int(operation.arrive), lambda: -count())


def _bind_post(
    run: RoleRun, operation: op.Arrive | op.ExpectTx, effect: int, arrivals: int, data: Callable[[], int]
) -> Step:
    """Turn what reaches a barrier of the own CTA, or of each one of a mask, into a step."""
    name, issue, clockwork = operation.barrier, run.cost(operation, "issue"), run.clockwork
    ring, ranks = run.ring_for(run.flow.flow.program.barrier(name).stages), run.ranks(operation.to)
    own, delay = run.cta.barriers[name], max(1, effect)
    find = 0 if isinstance(operation.to, int | None) else run.flow.cost(f"mask.{run.role.width}.issue")

    def post_own() -> None:
        run.debt += issue
        clockwork.post(own[ring.stage], run.time + delay, arrivals, data(), run.who)

    def post_all() -> None:
        run.debt += find
        for rank in ranks():
            run.debt += issue
            target = reach_cta(run, rank, "a barrier operation")
            if target is not None:
                tick = run.time + max(1, effect + run.path_to(target.sm))
                if target.sm != run.cta.sm:
                    tick = clockwork.arrival_tick(target.sm, tick, run.flow.arrive_interval)
                clockwork.post(target.barriers[name][ring.stage], tick, arrivals, data(), run.who)

    return False, post_own if operation.to is None else post_all


def _bind_load(run: RoleRun, operation: op.TmaLoad) -> Step:
    program = run.flow.flow.program
    tensor = program.map(operation.map)
    base = run.flow.address(tensor.allocation)
    coordinates = [run.value(item) for item in operation.coordinates]
    issue, receivers_of = _load_cost(run, operation), _receivers(run, operation)
    size = tensor.box_bytes
    kind = LOAD if operation.mask is None else MULTICAST
    lines, lines_loaded = -(-size // LINE_BYTES), run.clockwork.lines_loaded
    follow = run.clockwork.tiles.follower(run, kind, operation.map, issue)
    paired = tensor.l2_promotion == 2 * LINE_BYTES
    known: dict[tuple[int, ...], Any] = {}

    def step() -> None:
        run.debt += issue
        place = tuple([value() for value in coordinates])
        box = known.get(place)
        if box is None:
            box = box_lines(tensor, base, place)
            if len(known) < 4096:
                known[place] = box
        receivers = receivers_of()
        if box.row_bytes == 0:
            _deliver_nothing(run, receivers, size)
        elif receivers:
            for receiver in receivers:
                lines_loaded[receiver.sm] += lines
            run.clockwork.inject(
                Transfer(run.time, kind, run.cta.sm, run.order, receivers, box.address, box.row_bytes,
                         box.counts, box.strides, size, follow(receivers), paired)
            )  # fmt: skip

    return False, step


def _load_cost(run: RoleRun, operation: op.TmaLoad) -> int:
    """Ticks of the thread for a load; behind another one, what both need is there already."""
    if not isinstance(run.before, op.TmaLoad):
        return run.cost(operation, "issue")
    steps = any(isinstance(item, op.Affine) and item.wrap and item.loops for item in operation.coordinates)
    return run.cost(operation, "next") + (run.cost(operation, "wrap") if steps else 0)


def _receivers(run: RoleRun, operation: op.TmaLoad) -> Callable[[], tuple[Destination, ...]]:
    """Give a function for who receives a load: the own CTA, or all of a mask that are there."""
    name, ranks = operation.barrier, run.ranks(operation.mask)
    ring = run.ring_for(run.flow.flow.program.barrier(name).stages)
    own = [(Destination(run.cta.sm, number),) for number in run.cta.barriers[name]]

    def of_mask() -> tuple[Destination, ...]:
        number = ring.stage
        targets = [reach_cta(run, rank, "a TMA load") for rank in ranks()]
        return tuple([Destination(cta.sm, cta.barriers[name][number]) for cta in targets if cta])

    return of_mask if operation.mask is not None else lambda: own[ring.stage]


def _deliver_nothing(run: RoleRun, receivers: tuple[Destination, ...], count: int) -> None:
    """A box wholly out of bounds fills SMEM without reading memory; its bytes count all the same."""
    tma = run.flow.machine.spec.tma
    tick = run.time + to_ticks(tma.launch_latency + tma.completion_latency)
    for destination in receivers:
        run.clockwork.post(destination.barrier, tick, 0, count, "fabric")


def _bind_local_read(run: RoleRun, operation: op.LocalRead) -> Step:
    smem = run.flow.machine.spec.smem
    size = run.flow.flow.program.buffer(operation.buffer).bytes
    cycles = smem.latency + operation.times * size / smem.bytes_per_cycle
    issue, data = run.cost(operation, "issue"), to_ticks(cycles)

    def step() -> None:
        run.waited += data
        run.debt += issue + data

    return False, step


def _bind_compute(run: RoleRun, operation: op.Compute) -> Step:
    cycles, issue = run.value(operation.cycles), run.cost(operation, "issue")
    if isinstance(run.before, op.TmaLoad | op.BulkCopy):
        issue += run.cost(operation, "after_tma")

    def step() -> None:
        run.debt += cycles() * TICKS_PER_CYCLE + issue

    return False, step


def _bind_sync(run: RoleRun, operation: op.Sync) -> Step:
    if operation.scope in ("warp", "role"):
        return _bind_cost(run, operation)
    if operation.scope == "cta":
        delay = run.cost(operation, "issue")
    else:
        warps = run.flow.flow.program.threads // 32
        delay = run.cost(operation, "issue") + warps * run.cost(operation, "per_warp")

    acquires = operation.scope == "cluster" and operation.form == "acq_rel"
    after_loads = _acquiring(run) if acquires else None

    def step() -> Waiting:
        yield from run.pay()
        meeting = run.cta.meeting if operation.scope == "cta" else run.cta.cluster_meeting
        assert meeting is not None
        run.waiting = (operation, f"{operation.scope} sync", 0, -1)
        since = run.time
        takes = max(1, delay + (after_loads() if after_loads else 0))
        yield meeting.join(takes)
        run.waiting = None
        run.waited += max(0, run.time - since - takes)

    return True, step


def _bind_cost(run: RoleRun, operation: Operation) -> Step:
    issue = run.cost(operation, "issue")

    def step() -> None:
        run.debt += issue

    return False, step


def _bind_fence(run: RoleRun, operation: op.Fence) -> Step:
    if operation.kind != "acq_rel_cluster":
        return _bind_cost(run, operation)
    issue, after_loads = run.cost(operation, "issue"), _acquiring(run)

    def step() -> None:
        run.debt += issue + after_loads()

    return False, step


def _acquiring(run: RoleRun) -> Callable[[], int]:
    """Bind what an acquire at cluster scope takes longer after loads: more, the more lines they brought."""
    tma, sm = run.flow.machine.spec.tma, run.cta.sm
    first, per_line = tma.acquire_latency * TICKS_PER_CYCLE, tma.acquire_interval * TICKS_PER_CYCLE
    known = 0

    def ticks() -> int:
        nonlocal known
        lines, known = run.clockwork.lines_loaded[sm] - known, run.clockwork.lines_loaded[sm]
        return round(first + lines * per_line) if lines else 0

    return ticks


def _bind_stamp(run: RoleRun, operation: op.Stamp) -> Step:
    issue = run.cost(operation, "issue")

    def step() -> None:
        run.cta.stamps.append((run.role.name, operation.name, run.time))
        run.debt += issue

    return False, step


def _bind_exit(_: RoleRun, __: op.Exit) -> Step:
    def step() -> None:
        raise RoleExit

    return False, step


def _bind_for(run: RoleRun, operation: op.For) -> Step:
    ring = run.ring(operation)
    body = run.bind_body(operation)
    cost, loops, name = _trip_cost(run, operation), run.loops, operation.name

    def step() -> Waiting:
        around = loops.get(name)
        for trip in range(operation.n):
            loops[name] = trip
            for blocking, act in body:
                if blocking:
                    yield from act()
                else:
                    act()
            ring.advance()
            run.debt += cost
        loops.pop(name, None)
        if around is not None:  # a loop of the same name lies around this one
            loops[name] = around

    return True, step


def _trip_cost(run: RoleRun, loop: op.For) -> int:
    """Ticks of the thread for each trip of a loop, its body left out."""
    nested = bool(run.enclosing)
    cost = run.cost(loop, "issue") + (run.cost(loop, "nested") if nested else 0)
    paced = any(isinstance(item, op.Compute) for item in loop.body)
    placed = any(isinstance(item, op.TmaLoad) and _reads_place(run, item, nested) for item in loop.body)
    return cost + (run.cost(loop, "by_place") if placed and not paced else 0)


def _reads_place(run: RoleRun, load: op.TmaLoad, nested: bool) -> bool:
    """Say whether the compiled loop reads the CTA's place in its cluster again for the address of a load."""
    launch = run.flow.flow.launch
    if launch.sms != SmSet():  # the place was looked up before, and is in a register
        return False
    steps = [item for item in load.coordinates if isinstance(item, op.Affine)]
    if any(item.rank for item in steps):
        return launch.skew == 0 and (load.mask is None or launch.cluster_size == 1)
    return nested and any(item.cluster for item in steps)


_BINDERS: dict[type, Callable[[RoleRun, Any], Step]] = {
    op.Wait: bind_wait,
    op.Arrive: _bind_arrive,
    op.ExpectTx: _bind_expect,
    op.TmaLoad: _bind_load,
    op.TmaStore: bind_store,
    op.StoreWait: bind_store_wait,
    op.BulkCopy: bind_copy,
    op.StAsync: bind_st_async,
    op.RemoteLoad: bind_remote_load,
    op.RemoteStore: bind_remote_store,
    op.LocalRead: _bind_local_read,
    op.Compute: _bind_compute,
    op.Sync: _bind_sync,
    op.Fence: _bind_fence,
    op.Stamp: _bind_stamp,
    op.Exit: _bind_exit,
    op.For: _bind_for,
}
