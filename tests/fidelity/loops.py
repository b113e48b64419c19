"""Loops that several fidelity tests simulate: one box at a time, and what their stamps say."""

from __future__ import annotations

from hoppersim.engine.simulate import simulate_raw
from hoppersim.machine.machine import Machine
from hoppersim.program import (
    Affine,
    Allocation,
    Barrier,
    Buffer,
    ExpectTx,
    Flow,
    For,
    Launch,
    Program,
    Role,
    Stamp,
    TensorMap,
    TmaLoad,
    Wait,
    Work,
)
from hoppersim.program.case_spec import ALONE_ON_SM
from hoppersim.units import to_cycles

BEFORE, AFTER = "before", "after"


def one_box_at_a_time(
    ctas: int, rows: int, row_bytes: int = 128, boxes: int = 4, warm: int = 1, stride: int = 256
) -> Work:
    """Load boxes one by one on one SM after the other, at addresses of their own, between two stamps.

    Parameters
    ----------
    ctas
        CTAs, one on each SM.
    rows, row_bytes
        A box.
    boxes
        Boxes of each CTA.
    warm
        Launches before the timed one; 0 reads from a cold L2.
    stride
        Rows from one box to the next, so that boxes of few rows lie on many slices.
    """
    body = (
        Stamp(BEFORE),
        ExpectTx("full", rows * row_bytes),
        TmaLoad("tiles", (0, Affine(cluster=boxes * stride, loops={"i": stride})), "tile", "full"),
        Wait("full"),
        Stamp(AFTER),
    )
    size = ctas * boxes * stride
    program = Program(
        "one box at a time",
        roles=(Role("role", (For(boxes, body, 1, "i"),)),),
        buffers=(Buffer("tile", max(rows * row_bytes, 128)), Buffer("alone on its SM", ALONE_ON_SM)),
        barriers=(Barrier("full", 1),),
        maps=(TensorMap("tiles", "data", (row_bytes // 2, size), (row_bytes // 2, rows)),),
    )
    memory = (Allocation("data", size * row_bytes),)
    return Work((Flow(program, Launch(memory, grid=ctas, skew=Affine(cluster=5_000 * boxes), warm=warm)),))


def stamped_times(machine: Machine, work: Work) -> list[float]:
    """Give the SM cycles between each two stamps of every CTA, the cost of the first one included."""
    ctas = simulate_raw(machine, work, watch=False).ctas
    return [
        to_cycles(after - before)
        for cta in ctas
        for (_, _, before), (_, _, after) in zip(cta.stamps[::2], cta.stamps[1::2], strict=True)
    ]
