"""What a role sees of the run: its CTA, its cluster, its machine's costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import simpy

from hoppersim.engine.barriers import LoggedBarrier
from hoppersim.engine.clockwork import Clockwork
from hoppersim.engine.findings import Findings
from hoppersim.machine import AddressMap, Machine
from hoppersim.program.work import Flow
from hoppersim.units import TICKS_PER_CYCLE

NOT_STARTED, LIVE, EXITED = range(3)


@dataclass(frozen=True)
class FlowContext:
    """One flow with everything that its CTAs share."""

    index: int
    flow: Flow
    machine: Machine
    clockwork: Clockwork
    addresses: AddressMap
    findings: Findings
    bind: Callable[..., Any]
    """Turns an operation of a role's run into a step."""
    barrier_type: Callable[[int], type[LoggedBarrier]] = lambda _: LoggedBarrier
    """Kind of the barriers of a cluster."""

    def address(self, allocation: str) -> int:
        """Address of the first byte of one of the flow's allocations."""
        return self.addresses.base(f"{self.index}:{allocation}")

    def cost(self, key: str) -> int:
        """Cost of an operation in ticks."""
        return round(self.machine.cost(key) * TICKS_PER_CYCLE)

    @cached_property
    def arrive_interval(self) -> int:
        """Ticks between the remote barrier operations that an SM takes in."""
        return round(self.machine.spec.fabric.arrive_interval * TICKS_PER_CYCLE)

    def path_ticks(self, source_sm: int, target_sm: int) -> int:
        """One way over the SM-to-SM network, in ticks; nothing within an SM."""
        if source_sm == target_sm:
            return 0
        cycles = self.machine.spec.fabric.latency + float(self.machine.pair_latency[source_sm, target_sm])
        return max(1, round(cycles * TICKS_PER_CYCLE))


@dataclass
class Meeting:
    """A barrier of threads: releases everybody some ticks after the last one that is still expected."""

    env: simpy.Environment
    expected: int
    arrived: list[simpy.Event] = field(default_factory=list)
    delay: int = 1

    def join(self, delay: int) -> simpy.Event:
        """Arrive; the event fires `delay` ticks (the largest that anybody gave) after the last arrival."""
        event = self.env.event()
        self.arrived.append(event)
        self.delay = max(self.delay, delay)
        self._release_if_complete()
        return event

    def leave(self) -> None:
        """Stop expecting one participant, which has exited."""
        self.expected -= 1
        self._release_if_complete()

    def _release_if_complete(self) -> None:
        if not self.arrived or len(self.arrived) < self.expected:
            return
        for event in self.arrived:
            event._ok, event._value = True, None
            self.env.schedule(event, delay=self.delay)
        self.arrived = []
        self.delay = 1


@dataclass
class Cta:
    """One CTA of a running cluster."""

    flow: FlowContext
    number: int
    cluster: int
    rank: int
    sm: int
    slot: int
    barriers: dict[str, list[int]]
    meeting: Meeting
    state: int = NOT_STARTED
    start: int = 0
    end: int = -1
    stamps: list[tuple[str, str, int]] = field(default_factory=list)
    peers: list[Cta] = field(default_factory=list)
    cluster_meeting: Meeting | None = None

    def barrier(self, name: str, stage: int) -> int:
        """Number of a barrier's stage."""
        return self.barriers[name][stage]
