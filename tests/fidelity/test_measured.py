"""Figures that were measured on an H200 before the model was made come out within 10 %."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, median

import pytest
from msgspec.structs import replace

from hoppersim.engine.simulate import simulate_raw
from hoppersim.machine.loading import load_machine
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
from hoppersim.program.cases import Case, build_case
from hoppersim.program.work import SmSet
from hoppersim.result.api import simulate
from hoppersim.units import to_cycles

WITHIN = 0.10
ISSUE_CYCLES = 87
"""What arrive.expect_tx and the issue of the load took of the thread in those measurements."""
CTAS, BOXES, MOST_ROWS = 132, 4, 256


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


def _one_box_at_a_time(rows: int) -> Work:
    """Load boxes of 128-byte rows one by one on one SM after the other, at addresses of their own."""
    place = Affine(cluster=BOXES * MOST_ROWS, loops={"i": MOST_ROWS})
    body = (
        Stamp("before"),
        ExpectTx("full", rows * 128),
        TmaLoad("tiles", (0, place), "tile", "full"),
        Wait("full"),
        Stamp("after"),
    )
    size = CTAS * BOXES * MOST_ROWS
    program = Program(
        "one box at a time",
        roles=(Role("role", (For(BOXES, body, 1, "i"),)),),
        buffers=(Buffer("tile", MOST_ROWS * 128), Buffer("alone on its SM", ALONE_ON_SM)),
        barriers=(Barrier("full", 1),),
        maps=(TensorMap("tiles", "data", (64, size), (64, rows)),),
    )
    launch = Launch((Allocation("data", size * 128),), grid=CTAS, skew=Affine(cluster=12_000), warm=1)
    return Work((Flow(program, launch),))


@pytest.mark.parametrize(("rows", "cycles"), [(1, 251), (32, 312), (64, 355), (128, 433), (256, 602)])
def test_one_box_on_an_l2_hit_takes_the_measured_time(h200: Machine, rows: int, cycles: int) -> None:
    ctas = simulate_raw(h200, _one_box_at_a_time(rows), watch=False).ctas
    assert {cta.sm for cta in ctas} == set(range(CTAS))
    assert all(one.end < other.start for one, other in pairwise(ctas))
    times = [
        to_cycles(after - before)
        for cta in ctas
        for (_, _, before), (_, _, after) in zip(cta.stamps[::2], cta.stamps[1::2], strict=True)
    ]
    assert len(times) == CTAS * BOXES
    assert median(times) - h200.cost("stamp.issue") - ISSUE_CYCLES == pytest.approx(cycles, rel=WITHIN)


RATES = {
    "one SM alone": (Case("unicast_distinct", sms=SmSet(gpcs=(1,), per_gpc=1)), 105),
    "16 SMs of a GPC, private tiles": (Case("unicast_distinct", sms=SmSet(gpcs=(1,))), 40),
    "all SMs, multicast to two": (Case("multicast", 2), 68),
}
"""L2-resident loads of 32 KB boxes: what each SM receives on average [B/cycle]."""


@pytest.mark.parametrize("name", RATES)
def test_an_l2_resident_stream_runs_at_the_measured_rate(h200: Machine, name: str) -> None:
    case, rate = RATES[name]
    result = simulate(h200, build_case(replace(case, rows=256, pattern="sweep")))
    assert fmean(figures.rate for figures in result.per_sm) == pytest.approx(rate, rel=WITHIN)
