"""Steps that tell the watch what they do: each wraps the plain step of its operation and changes no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hoppersim.engine.barriers import LoggedBarrier
from hoppersim.engine.context import LIVE
from hoppersim.engine.places import Place, Use, WatchedBarrier
from hoppersim.engine.roles import RoleRun, Step, Waiting
from hoppersim.engine.steps import bind, bind_wait, plain_step, punctual
from hoppersim.engine.watch import Watch
from hoppersim.program import operations as op
from hoppersim.program.operations import For, Operation
from hoppersim.program.walk import walk
from hoppersim.program.work import Program

Here = Callable[[], Place]


class WatchedSteps:
    """Binds the operations of one run: those of watched clusters tell the watch what they do."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._held: dict[RoleRun, list[Place]] = {}
        self._guarded: dict[tuple[int, str], tuple[str, ...]] = {}

    def bind(self, run: RoleRun, operation: Operation) -> Step:
        """Turn an operation into a step of a role's run."""
        hook = _HOOKS.get(type(operation))
        if hook is None or not self.watch.follows(run.flow.index, run.cta.cluster):
            return bind(run, operation)
        return punctual(run, operation, hook(self, run, operation))

    def barrier_type(self, index: int, cluster: int) -> type[LoggedBarrier]:
        """Give the kind of barriers that a cluster of a flow has."""
        return WatchedBarrier if self.watch.follows(index, cluster) else LoggedBarrier

    def held(self, run: RoleRun) -> list[Place]:
        """Stages that a role has waited for and not released."""
        return self._held.setdefault(run, [])

    def here(self, run: RoleRun, buffer: str) -> Here:
        """Give a function for the present stage of a buffer of the own CTA."""
        places = self.watch.places(run.cta, buffer)
        ring = run.ring_for(len(places))
        return lambda: places[ring.stage]

    def guarded(self, program: Program, barrier: str) -> tuple[str, ...]:
        """Name the buffers whose bytes a barrier counts."""
        key = (id(program), barrier)
        if key not in self._guarded:
            writes = [write for write in _writes(program) if write[1] == barrier]
            self._guarded[key] = tuple(dict.fromkeys(buffer for _, _, buffer in writes))
        return self._guarded[key]


def _writes(program: Program) -> Iterator[tuple[str, str, str]]:
    """Yield (role, barrier, buffer) of all asynchronous writes."""
    for visit in walk(program):
        operation = visit.operation
        if isinstance(operation, op.BulkCopy):
            yield visit.role.name, operation.barrier, operation.destination
        elif isinstance(operation, op.TmaLoad | op.StAsync):
            yield visit.role.name, operation.barrier, operation.buffer


def _use(run: RoleRun, operation: Operation, place: Place, low: int, size: int) -> Use:
    start = run.time
    return Use(run, operation, tuple(run.loops.items()), start, start, low, low + size, place)


def _wait(steps: WatchedSteps, run: RoleRun, operation: op.Wait) -> Step:
    program, barriers = run.flow.flow.program, run.clockwork.barriers
    seen, held = steps.watch.seen(run), steps.held(run)
    names = steps.guarded(program, operation.barrier) if _holds(run, operation) else ()
    needed = [(steps.here(run, name), program.buffer(name).bytes) for name in names]

    def notice(number: int, parity: int) -> None:
        barrier = barriers[number]
        assert isinstance(barrier, WatchedBarrier)
        known = barrier.state.phase
        if known & 1 == parity:  # it has moved on since the wait returned
            known -= 1
        seen[barrier] = known
        if known > barrier.waited:
            barrier.waited = known
        for here, size in needed:
            place = here()
            if place.flying or place.stores or place.phase >= known:
                steps.watch.read(_use(run, operation, place, 0, size))
            place.holds[run] = (int(run.env.now), operation)
            held.append(place)

    return bind_wait(run, operation, notice)


def _holds(run: RoleRun, wait: op.Wait) -> bool:
    """Tell whether the role needs what it waits for until its next arrival or sync."""
    if wait.phase != "full":
        return False
    body = run.enclosing[-1].body if run.enclosing else run.role.body
    place = next(number for number, operation in enumerate(body) if operation is wait)
    uses = any(isinstance(operation, op.Arrive | op.Sync | op.LocalRead) for operation in body[place:])
    flat = _flat(run.role.body)
    return uses and not any(isinstance(item, op.ExpectTx) and item.barrier == wait.barrier for item in flat)


def _flat(body: tuple[Operation, ...]) -> Iterator[Operation]:
    for operation in body:
        yield operation
        if isinstance(operation, For):
            yield from _flat(operation.body)


def _release(steps: WatchedSteps, run: RoleRun, operation: Operation) -> Step:
    held, (blocking, plain) = steps.held(run), plain_step(run, operation)

    def release() -> None:
        for place in held:
            hold = place.holds.pop(run, None)
            if (
                hold is not None and run.debt
            ):  # the thread is ahead of the clock: it still needs the stage for a while
                place.add_read(place.held_by(run, hold, run.time), int(run.env.now))
        held.clear()

    def sending() -> None:
        if held:
            release()
        plain()

    def meeting() -> Waiting:
        if held:
            release()
        yield from plain()

    return (True, meeting) if blocking else (False, sending)


