"""The steps of a calibration, in their order: what each fits, and from which points.

A step works on the machine that the steps before it left. Each has at most a dozen points, those that hardly
react to anything but its own numbers.
"""

from __future__ import annotations

from hoppersim.errors import InputError
from hoppersim.machine.rules import closest
from hw_validate.fit.least import LeastSquares, Parameter
from hw_validate.fit.outcome import Step
from hw_validate.fit.pair_table import PairTable
from hw_validate.fit.residuals import Probe
from hw_validate.fit.scan import Scan, Values
from hw_validate.fit.slopes import Slopes

STEPS: tuple[Step, ...] = (
    Slopes(),
    PairTable(),
    LeastSquares(
        "round_trips", "what a waiter takes to go on after a phase flips, from two roles that answer in turn",
        (
            Parameter(("costs.wait.lane.try.wake",), 1, 200, 0.1),
            Parameter(("costs.wait.warp*.try.wake",), 1, 200, 0.1),
            Parameter(("costs.wait.lane.test.wake",), 1, 200, 0.1),
            Parameter(("costs.wait.warp*.test.wake",), 1, 200, 0.1),
        ),
        (Probe({"kind": "ping_pong", "release": "cta"}),),
        notes=("an arrive's effect and a wait's wake show as their sum; the effect stays as it was",),
    ),
    LeastSquares(
        "one_box", "latency of the L2 and pace of the TMA engine, from one box at a time on an idle chip",
        (Parameter(("l2.latency",), 20, 600), Parameter(("tma.line_interval",), 0.5, 4)),
        (Probe({"kind": "latency", "memory": "l2"}),), "mean",
        ("only the whole way is measured: how its latency divides among the blocks is assumed",),
    ),
    Scan(
        "boxes", "extra time of a box after its last line, from one SM with four boxes a stage and with one",
        (Values("tma.box_interval", (0, 1, 2, 4, 6, 8, 10, 12, 16)),),
        (Probe({"experiment": ("width", "shift"), "ctas": 1, "boxes": 4, "shift": 0, "width": (128, 256)}),
         Probe({"experiment": "private_port", "group": 1, "count": 1})),
        notes=("what the engine takes for a box, and its thread for a load, are not told apart",),
    ),
    LeastSquares(
        "one_box_hbm", "what a miss adds to a hit, from loops over HBM with one or two boxes in flight",
        (Parameter(("hbm.latency",), 20, 1500),),
        (Probe({"experiment": "depth", "memory": "hbm", "rows": (8, 32, 64), "sms": (1, 16, -16),
                "stages": (1, 2)}, 10),),
        notes=("the way of one row alone, 264 cycles on the nearer side, is not among the points",),
    ),
    LeastSquares(
        "descriptor", "what a load takes longer after an acquire, from one box after each kind of sync",
        (Parameter(("tma.descriptor_latency",), 1, 1000),),
        (Probe({"kind": "after_sync", "warps": 1}),),
    ),
    LeastSquares(
        "sm_port", "what one SM takes in, from private streams on a few SMs of one GPC",
        (Parameter(("xbar.sm_bytes_per_cycle",), 50, 200),),
        (Probe({"experiment": "private_port", "group": 1, "count": (1, 2, 4, 6)}),),
    ),
    LeastSquares(
        "gpc_port", "what one GPC takes in, from private streams on 8 to 16 SMs of one GPC",
        (Parameter(("xbar.gpc_bytes_per_cycle",), 200, 2000),),
        (Probe({"experiment": "private_port", "group": 1, "count": (8, 9, 10, 12, 14, 16)}),),
    ),
    LeastSquares(
        "chip", "responses that wait at a port before slices are held up, from private streams on every GPC",
        (Parameter(("xbar.port_lines",), 16, 20000, 0.25),),
        (Probe({"experiment": "private_chip", "count": (5, 6, 8, 10, 12, 14, 16)}),),
    ),
    Scan(
        "lanes", "lanes in front of a CPC and lines that wait at an SM, from clusters of 2 and 4 in one GPC",
        (Values("xbar.cpc_lanes", (2, 3, 4, 6, 8, 12)), Values("xbar.ingress_lines", (1, 2, 4, 8))),
        (Probe({"experiment": "fan_out_gpc", "case.mode": ("multicast", "multicast_slices"),
                "case.rows": (128, 256), "count": (8, 12, 16)}, 8),),
    ),
    LeastSquares(
        "fan_out", "what a response to several SMs takes longer, from multicast with few boxes in flight",
        (Parameter(("lrc.fan_out_latency",), 1, 400, 0.1),),
        (Probe({"experiment": "in_flight", "case.mode": "multicast", "case.cluster": (2, 4),
                "case.stages": (1, 2), "place": ("gpc", "four_of_each")}, 10),),
        notes=("one box at a time shows 3 to 7 cycles, loops more: one number stands for both",),
    ),
    LeastSquares(
        "arrivals", "between remote arrivals at a barrier, from multicast by a leader in clusters of 16",
        (Parameter(("fabric.arrive_interval",), 0.5, 60, 0.1),),
        (Probe({"experiment": "in_flight", "case.mode": "multicast", "case.cluster": 16}, 10),),
    ),
    LeastSquares(
        "hbm_stream", "share of the peak that HBM reaches, from distinct tiles of which many are in flight",
        (Parameter(("hbm.efficiency",), 0.3, 1.0, 0.03),),
        (Probe({"experiment": "scaling_hbm", "case.rows": 256, "case.cluster": (1, 4, 16),
                "case.mode": "unicast_distinct"}),
         Probe({"experiment": "dataset", "case.memory": "hbm", "case.rows": (128, 192, 256),
                "case.stages": (4, 6, 8), "case.mode": "unicast_distinct"}, 4)),
    ),
    LeastSquares(
        "stores", "what one SM stores by TMA, from stores of one CTA",
        (Parameter(("xbar.store_bytes_per_cycle",), 4, 128),),
        (Probe({"experiment": "rate", "ctas": 1, "rows": (64, 128, 256)}, 8),),
    ),
    LeastSquares(
        "dsmem", "what one SM sends to others, from bulk copies one way between few pairs of a GPC",
        (Parameter(("fabric.sm_bytes_per_cycle",), 4, 128),),
        (Probe({"experiment": "pairs", "pattern": "one_way", "pairs": (1, 2, 4)}),
         Probe({"experiment": "size", "pattern": "one_way", "bytes": 4096})),
        notes=("an SM that receives while it sends gets 8 % less, which has no number of its own",),
    ),
    LeastSquares(
        "gpc_copies", "what the TPCs of a GPC send together, from bulk copies with all of its SMs sending",
        (Parameter(("fabric.tpc_bytes_per_cycle",), 8, 256),),
        (Probe({"experiment": "pairs", "pairs": (7, 8, 9)}),
         Probe({"experiment": "cluster", "place": "alone", "cluster": 16})),
    ),
    LeastSquares(
        "remote_loads", "what a remote load costs its thread, from copies of one in a loop",
        (Parameter(("costs.remote_ld.*.issue",), 1, 200, 0.1),),
        (Probe({"kind": "fabric_slope", "operation": ("remote_ld 4", "remote_ld 16"), "copies": 8}),),
    ),
    LeastSquares(
        "local_reads", "latency of own shared memory and what a read costs its thread, from reads in a loop",
        (Parameter(("smem.latency",), 1, 200, 0.1), Parameter(("costs.local_read.*.issue",), 1, 200, 0.1)),
        (Probe({"kind": "fabric_slope", "copies": 4, "warps": (1, 4),
                "operation": tuple(f"local_read {size} 16" for size in (512, 2048, 8192, 16384))}),),
    ),
    LeastSquares(
        "loops", "cost of a loop and of a timed spin, from loops of tiny boxes that threads alone hold up",
        (Parameter(("costs.loop.*.issue",), 1, 200, 0.1), Parameter(("costs.compute.*.issue",), 1, 200, 0.1)),
        (Probe({"experiment": "scaling", "case.rows": 16, "case.cluster": (1, 2)}, 6),
         Probe({"experiment": "dataset", "case.rows": (8, 16, 32), "case.stages": (4, 6, 8),
                "case.memory": "l2", "case.compute": (200, 600)}, 6)),
        notes=("a loop's own cost and that of a load in it are not told apart; the load's stays as it was",),
    ),
)  # fmt: skip
"""In the order in which they are worked out."""


def chosen_steps(names: tuple[str, ...]) -> list[Step]:
    """Give the named steps in their order; all without names.

    Raises
    ------
    InputError
        If there is no step of a name.
    """
    known = [step.name for step in STEPS]
    for name in names:
        if name not in known:
            raise InputError("--only", name, f"must be one of {', '.join(known)}", closest(name, known))
    return [step for step in STEPS if not names or step.name in names]
