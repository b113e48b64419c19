"""The chip as a graph of ports: what each lets through, how long it takes, and which ports a byte crosses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hoppersim.machine.machine import Machine
from hoppersim.units import LINE_BYTES, to_cycles, to_ticks

if TYPE_CHECKING:
    import networkx as nx

SOURCES = ("l2", "hbm", "sm")
DRAM = "hbm"
"""Port of all DRAM channels together, over which lines spread whatever their partition."""


@dataclass(frozen=True)
class Port:
    """A place that data or requests pass through.

    Parameters
    ----------
    name
        Hierarchical name, for example ``gpc0.in``.
    kind
        What it belongs to: tma, l2, fabric, hbm, gpc, sm or dsmem.
    line_cycles
        SM cycles that one server of the port spends on a line.
    latency
        SM cycles from entering the port to leaving it, unloaded.
    servers
        Equal servers that share the load, by the address hash.
    """

    name: str
    kind: str
    line_cycles: float
    latency: float
    servers: int = 1

    @property
    def capacity(self) -> float:
        """Bytes per SM cycle."""
        return self.servers * LINE_BYTES / self.line_cycles


@dataclass(frozen=True)
class Route:
    """A fixed way from a source to one SM, the share of the addresses that take it, and their partition."""

    share: float
    home: int
    ports: tuple[str, ...]


def chip_ports(machine: Machine) -> dict[str, Port]:
    """List the ports of a machine by name: all channels in one, slices grouped by partition."""
    found = [*_memory_ports(machine)]
    for gpc in range(machine.gpc_count):
        found += _gpc_ports(machine, gpc)
    for sm in range(machine.sm_count):
        found += _sm_ports(machine, sm)
    return {port.name: port for port in found}


def routes(machine: Machine, source: str, origin_sm: int, destination_sm: int) -> tuple[Route, ...]:
    """Give the ways that data take to one SM.

    Parameters
    ----------
    machine
        The machine.
    source
        ``l2``: found in the partition that the GPC is attached to. ``hbm``: read from DRAM, whose lines are
        shared out over the partitions by the address hash. ``sm``: another SM of the cluster.
    origin_sm
        SM that asks (`l2`, `hbm`) or sends (`sm`).
    destination_sm
        SM that receives.

    Returns
    -------
    tuple of Route
        Their shares add up to one.
    """
    if source == "sm":
        return (Route(1.0, 0, (f"sm{origin_sm}.out", f"sm{destination_sm}.in")),)
    near = int(machine.partition_of[origin_sm])
    tail = (f"l2.p{near}", f"gpc{machine.gpc_of[origin_sm]}.in", f"sm{destination_sm}.in")
    if source == "l2":
        return (Route(1.0, near, tail),)
    found = []
    for home, share in enumerate(partition_shares(machine)):
        crossing = () if home == near else (f"l2.p{home}to{near}",)
        found.append(Route(share, home, (DRAM, *crossing, *tail)))
    return tuple(found)


def partition_shares(machine: Machine) -> tuple[float, ...]:
    """Give the share of all lines whose home is each partition."""
    count = machine.spec.l2.slices
    return tuple(int((machine.slice_partition == p).sum()) / count for p in range(machine.spec.l2.partitions))


def build_graph(machine: Machine, *, each_slice: bool = False) -> nx.DiGraph[str]:
    """Make the networkx graph of a machine.

    Parameters
    ----------
    machine
        The machine.
    each_slice
        Give every L2 slice a node of its own instead of one for each partition.

    Returns
    -------
    networkx.DiGraph
        Nodes are ports with the attributes `kind`, `capacity` (B per SM cycle), `latency` (SM cycles) and
        `servers`; an edge leads from a port to the next one on some route.
    """
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(name=machine.name)
    for port in chip_ports(machine).values():
        graph.add_node(port.name, **_attributes(port))
    graph.add_edges_from(_memory_edges(machine))
    for sm in range(machine.sm_count):
        graph.add_edges_from(_sm_edges(machine, sm))
    if each_slice:
        _split_slices(graph, machine)
    return graph


def _attributes(port: Port) -> dict[str, Any]:
    return {"kind": port.kind, "capacity": port.capacity, "latency": port.latency, "servers": port.servers}


def _memory_ports(machine: Machine) -> list[Port]:
    l2, hbm = machine.spec.l2, machine.spec.hbm
    slice_line = LINE_BYTES / machine.slice_bytes_per_cycle
    channel_line = LINE_BYTES / machine.channel_bytes_per_cycle
    found = [Port(DRAM, "hbm", channel_line, hbm.latency, hbm.channels)]
    for part in range(l2.partitions):
        slices = int((machine.slice_partition == part).sum())
        found.append(Port(f"l2.p{part}", "l2", slice_line, l2.latency, slices))
    for source, target in _crossings(machine):
        line = LINE_BYTES / l2.fabric_bytes_per_cycle
        found.append(Port(f"l2.p{source}to{target}", "fabric", line, l2.fabric_latency))
    return found


def _gpc_ports(machine: Machine, gpc: int) -> list[Port]:
    xbar = machine.spec.xbar
    return [Port(f"gpc{gpc}.in", "gpc", LINE_BYTES / xbar.gpc_bytes_per_cycle, xbar.response_latency)]


def _sm_ports(machine: Machine, sm: int) -> list[Port]:
    tma, fabric = machine.spec.tma, machine.spec.fabric
    ingress = LINE_BYTES / machine.spec.xbar.sm_bytes_per_cycle
    # Requests leave at whole ticks, which can be a little faster than the interval that was asked for.
    interval = min(tma.line_interval, to_cycles(to_ticks(tma.line_interval)))
    return [
        Port(f"sm{sm}.tma", "tma", interval, tma.launch_latency),
        Port(f"sm{sm}.in", "sm", ingress, tma.completion_latency),
        Port(f"sm{sm}.out", "dsmem", LINE_BYTES / fabric.sm_bytes_per_cycle, fabric.latency),
    ]


def _crossings(machine: Machine) -> list[tuple[int, int]]:
    parts = range(machine.spec.l2.partitions)
    return [(source, target) for source in parts for target in parts if source != target]


def _memory_edges(machine: Machine) -> list[tuple[str, str]]:
    edges = [(DRAM, f"l2.p{part}") for part in range(machine.spec.l2.partitions)]
    for source, target in _crossings(machine):
        crossing = f"l2.p{source}to{target}"
        edges += [(DRAM, crossing), (crossing, f"l2.p{target}")]
    for gpc, part in enumerate(machine.partition_of_gpc.tolist()):
        edges.append((f"l2.p{part}", f"gpc{gpc}.in"))
    return edges


def _sm_edges(machine: Machine, sm: int) -> list[tuple[str, str]]:
    gpc = int(machine.gpc_of[sm])
    peers = [peer for peer in machine.floorplan.gpcs[gpc].sms if peer != sm]
    part = int(machine.partition_of_gpc[gpc])
    edges = [(f"sm{sm}.tma", f"l2.p{part}"), (f"gpc{gpc}.in", f"sm{sm}.in")]
    return edges + [(f"sm{sm}.out", f"sm{peer}.in") for peer in peers]


def _split_slices(graph: nx.DiGraph[str], machine: Machine) -> None:
    """Replace the port of each partition by its slices."""
    for number, part in enumerate(machine.slice_partition.tolist()):
        group, name = f"l2.p{part}", f"l2.slice{number}"
        attributes = graph.nodes[group]
        graph.add_node(name, **{**attributes, "capacity": machine.slice_bytes_per_cycle, "servers": 1})
        graph.add_edges_from((before, name) for before in graph.predecessors(group))
        graph.add_edges_from((name, after) for after in list(graph.successors(group)))
    graph.remove_nodes_from([f"l2.p{part}" for part in range(machine.spec.l2.partitions)])
