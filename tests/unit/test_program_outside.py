"""What lies out of bounds of the boxes that a work loads."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hoppersim.machine.machine import Machine
from hoppersim.program import (
    Affine,
    Barrier,
    Buffer,
    ExpectTx,
    Flow,
    For,
    Launch,
    Operand,
    Role,
    TensorMap,
    TmaLoad,
    Wait,
    Work,
    make_work,
)
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.outside import outside_bytes
from hoppersim.result.api import simulate

BOX = 16 * 128
TRIPS = 3


def _loads(first: tuple[Operand, Operand], mask: int | None = None) -> Work:
    """Let rank 0 of two clusters of two CTAs load boxes of a tensor of 64 x 100 elements; a multicast one."""
    trips = TRIPS if mask is None else 1
    body = (ExpectTx("full", BOX), TmaLoad("tiles", first, "tile", "full", mask=mask), Wait("full"))
    peer = (ExpectTx("full", BOX), Wait("full"))
    roles = (Role("leader", (For(trips, body, 1, "i"),), ranks=(0,)),)
    roles += (Role("peer", (For(trips, peer, 1, "i"),), ranks=(1,)),) if mask == 3 else ()
    tensor = TensorMap("tiles", "data", (64, 100), (64, 16))
    launch = Launch(grid=4, cluster=(2, 1, 1))
    return make_work("loads", roles, (Buffer("tile", BOX),), (Barrier("full", 1),), (tensor,), launch)


@pytest.mark.parametrize(
    ("first", "mask", "filled"),
    [
        ((0, 84), None, 0),
        ((0, 90), None, 2 * TRIPS * 6 * 128),
        ((0, -4), None, 2 * TRIPS * 4 * 128),
        ((8, 0), None, 2 * TRIPS * 16 * 16),
        ((0, 90), 3, 2 * 2 * 6 * 128),
        ((0, 200), None, 2 * TRIPS * BOX),
        ((0, Affine(70, loops={"i": 10})), None, 2 * 6 * 128),
        ((0, Affine(68, cluster=32)), None, TRIPS * BOX),
        ((0, Affine(loops={"i": 32}, wrap=96)), None, 0),
    ],
)
def test_what_is_not_read_is_filled_for_every_receiver(
    tiny: Machine, first: tuple[Operand, Operand], mask: int | None, filled: int
) -> None:
    work = _loads(first, mask)
    assert outside_bytes(tiny, work) == filled
    boxes = 2 * (2 if mask else TRIPS)
    assert simulate(tiny, work).delivered_bytes + filled == boxes * BOX


@pytest.mark.parametrize("mode", ["unicast", "unicast_distinct", "multicast", "multicast_slices"])
def test_no_case_goes_out_of_bounds(tiny: Machine, mode: str) -> None:
    assert outside_bytes(tiny, build_case(Case(mode, cluster=2, iterations=6, pattern="sweep"))) == 0


def test_boxes_of_too_many_ctas_to_look_at_are_not_added_up(tiny: Machine) -> None:
    work = build_case(Case("unicast", grid=2, iterations=6, pattern="sweep"))
    flow = work.flows[0]
    tall = replace(flow.program.maps[0], dims=(flow.program.maps[0].dims[0], 8))
    program = replace(flow.program, maps=(tall,))
    few, many = (Work((Flow(program, replace(flow.launch, grid=grid)),)) for grid in (2, 2**31 - 1))
    assert (outside_bytes(tiny, few) or 0) > 0
    assert outside_bytes(tiny, many) is None
