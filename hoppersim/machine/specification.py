"""The typed, frozen specification of a machine. Numbers come from presets; none stands here.

Every field names its unit in its annotation; a preset repeats the unit, gives the value and its origin.
"Cycle" is an SM cycle unless the unit says otherwise.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

LARGEST = {
    "cycle": 1e6,
    "L2 cycle": 1e6,
    "GHz": 100.0,
    "ratio": 100.0,
    "B": 2**32,
    "B/cycle": 1e9,
    "B/L2 cycle": 1e9,
    "B/s": 1e18,
    "channel": 4096,
    "slice": 4096,
    "lane": 64,
    "line": 2**20,
    "request": 2**20,
    "thread": 2**16,
    "CTA": 2**10,
}
"""What no machine exceeds, by unit: a slip of the pen, not a design."""
SMALLEST = {"GHz": 0.01, "ratio": 0.01, "B/cycle": 0.1, "B/L2 cycle": 0.1, "B/s": 1e9}
"""What no machine falls below, by unit, where nothing else is said."""

MOST_KEPT = 2**24
"""Lines that the coalescers of all slices keep for all GPCs."""


def _unit(name: str, description: str, **bounds: Any) -> msgspec.Meta:
    if name in LARGEST:
        bounds.setdefault("le", LARGEST[name])
    if name in SMALLEST:
        bounds.setdefault("ge", SMALLEST[name])
    return msgspec.Meta(description=description, extra={"unit": name}, **bounds)


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Common shape of all sections."""


class Clocks(_Section, frozen=True):
    """The three clock domains."""

    sm_ghz: Annotated[float, _unit("GHz", "SM clock under load")]
    l2_ratio: Annotated[float, _unit("ratio", "L2 and crossbar clock over SM clock")]
    hbm_ratio: Annotated[float, _unit("ratio", "HBM command clock over SM clock")]


class Launch(_Section, frozen=True):
    """How CTAs start."""

    start_spread: Annotated[
        float, _unit("cycle", "CTA starts are spread evenly over this time, by seed", ge=0)
    ]
    shared_bytes_per_sm: Annotated[int, _unit("B", "shared memory that the CTAs of an SM share", ge=1)]
    shared_bytes_per_cta: Annotated[int, _unit("B", "largest dynamic shared memory of a CTA", ge=1)]
    shared_reserved: Annotated[int, _unit("B", "shared memory taken by the system for each CTA", ge=0)]
    threads_per_sm: Annotated[int, _unit("thread", "resident threads of an SM", ge=32)]
    ctas_per_sm: Annotated[int, _unit("CTA", "resident CTAs of an SM", ge=1)]
    threads_per_cta: Annotated[int, _unit("thread", "threads of a CTA", ge=32)]
    cluster_portable: Annotated[int, _unit("CTA", "largest cluster without opting in", ge=1)]
    cluster_max: Annotated[int, _unit("CTA", "largest cluster with opting in", ge=1, le=16)]


class Tma(_Section, frozen=True):
    """The TMA engine of an SM."""

    launch_latency: Annotated[
        float, _unit("cycle", "end of the issuing instruction to the first line request", gt=0)
    ]
    copy_launch_latency: Annotated[
        float, _unit("cycle", "end of the issuing instruction to the first line of a copy to a peer", gt=0)
    ]
    copy_interval: Annotated[float, _unit("cycle", "between the starts of copies to peers", ge=0)]
    store_launch_latency: Annotated[
        float, _unit("cycle", "end of the issuing instruction to the first line that a store reads", gt=0)
    ]
    line_interval: Annotated[float, _unit("cycle", "between line requests of a box", gt=0)]
    box_interval: Annotated[float, _unit("cycle", "extra time of a box after its last line", ge=0)]
    acquire_latency: Annotated[
        float, _unit("cycle", "what an acquire at cluster scope takes longer after a load into its SM", ge=0)
    ]
    acquire_interval: Annotated[
        float, _unit("cycle", "and for each line that was loaded since the last one", ge=0)
    ]
    completion_latency: Annotated[float, _unit("cycle", "last byte in SMEM to the barrier's update", gt=0)]


class Lrc(_Section, frozen=True):
    """The L2 request coalescer in front of every slice."""

    enabled: Annotated[int, _unit("flag", "1: merge reads of one line by several SMs", ge=0, le=1)]
    entries: Annotated[
        int,
        _unit("line", "different ones whose data a slice has not read; reads of them merge", ge=1),
    ]
    answers: Annotated[int, _unit("line", "whose data a slice has read and that wait for a port", ge=0)]
    held: Annotated[int, _unit("line", "that a slice keeps for each GPC, whose look-up others share", ge=1)]
    linger: Annotated[int, _unit("cycle", "for which its look-up is shared after its response left", ge=0)]
    fan_out_latency: Annotated[float, _unit("cycle", "what a response to several SMs takes longer", ge=0)]
    max_merged: Annotated[
        int, _unit("request", "requests that one entry can serve, the first included", ge=1)
    ]


