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
        "one_box", "latency of the L2, from one box at a time on an idle chip",
        (Parameter(("l2.latency",), 20, 600),),
        (Probe({"kind": "latency", "memory": "l2"}),), "mean",
        ("only the whole way is measured: how its latency divides among the blocks is assumed",),
    ),
    LeastSquares(
        "boxes", "what a load behind another costs, and a loop within a loop, from stages of 1 to 16 boxes",
        (Parameter(("costs.tma_load.*.next",), 0.5, 60, 0.1),
         Parameter(("costs.tma_load.*.wrap",), 0.5, 60, 0.1),
         Parameter(("costs.loop.*.nested",), 0.5, 100, 0.1)),
        (Probe({"experiment": "slices", "place": "one", "slices": (4, 8, 32), "stages": 4}),
         Probe({"experiment": "fresh", "kind": "off the grid", "boxes": 1, "stages": 4, "ctas": (2, 8)}),
         Probe({"experiment": "fresh", "kind": "promotion", "memory": "l2", "boxes": 2, "ctas": 8})),
        notes=("what the first load of a stage costs and what the loop around it does are one sum",),
    ),
    LeastSquares(
        "one_box_hbm", "what a miss adds to a hit, from loops over HBM with one or two boxes in flight",
        (Parameter(("hbm.latency",), 20, 1500),),
        (Probe({"experiment": "depth", "memory": "hbm", "rows": (8, 32, 64), "sms": (1, 16, -16),
                "stages": (1, 2)}, 10),),
        notes=("the way of one row alone, 264 cycles on the nearer side, is not among the points",),
    ),
    LeastSquares(
        "acquire", "what an acquire at cluster scope takes longer after a load, from one box before each",
        (Parameter(("tma.acquire_latency",), 1, 1000), Parameter(("tma.acquire_interval",), 0.1, 20)),
        (Probe({"kind": "after_sync", "warps": 1, "before": ("cluster acq_rel", "fence cluster"),
                "rows": (8, 32, 64, 128)}),
         Probe({"experiment": "article_steps", "stamps": "plain", "way": "unicast"})),
    ),
    LeastSquares(
        "sm_port", "what one SM takes in, from private streams on a few SMs of one GPC and large multicasts",
        (Parameter(("xbar.sm_bytes_per_cycle",), 50, 200),),
        (Probe({"experiment": "private_port", "group": 1, "count": (1, 2, 4, 6)}),
         Probe({"experiment": "wide", "round": 0, "case.cluster": (10, 12, 14, 16), "case.rows": 256,
                "case.stages": 6}, 8)),
    ),
    LeastSquares(
        "gpc_port", "what one GPC takes in, from private streams on 8 to 16 SMs of one GPC",
        (Parameter(("xbar.gpc_bytes_per_cycle",), 200, 2000),),
        (Probe({"experiment": "private_port", "group": 1, "count": (8, 9, 10, 12, 14, 16)}),),
    ),
    Scan(
        "window", "lines with which reads merge, and that wait before that ends, from readers a time apart",
        (Values("lrc.answers", (60, 100, 130, 150, 200)), Values("lrc.entries", (60, 100, 150, 250, 400))),
        (Probe({"experiment": "readers", "place": ("gpc", "chip"), "cluster": (2, 4), "lag": (100, 400)}),
         Probe({"experiment": ("dataset", "race"), "case.mode": "unicast", "case.pattern": "hot",
                "case.cluster": (3, 4, 6, 16), "case.stages": (3, 4, 6)}, 2)),
        notes=("lrc.held is counted: the share that is looked up rises at a lag of 70 to 140 lines",),
    ),
    Scan(
        "chip", "responses that wait at a port before slices are held up, from loops on many SMs",
        (Values("xbar.port_lines", (60, 100, 150, 200, 300, 600)),),
        (Probe({"experiment": "in_flight", "case.mode": "unicast_distinct", "case.rows": (128, 256),
                "case.stages": 4}, 5),
         Probe({"experiment": "scaling", "case.mode": "unicast_distinct", "case.cluster": (8, 16),
                "case.rows": (128, 256), "case.stages": 4}),
         Probe({"experiment": "curve", "curve": ("distinct", "multicast_c2", "shared_c2"), "pace": (0, 60)}),
         Probe({"experiment": "scaling", "case.mode": "multicast", "case.cluster": (1, 2),
                "case.rows": (64, 128)}, 3)),
    ),
    LeastSquares(
        "wide", "what an SM takes in of a multicast to 16 SMs, from clusters of one GPC and of the chip",
        (Parameter(("xbar.wide_bytes_per_cycle",), 50, 110),),
        (Probe({"experiment": "wide", "before": 1, "case.cluster": 16}, 14),),
    ),
    Scan(
        "lanes", "lanes in front of a CPC and lines that wait at an SM, from clusters of 2 to 8",
        (Values("xbar.cpc_lanes", (8, 12, 16, 24, 47)), Values("xbar.ingress_lines", (1, 2, 3, 4, 6))),
        (Probe({"experiment": "fan_out_gpc", "case.mode": ("multicast", "multicast_slices"),
                "case.rows": (128, 256), "count": (8, 12, 16)}, 8),
         Probe({"experiment": "scaling", "case.mode": "multicast", "case.cluster": (4, 8),
                "case.rows": (128, 256)}, 4)),
    ),
    LeastSquares(
        "fan_out", "what a response to several SMs takes longer, from multicast with few boxes in flight",
        (Parameter(("lrc.fan_out_latency",), 1, 400, 0.1),),
        (Probe({"experiment": "in_flight", "case.mode": "multicast", "case.cluster": (2, 4),
                "case.stages": (1, 2), "place": ("gpc", "four_of_each")}, 10),),
        notes=("one box at a time shows 3 to 7 cycles, loops more: one number stands for both",),
    ),
    LeastSquares(
        "arrivals", "between remote arrivals at a barrier, from small boxes by a leader in clusters of 16",
        (Parameter(("fabric.arrive_interval",), 0.5, 60, 0.1),),
        (Probe({"experiment": ("in_flight", "scaling"), "case.mode": ("multicast", "multicast_slices"),
                "case.cluster": 16, "case.rows": (16, 32, 64), "case.stages": 4}),),
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
    ),
    LeastSquares(
        "acknowledge", "what a received line takes of an SM's way out, from bulk copies both ways",
        (Parameter(("fabric.acknowledge_interval",), 0.01, 5, 0.1),),
        (Probe({"experiment": "pairs", "pattern": "exchange", "pairs": (1, 2, 3)}),
         Probe({"experiment": "cluster", "place": "alone", "cluster": 4})),
    ),
    LeastSquares(
        "gpc_copies", "what the SMs of a CPC send together, from bulk copies with all SMs of a GPC sending",
        (Parameter(("fabric.cpc_bytes_per_cycle",), 24, 512), Parameter(("fabric.tpc_crossing",), 1, 3)),
        (Probe({"experiment": "pairs", "pattern": "exchange", "pairs": (8, 9)}),
         Probe({"experiment": "cluster", "place": "chip", "cluster": (4, 16)})),
    ),
    LeastSquares(
        "copies", "what the first line of a copy takes, from copies that two CTAs send each other in turn",
        (Parameter(("tma.copy_launch_latency",), 1, 300, 0.1),),
        (Probe({"kind": "round_trip", "operation": "bulk_copy", "bytes": (16, 128, 512, 4096)}),),
    ),
    Scan(
        "small_copies", "between the starts of copies, from phases of eight small ones",
        (Values("tma.copy_interval", (0, 6, 12, 18, 20, 23, 26, 30)),),
        (Probe({"experiment": "size", "bytes": (16, 64, 256)}),),
    ),
    LeastSquares(
        "way_out", "what a request takes of an SM's way out, from loads of the L2 beside pushes",
        (Parameter(("xbar.request_interval",), 0.05, 4, 0.1),),
        (Probe({"experiment": "beside", "who": "both", "cluster": 2, "place": "alone"}),
         Probe({"experiment": "beside_kind", "kind": ("bulk_one_way", "st_async_one_way")})),
    ),
    LeastSquares(
        "batches", "what remote loads cost their threads, from loops of one and more loads a thread",
        (Parameter(("costs.remote_ld.warp*.issue",), 1, 300, 0.1),
         Parameter(("costs.remote_ld.*.next",), 0.5, 100, 0.2)),
        (Probe({"experiment": "load", "warps": (1, 4)}, 12),),
    ),
    LeastSquares(
        "few_copies", "what it takes to find the ranks of a mask, from copies of 2 KB or in few stages",
        (Parameter(("costs.mask.*.issue",), 1, 300, 0.1),),
        (Probe({"experiment": "depth", "stages": (1, 2), "bytes": (2048, 16384)}),
         Probe({"experiment": "fresh", "kind": "push", "tile": 2048})),
    ),
    LeastSquares(
        "thread_stores", "what stores of an unrolled loop cost, from remote and asynchronous ones",
        (Parameter(("costs.st_async.*.start",), 1, 800, 0.1),
         Parameter(("costs.st_async.*.packet",), 0.1, 50, 0.1),
         Parameter(("costs.st_async.*.next",), 1, 100, 0.1),
         Parameter(("costs.remote_st.*.next",), 0.5, 100, 0.2)),
        (Probe({"experiment": "st_async", "warps": (1, 4)}), Probe({"experiment": "store", "warps": (1, 4)})),
    ),
    LeastSquares(
        "loops", "cost of a loop and of a timed spin, from loops of tiny boxes that threads alone hold up",
        (Parameter(("costs.loop.*.issue",), 1, 200, 0.1), Parameter(("costs.compute.*.issue",), 1, 200, 0.1)),
        (Probe({"experiment": "scaling", "case.rows": 16, "case.cluster": (1, 2)}, 6),
         Probe({"experiment": "dataset", "case.rows": (8, 16, 32), "case.stages": (4, 6, 8),
                "case.memory": "l2", "case.compute": (200, 600)}, 6)),
        notes=("a loop's own cost and that of a load in it are not told apart; the load's stays as it was",),
    ),
    LeastSquares(
        "paced", "what a timed spin takes longer right after a load or copy, from paced boxes and pushes",
        (Parameter(("costs.compute.*.after_tma",), 1, 200, 0.1),),
        (Probe({"experiment": "curve", "curve": ("distinct", "shared_c4", "multicast_c4", "push_c4"),
                "pace": (50, 130, 250, 400, 600, 800, 1500)}, 10),),
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
