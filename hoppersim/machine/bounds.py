"""The closed-form bound: no run can be faster than the smallest capacity over load of any port.

Load follows the fixed routes and an even address hash. A multicast counts once above its branch, which lies
behind the GPC port unless the machine says otherwise. Unicast rows that share data may be merged in front of
the slices of a partition, and then pass the port of each GPC once: `cycles` assumes that all of them are, as
far as an entry may serve several requests; `cycles_unmerged` assumes that none is. Latency, queues, uneven
hashing and what software costs are left out. What crosses between the partitions does not bind: how much it
is depends on which pages are read, and may be nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hoppersim.errors import InputError
from hoppersim.machine.graph import DRAM, SOURCES, Port, Route, chip_ports, routes
from hoppersim.machine.machine import Machine
from hoppersim.machine.rules import closest
from hoppersim.units import LINE_BYTES

_PACED_BEHIND = ("tma", "l2")
"""Kinds of ports whose servers let a line go at once, and spend its time before the next one."""
_BY_CHANCE = "fabric"
"""Kind of the ports of which only the mean load is known."""


class TrafficRow(NamedTuple):
    """What one SM asks for in a run, or sends to a peer.

    Parameters
    ----------
    source
        ``l2``, ``hbm`` or ``sm`` (see `hoppersim.machine.graph.routes`).
    origin_sm
        SM whose TMA engine asks or sends.
    destinations
        SMs that each receive all the bytes; more than one is a multicast.
    bytes
        Bytes that each destination receives.
    shared
        Tag of the data, where rows with the same tag read the same bytes; None for data of its own.
    dram_bytes
        Distinct bytes among them, read from DRAM once for each tag; None means all for ``hbm``, none else.
    lines
        Line requests; None means full lines only.
    """

    source: Literal["l2", "hbm", "sm"]
    origin_sm: int
    destinations: tuple[int, ...]
    bytes: int
    shared: Hashable = None
    dram_bytes: int | None = None
    lines: int | None = None


class LinkLoad(NamedTuple):
    """Load of one port: `capacity` in B per SM cycle, loads in bytes, merged and unmerged.

    Of these, `at_once` bytes leave without delay: an engine, or a slice, spends its time behind a line, so
    `n` lines are only `n - 1` intervals apart.
    """

    link: str
    kind: str
    capacity: float
    load: float
    load_unmerged: float
    at_once: float = 0.0

    @property
    def cycles(self) -> float:
        """SM cycles that the port needs for its load, merged."""
        return self._cycles(self.load)

    @property
    def cycles_unmerged(self) -> float:
        """SM cycles that the port needs for its load, unmerged."""
        return self._cycles(self.load_unmerged)

    def _cycles(self, load: float) -> float:
        return max(0.0, load - self.at_once) / self.capacity


@dataclass(frozen=True)
class Bound:
    """The least SM cycles that a traffic table takes, and the port that says so."""

    cycles: float
    cycles_unmerged: float
    link: str
    link_unmerged: str
    loads: tuple[LinkLoad, ...]
    """All loaded ports, the slowest first, those between the partitions included."""


def bound(machine: Machine, rows: Iterable[TrafficRow]) -> Bound:
    """Bound the time of a traffic table.

    Parameters
    ----------
    machine
        The machine.
    rows
        The traffic.

    Returns
    -------
    Bound
        Zero cycles and an empty link name where nothing moves.

    Raises
    ------
    InputError
        If a row names an SM that does not exist, or leaves its GPC.
    """
    loads = _Loads(machine.spec.lrc.max_merged if machine.spec.lrc.enabled else 1)
    for number, row in enumerate(rows):
        _check(machine, number, row)
        _add_row(machine, loads, row)
    table = loads.table(chip_ports(machine))
    binding = [load for load in table if load.kind != _BY_CHANCE]
    if not binding:
        return Bound(0.0, 0.0, "", "", tuple(table))
    unmerged = max(binding, key=lambda load: load.cycles_unmerged)
    return Bound(binding[0].cycles, unmerged.cycles_unmerged, binding[0].link, unmerged.link, tuple(table))


class _Loads:
    """Bytes by port, as they add up and as they merge.

    Loads under one key read the same bytes; at most `limit` of their requests can become one.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.fixed: dict[str, float] = defaultdict(float)
        self.mergeable: dict[str, dict[Hashable, list[float]]] = defaultdict(lambda: defaultdict(list))
        self.once: dict[str, dict[Hashable, float]] = defaultdict(lambda: defaultdict(float))

    def add(self, port: str, amount: float) -> None:
        """Count a load of its own."""
        self.fixed[port] += amount

    def add_mergeable(self, port: str, amount: float, key: Hashable) -> None:
        """Count a load that the coalescer may merge with others of the same key."""
        self.mergeable[port][key].append(amount)

    def add_once(self, port: str, amount: float, key: Hashable) -> None:
        """Count a load that others of the same key never repeat."""
        self.once[port][key] = max(self.once[port][key], amount)

    def table(self, ports: dict[str, Port]) -> list[LinkLoad]:
        """Give the loaded ports, the slowest first."""
        found = []
        for name in {**self.fixed, **self.mergeable, **self.once}:
            base = self.fixed.get(name, 0.0) + sum(self.once.get(name, {}).values())
            groups = self.mergeable.get(name, {}).values()
            merged = base + sum(max(*group, sum(group) / self.limit) for group in groups)
            unmerged = base + sum(sum(group) for group in groups)
            port = ports[name]
            at_once = port.servers * LINE_BYTES if port.kind in _PACED_BEHIND else 0
            found.append(LinkLoad(name, port.kind, port.capacity, merged, unmerged, at_once))
        return sorted(found, key=lambda load: (-load.cycles, load.link))