def _async_write(steps: WatchedSteps, run: RoleRun, operation: Any) -> Step:
    program, barriers, watch = run.flow.flow.program, run.clockwork.barriers, steps.watch
    name, low, size, ranks = _shape(run, operation)
    ring = run.ring_for(program.buffer(name).stages)
    barrier_ring = run.ring_for(program.barrier(operation.barrier).stages)
    peers, plain, source = run.cta.peers, plain_step(run, operation)[1], _source(steps, run, operation)
    targets = [(peer, watch.places(peer, name), peer.barriers[operation.barrier]) for peer in peers]

    def watched() -> None:
        plain()
        if source is not None:
            source()
        start, iteration, first = run.time, tuple(run.loops.items()), low()
        for rank in ranks():
            if rank >= len(targets) or targets[rank][0].state != LIVE:
                continue
            place, barrier = targets[rank][1][ring.stage], barriers[targets[rank][2][barrier_ring.stage]]
            assert isinstance(barrier, WatchedBarrier)
            write = Use(run, operation, iteration, start, -1, first, first + size, place, barrier, size)
            if place.reads or place.holds or place.stores:
                watch.meet_users(write)
            place.flying.append(write)
            barrier.flying.append(write)

    return False, watched


def _shape(run: RoleRun, operation: Any) -> tuple[str, Callable[[], int], int, Callable[[], tuple[int, ...]]]:
    """Give buffer, offset, bytes and ranks of an asynchronous write."""
    if isinstance(operation, op.TmaLoad):
        size = run.flow.flow.program.map(operation.map).box_bytes
        return operation.buffer, run.value(operation.offset), size, run.ranks(operation.mask)
    rank = run.value(operation.rank)
    if isinstance(operation, op.BulkCopy):
        return (
            operation.destination,
            run.value(operation.destination_offset),
            operation.bytes,
            lambda: (rank(),),
        )
    return operation.buffer, lambda: 0, operation.bytes, lambda: (rank(),)


def _source(steps: WatchedSteps, run: RoleRun, operation: Any) -> Callable[[], None] | None:
    """Give a function that reads the source of a copy; None where there is none in shared memory."""
    if not isinstance(operation, op.BulkCopy):
        return None
    here, low = steps.here(run, operation.source), run.value(operation.source_offset)
    return lambda: steps.watch.read(_use(run, operation, here(), low(), operation.bytes))


def _store(steps: WatchedSteps, run: RoleRun, operation: op.TmaStore) -> Step:
    size = run.flow.flow.program.map(operation.map).box_bytes
    here, low, plain = (
        steps.here(run, operation.buffer),
        run.value(operation.offset),
        plain_step(run, operation)[1],
    )

    def watched() -> None:
        steps.watch.read(_use(run, operation, here(), low(), size))
        plain()

    return False, watched


def _local_read(steps: WatchedSteps, run: RoleRun, operation: op.LocalRead) -> Step:
    program, watch, barriers = run.flow.flow.program, steps.watch, run.clockwork.barriers
    size, here = program.buffer(operation.buffer).bytes, steps.here(run, operation.buffer)
    plain, seen = plain_step(run, operation)[1], watch.seen(run)
    writes = [write for write in _writes(program) if write[2] == operation.buffer]
    writers = " or ".join(dict.fromkeys(f"role {role}" for role, _, _ in writes))
    guards = [(run.cta.barriers[name], run.ring_for(program.barrier(name).stages)) for _, name, _ in writes]

    def watched() -> None:
        place = here()
        use = _use(run, operation, place, 0, size)
        plain()
        use.end = run.time
        if place.landed or place.flying:
            watch.read(use)
        elif any(seen.get(barriers[numbers[ring.stage]]) == 0 for numbers, ring in guards):  # type: ignore[call-overload]
            watch.empty_read(use, writers)
        place.add_read(use, int(run.env.now))

    return False, watched


def _remote(steps: WatchedSteps, run: RoleRun, operation: op.RemoteLoad | op.RemoteStore) -> Step:
    rank, ring = (
        run.value(operation.rank),
        run.ring_for(run.flow.flow.program.buffer(operation.buffer).stages),
    )
    peers, plain, watch = run.cta.peers, plain_step(run, operation)[1], steps.watch

    def watched() -> Waiting:
        yield from run.pay()
        start = run.time
        yield from plain()
        if rank() >= len(peers) or peers[rank()].state != LIVE:
            return
        place = watch.places(peers[rank()], operation.buffer)[ring.stage]
        use = Use(run, operation, tuple(run.loops.items()), start, run.time, 0, operation.bytes, place)
        if isinstance(operation, op.RemoteLoad):
            watch.read(use)
            place.add_read(use, int(run.env.now))
        else:
            watch.meet_users(use)
            place.stores.append(use)

    return True, watched


_HOOKS: dict[type, Callable[[WatchedSteps, RoleRun, Any], Step]] = {
    op.Wait: _wait,
    op.Arrive: _release,
    op.Sync: _release,
    op.TmaLoad: _async_write,
    op.BulkCopy: _async_write,
    op.StAsync: _async_write,
    op.TmaStore: _store,
    op.LocalRead: _local_read,
    op.RemoteLoad: _remote,
    op.RemoteStore: _remote,
}
