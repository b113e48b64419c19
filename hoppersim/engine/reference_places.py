"""What every place of the reference fabric uses: its clock, its servers and its counters."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from itertools import count

import simpy

from hoppersim.engine.output import COUNTER_NAMES
from hoppersim.engine.tables import SUBTICKS, Tables


class Places:
    """Servers that things hop between, in order of (tick, upstream port).

    Parameters
    ----------
    tables
        The fabric's table.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._env = simpy.Environment()
        self._inbox: list[tuple[int, int, Callable[[int], None]]] = []
        self._numbers = count()
        self._free = [0] * tables.servers
        self._busy = [0] * tables.servers
        self._count: dict[str, dict[int, int]] = {name: {} for name in COUNTER_NAMES}

    def _gather(self, now: int) -> None:
        """Put what arrives at this tick into the inbox, which hands it out in the order of upstream ports."""
        while self._env.peek() == now:
            self._env.step()

    def _hop(self, tick: int, port: int, arrive: Callable[[int], None]) -> None:
        """Let something arrive at a tick; within it the order is that of the upstream ports."""
        event = self._env.timeout(tick - self._env.now)
        event.callbacks.append(lambda _: heappush(self._inbox, (port, next(self._numbers), arrive)))

    def _serve(self, server: int, now: int, service: int) -> int:
        """Serve first come first served; return the tick at which the line leaves."""
        self._free[server] = max(now * SUBTICKS, self._free[server]) + int(service)
        self._busy[server] += int(service)
        return -(-self._free[server] // SUBTICKS)

    def _add(self, name: str, unit: int, amount: int) -> None:
        self._count[name][unit] = self._count[name].get(unit, 0) + amount