def _add_row(machine: Machine, loads: _Loads, row: TrafficRow) -> None:
    if row.source == "sm":
        for destination in row.destinations:
            for port in routes(machine, row.source, row.origin_sm, destination)[0].ports:
                loads.add(port, row.bytes)
        return
    lines = -(-row.bytes // LINE_BYTES) if row.lines is None else row.lines
    gpc = int(machine.gpc_of[row.origin_sm])
    loads.add(f"sm{row.origin_sm}.tma", lines * LINE_BYTES)
    for destination in row.destinations:
        loads.add(f"sm{destination}.in", row.bytes)
    behind_port = bool(machine.spec.xbar.branch_behind_port)
    for route in routes(machine, row.source, row.origin_sm, row.destinations[0]):
        _add_above_branch(loads, row, route, gpc, behind_port)


def _add_above_branch(loads: _Loads, row: TrafficRow, route: Route, gpc: int, behind_port: bool) -> None:
    *memory, slices, gpc_port, _ = route.ports
    dram_bytes = row.bytes if row.dram_bytes is None else row.dram_bytes
    for port in memory:
        if row.shared is None:
            loads.add(port, dram_bytes * route.share)
        else:
            reader = None if port == DRAM else slices
            loads.add_once(port, dram_bytes * route.share, (row.shared, route.home, reader))
    if not behind_port:
        loads.add(gpc_port, row.bytes * route.share * len(row.destinations))
    for port in (slices, gpc_port) if behind_port else (slices,):
        if row.shared is None or len(row.destinations) > 1:
            loads.add(port, row.bytes * route.share)
        else:
            loads.add_mergeable(port, row.bytes * route.share, (row.shared, route.home, gpc))


def _check(machine: Machine, number: int, row: TrafficRow) -> None:
    where = f"traffic[{number}]"
    if row.source not in SOURCES:
        rule = f"must be one of {', '.join(SOURCES)}"
        raise InputError(f"{where}.source", row.source, rule, closest(row.source, SOURCES))
    if row.bytes < 0 or not row.destinations:
        raise InputError(f"{where}.bytes", row.bytes, "must move at least 0 bytes to at least one SM", 0)
    last = machine.sm_count - 1
    for sm in (row.origin_sm, *row.destinations):
        if not 0 <= sm <= last:
            raise InputError(f"{where}.sm", sm, f"must be an SM id from 0 to {last}", min(max(sm, 0), last))
    gpc = machine.floorplan.gpcs[int(machine.gpc_of[row.origin_sm])]
    for sm in row.destinations:
        if machine.gpc_of[sm] != machine.gpc_of[row.origin_sm]:
            nearest = min(gpc.sms, key=lambda peer: (abs(peer - sm), peer))
            rule = f"must share the GPC of SM {row.origin_sm}"
            raise InputError(f"{where}.destinations", sm, rule, nearest)
