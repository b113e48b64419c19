"""What a user's own SimPy processes see of a run: its clock, its counters, and a way to add traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from hoppersim.blocks.mbarrier import MAX_TX
from hoppersim.engine.clockwork import Clockwork
from hoppersim.engine.interface import LOAD, Destination, Transfer
from hoppersim.engine.roles import Waiting
from hoppersim.errors import InputError
from hoppersim.machine import AddressMap, Machine
from hoppersim.units import LINE_BYTES, to_cycles, to_ticks

_AFTER_ROLES = 1 << 19
"""Place of a guest among the issuers of an SM in one tick: behind all warps."""


class Guest:
    """The door for a user's monitors and traffic sources.

    Parameters
    ----------
    machine
        The machine that is simulated.
    clockwork
        The run.
    addresses
        Where the allocations of all flows lie, named ``FLOW:ALLOCATION``.
    """

    def __init__(self, machine: Machine, clockwork: Clockwork, addresses: AddressMap) -> None:
        self.machine = machine
        self.env: simpy.Environment = clockwork.env
        self._clockwork = clockwork
        self._addresses = addresses

    @property
    def cycles(self) -> float:
        """SM cycles since the launch."""
        return to_cycles(int(self.env.now))

    def counters(self) -> dict[str, NDArray[np.int64]]:
        """Block counters by name, one value for each unit.

        The fabric computes a little ahead of the clock or behind it, by less than the latency of one load.
        """
        return self._clockwork.fabric.counters()

    def every(self, cycles: float, call: Callable[[], object]) -> None:
        """Call something again and again while the run goes on; it keeps no run alive and hides no hang."""
        self.env.process(self._again(to_ticks(cycles), call))

    def _again(self, period: int, call: Callable[[], object]) -> Waiting:
        while True:
            with self._clockwork.in_background():
                yield self.env.timeout(period)
            call()
            if self._clockwork.nothing_else:
                return

    def load(self, sm: int, allocation: str, offset: int, size: int) -> simpy.Event:
        """Read from global memory into an SM, beside what its programs do.

        Parameters
        ----------
        sm
            The SM that asks.
        allocation
            Allocation of a flow, ``FLOW:ALLOCATION``, for example ``0:data``.
        offset
            First byte, from the start of the allocation [B].
        size
            Bytes in a row, below 2**20 [B].

        Returns
        -------
        simpy.Event
            Fires when the last byte is there; a process may wait for it.

        Raises
        ------
        InputError
            If there is no such SM or allocation, or the bytes are not all inside.
        """
        self._check(sm, allocation, size)
        address = self._addresses.base(allocation) + offset
        self._addresses.require_inside(allocation, address, size)
        clockwork, now = self._clockwork, int(self.env.now)
        barrier = clockwork.add_barrier(1)
        clockwork.post(barrier, now + 1, 1, -size, "guest")
        reach = (Destination(sm, barrier),)
        order = (sm << 20) | _AFTER_ROLES
        clockwork.inject(Transfer(now, LOAD, sm, order, reach, address, size, bytes=size))
        return clockwork.wait(barrier)

    def _check(self, sm: int, allocation: str, size: int) -> None:
        last, known = self.machine.sm_count - 1, list(self._addresses.regions)
        limits: tuple[tuple[str, Any, bool, str, Any], ...] = (
            ("sm", sm, 0 <= sm <= last, f"must be an SM id from 0 to {last}", min(max(sm, 0), last)),
            (
                "allocation",
                allocation,
                allocation in known,
                f"must be one of {known}",
                next(iter(known), None),
            ),
            ("size", size, 1 <= size <= MAX_TX, f"must lie from 1 to {MAX_TX} bytes", LINE_BYTES),
        )
        for field, value, legal, rule, nearest in limits:
            if not legal:
                raise InputError(field, value, rule, nearest)


Extra = Callable[[Guest], object]
"""A user's monitor or traffic source: called once before the run starts; it starts processes of its own."""