class Xbar(_Section, frozen=True):
    """The crossbar between the GPCs and the L2 slices."""

    request_latency: Annotated[float, _unit("cycle", "TMA engine to the crossbar", gt=0)]
    request_interval: Annotated[
        float, _unit("cycle", "of an SM's way out, for each line request of its TMA engine", gt=0)
    ]
    gpc_bytes_per_cycle: Annotated[float, _unit("B/cycle", "what one GPC takes in from the L2")]
    sm_bytes_per_cycle: Annotated[float, _unit("B/cycle", "what one SM takes in")]
    wide_bytes_per_cycle: Annotated[
        float, _unit("B/cycle", "what one SM takes in of a multicast to 13 and more SMs, where it is slowed")
    ]
    wide_slowed: Annotated[
        int,
        _unit(
            "flag",
            "1: responses went to one SM of each TPC, which slows multicasts to 13 SMs and more",
            ge=0,
            le=1,
        ),
    ]
    store_bytes_per_cycle: Annotated[float, _unit("B/cycle", "what one SM stores by TMA")]
    cpc_store_bytes_per_cycle: Annotated[float, _unit("B/cycle", "what the SMs of a CPC store together")]
    response_latency: Annotated[float, _unit("cycle", "GPC port to SM ingress", gt=0)]
    branch_behind_port: Annotated[
        int,
        _unit("flag", "1: a response to several SMs passes its GPC port once; 0: once for each", ge=0, le=1),
    ]
    cpc_lanes: Annotated[
        int, _unit("lane", "queues in front of a CPC for responses to several SMs", ge=1, le=64)
    ]
    ingress_lines: Annotated[
        int, _unit("line", "of these, what waits at an SM before it holds up their lane", ge=1)
    ]
    port_lines: Annotated[
        int, _unit("line", "responses that wait at a GPC port before slices are held up", ge=1)
    ]


class L2(_Section, frozen=True):
    """The L2 slices in their partitions, and the fabric between the partitions."""

    slices: Annotated[int, _unit("slice", "L2 slices of the chip", ge=1)]
    partitions: Annotated[int, _unit("partition", "partitions of the L2", ge=1, le=2)]
    bytes: Annotated[int, _unit("B", "capacity of the whole L2", ge=4096)]
    slice_bytes_per_l2_cycle: Annotated[float, _unit("B/L2 cycle", "what one slice delivers")]
    banks: Annotated[int, _unit("bank", "banks of a slice, each with its share of that rate", ge=1, le=64)]
    latency: Annotated[
        float, _unit("cycle", "TMA request to slice and back to the GPC port, mean, hit", gt=0)
    ]
    look_up_interval: Annotated[
        float, _unit("L2 cycle", "between the look-ups of a slice, whatever their bytes", gt=0)
    ]
    write_bytes_per_l2_cycle: Annotated[float, _unit("B/L2 cycle", "what one slice takes in")]
    store_lines: Annotated[int, _unit("line", "stored lines on their way to a slice", ge=1)]
    access_latency: Annotated[float, _unit("cycle", "of that, from the slice's look-up to its data", gt=0)]
    fabric_bytes_per_cycle: Annotated[float, _unit("B/cycle", "between the partitions, each way")]
    fabric_latency: Annotated[float, _unit("cycle", "one partition to the other", gt=0)]


class Hbm(_Section, frozen=True):
    """The HBM stacks behind the L2."""

    channels: Annotated[int, _unit("channel", "DRAM channels of the chip", ge=1)]
    bytes_per_second: Annotated[float, _unit("B/s", "peak rate of all channels")]
    efficiency: Annotated[float, _unit("ratio", "share of the peak that a stream reaches", le=1)]
    latency: Annotated[float, _unit("cycle", "what a miss adds to a hit", gt=0)]


class ClusterFabric(_Section, frozen=True):
    """The SM-to-SM network of a GPC."""

    latency: Annotated[float, _unit("cycle", "one way, SM to SM", gt=0)]
    arrive_interval: Annotated[
        float, _unit("cycle", "between the remote barrier operations that one SM takes in", ge=0)
    ]
    sm_bytes_per_cycle: Annotated[float, _unit("B/cycle", "what one SM sends")]
    cpc_bytes_per_cycle: Annotated[float, _unit("B/cycle", "what the SMs of a CPC send together")]
    tpc_crossing: Annotated[
        float, _unit("ratio", "what a byte that leaves its TPC takes of that, one that stays takes 1", ge=1)
    ]
    acknowledge_interval: Annotated[
        float, _unit("cycle", "of an SM's way out, for each line that it takes in from a peer", gt=0)
    ]


class Smem(_Section, frozen=True):
    """Shared memory of an SM."""

    bytes_per_cycle: Annotated[float, _unit("B/cycle", "local reads of one SM")]
    latency: Annotated[float, _unit("cycle", "one local read", gt=0)]


class Specification(_Section, frozen=True):
    """A whole machine, less its floorplan and its tables.

    `costs` maps the cost keys of operations (see `hoppersim.program.costs`) to SM cycles.
    """

    name: str
    clocks: Clocks
    launch: Launch
    tma: Tma
    lrc: Lrc
    xbar: Xbar
    l2: L2
    hbm: Hbm
    fabric: ClusterFabric
    smem: Smem
    costs: dict[str, Annotated[float, _unit("cycle", "time on the issuing thread", ge=0)]]
