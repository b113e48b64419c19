"""What sets the time of a run: a resource, the latency of a chain, or what a thread does itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoppersim.program.costs import cost_stem
from hoppersim.program.operations import Compute, Exit, For, Operation, TmaLoad, Wait
from hoppersim.program.work import Work
from hoppersim.result.schema import Limiter, LinkUse

SATURATED = 0.80
"""Share of the run above which a resource is said to limit, else a thread: one less busy waits for data."""

NOTHING = Limiter(name="none", share=0.0)
"""What limits a run that never ends."""

RESOURCES = {
    "tma": "TMA engine",
    "slice": "L2 slice",
    "fabric": "L2 partition fabric",
    "hbm": "HBM",
    "gpc": "GPC port",
    "sm": "SM ingress",
    "dsmem": "SM-to-SM port",
}
"""Key of a block's busy counter to the name that users read."""


class BusyThread(NamedTuple):
    """The thread that does most: its role, and the shares of the run that it is busy and that it computes."""

    role: str = ""
    busy: float = 0.0
    computing: float = 0.0


def link_use(counters: Mapping[str, NDArray[np.int64]], window_ticks: int) -> tuple[LinkUse, ...]:
    """Turn busy ticks into shares of the window, one entry for each resource that did anything."""
    links = []
    for key, resource in RESOURCES.items():
        busy = counters.get(f"busy.{key}")
        if busy is None or not busy.any():
            continue
        # An engine's last interval may reach beyond the window.
        shares = np.minimum(busy[busy > 0] / window_ticks, 1.0)
        links.append(
            LinkUse(
                resource=resource,
                units=int(shares.size),
                mean=float(shares.mean()),
                peak=float(shares.max()),
                busiest=int(busy.argmax()),
            )
        )
    return tuple(links)


def find_limiter(links: tuple[LinkUse, ...], thread: BusyThread) -> Limiter:
    """Name the busiest resource above `SATURATED`; else ``compute`` or ``issue``, or else ``latency``."""
    busiest = max(links, key=lambda link: link.peak, default=None)
    if busiest is not None and busiest.peak >= SATURATED:
        return Limiter(name=busiest.resource, share=busiest.peak)
    if thread.busy >= SATURATED:
        name = "compute" if thread.computing >= thread.busy / 2 else "issue"
        return Limiter(name=name, share=thread.busy, role=thread.role)
    return Limiter(name="latency", share=max(thread.busy, busiest.peak if busiest is not None else 0.0))


def issue_cycles(work: Work, costs: Mapping[str, float]) -> float:
    """Add up what the busiest role's thread spends on its own operations, waiting left out [cycle]."""
    return max(
        (_body_cycles(role.body, role.width, costs) for flow in work.flows for role in flow.program.roles),
        default=0.0,
    )


def _body_cycles(body: tuple[Operation, ...], width: str, costs: Mapping[str, float]) -> float:
    before: list[Operation | None] = [None, *body]
    return sum(_operation_cycles(*pair, width, costs) for pair in zip(body, before, strict=False))


def _operation_cycles(
    operation: Operation, before: Operation | None, width: str, costs: Mapping[str, float]
) -> float:
    match operation:
        case TmaLoad() if isinstance(before, TmaLoad):
            return costs.get(f"{cost_stem(operation, width)}.next", 0.0)
        case Exit():
            return 0.0
        case Compute(cycles=cycles):
            known = cycles if isinstance(cycles, int) else cycles.base
            return known + costs.get(f"{cost_stem(operation, width)}.issue", 0.0)
        case Wait():
            return costs.get(f"{cost_stem(operation, width)}.hit", 0.0)
        case For(n=n, body=body):
            step = costs.get(f"{cost_stem(operation, width)}.issue", 0.0)
            return n * (step + _body_cycles(body, width, costs))
        case _:
            return costs.get(f"{cost_stem(operation, width)}.issue", 0.0)


def compute_cycles(work: Work, role: str) -> float:
    """Add up what a role spends on `Compute`, in the flow where that is most [cycle]."""
    bodies = (item.body for flow in work.flows for item in flow.program.roles if item.name == role)
    return max(map(_computed, bodies), default=0.0)


def _computed(body: tuple[Operation, ...]) -> float:
    found = 0.0
    for operation in body:
        match operation:
            case Compute(cycles=cycles):
                found += cycles if isinstance(cycles, int) else cycles.base
            case For(n=n, body=inner):
                found += n * _computed(inner)
            case _:
                pass
    return found
