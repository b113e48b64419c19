"""Measured points and their simulations, paired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hoppersim.pool import MachineRequest, machine_for
from hoppersim.program.operands import constant_value
from hoppersim.program.operations import BulkCopy, RemoteStore, StAsync, TmaLoad
from hoppersim.program.walk import walk
from hoppersim.program.work import Program, Work
from hoppersim.result.limiter import issue_cycles
from hw_validate.bench import Bench, OnPoint, Simulated, Task
from hw_validate.compare import Item, Pair, Seeded
from hw_validate.compare_counters import merging_agrees


def simulate_items(
    items: Sequence[Item], request: MachineRequest, jobs: int = 1, on_point: OnPoint | None = None,
    folder: Path | None = None,
) -> list[Pair | str]:  # fmt: skip
    """Simulate points and pair both times, in the order of the points.

    Parameters
    ----------
    items, request
        What was measured, and the machine.
    jobs, folder
        As in `Bench`.
    on_point
        Called with the label of each point as it is done.

    Returns
    -------
    list[Pair | str]
        A pair for each point; where the simulator gives no time, the reason instead.

    Raises
    ------
    InputError
        If `jobs` is less than one.
    """
    with Bench(jobs, folder) as bench:
        return pair_items(bench, items, request, on_point)


def pair_items(
    bench: Bench, items: Sequence[Item], request: MachineRequest, on_point: OnPoint | None = None
) -> list[Pair | str]:
    """Do what `simulate_items` does, on a bench."""
    found = bench.run([Task(item, request) for item in items], on_point)
    costs = machine_for(request).spec.costs
    return [_pair(item, one, costs) for item, one in zip(items, found, strict=True)]


def add_seeds(
    bench: Bench, items: Sequence[Item], found: Sequence[Pair | str], request: MachineRequest, seeds: int,
    on_point: OnPoint | None = None,
) -> list[Pair | str]:  # fmt: skip
    """Simulate under more seeds the points whose repeats differ, and those whose merged share is wrong.

    Parameters
    ----------
    bench, items, request
        As for `pair_items`.
    found
        What it gave for the items.
    seeds
        Seeds altogether, the first included.
    on_point
        Called with the label of each point, once for each seed.
    """
    unsure = unsure_places(found)
    tasks = [Task(items[place], request, seed) for place in unsure for seed in range(1, seeds)]
    simulated = iter(bench.run(tasks, on_point))
    result = list(found)
    for place in unsure:
        more = [next(simulated) for _ in range(1, seeds)]
        known = tuple(Seeded(one.cycles, one.counters) for one in more if one.cycles is not None)
        pair = result[place]
        assert isinstance(pair, Pair)
        result[place] = replace(pair, seeds=known)
    return result


def unsure_places(found: Sequence[Pair | str]) -> list[int]:
    """Say which pairs `add_seeds` simulates under more seeds."""
    pairs = [(place, pair) for place, pair in enumerate(found) if isinstance(pair, Pair)]
    return [place for place, pair in pairs if not pair.stable or merging_agrees(pair) is False]


def _pair(item: Item, found: Simulated, costs: dict[str, float]) -> Pair | str:
    if found.cycles is None:
        return f"{item.label}: {found.error}"
    bound = None if _is_staggered(item.work) else found.bound
    return Pair(
        item.id, item.label, item.measured, found.cycles, item.spread, item.tags, bound, found.limiter,
        item.repeats, item.set_aside, item.counters, found.counters, found.delivered,
        floor=issue_cycles(item.work, costs), share=found.share, in_flight=_in_flight(item.work),
        counted=item.counted, paces=(item.pace, found.pace),
        warm=any(flow.launch.warm for flow in item.work.flows), ctas=(item.counted_ctas, found.ctas),
    )  # fmt: skip


def _is_staggered(work: Work) -> bool:
    """Whether CTAs start at different times by design; the bound then says nothing about the slowest one."""
    return any(constant_value(flow.launch.skew) != 0 for flow in work.flows)


def _in_flight(work: Work) -> int:
    """Give the bytes that a CTA can have in flight: all stages of the buffers that something moves to [B]."""
    return max((_landing_bytes(flow.program) for flow in work.flows), default=0)


def _landing_bytes(program: Program) -> int:
    landing = set()
    for visit in walk(program):
        match visit.operation:
            case BulkCopy(destination=name):
                landing.add(name)
            case TmaLoad(buffer=name) | StAsync(buffer=name) | RemoteStore(buffer=name):
                landing.add(name)
    return sum(item.bytes * item.stages for item in program.buffers if item.name in landing)
