"""Works of impossible size, and amounts below nothing: found at once, by the field that says so."""

from __future__ import annotations

import time

import pytest
from msgspec.structs import replace

from hoppersim.engine.simulate import RunTooLongError
from hoppersim.errors import InputError
from hoppersim.machine.addresses import MOST_BYTES, PAGE_BYTES, AddressMap
from hoppersim.machine.machine import Machine
from hoppersim.program import (
    Affine,
    Allocation,
    Arrive,
    Barrier,
    Buffer,
    ExpectTx,
    For,
    Launch,
    Role,
    TensorMap,
    TmaLoad,
    Wait,
    Work,
    make_work,
)
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.operations import Compute, Operation, StoreWait, TmaStore
from hoppersim.program.rules import Violation, check
from hoppersim.program.walk import MOST_NESTED
from hoppersim.result.api import MOST_LISTED, IllegalWorkError, simulate

TILE = TensorMap("map", "data", (64, 1024), (64, 64))
LOOP = "flows[0].program.roles[0].body[0]"


def _work(*body: Operation, **parts: object) -> Work:
    buffers, barriers = (Buffer("tile", 8192),), (Barrier("full", 1),)
    return make_work("sizes", (Role("only", body),), buffers, barriers, (TILE,), **parts)  # type: ignore[arg-type]


def _load(place: Affine) -> tuple[Operation, ...]:
    return ExpectTx("full", 8192), TmaLoad("map", (0, place), "tile", "full"), Wait("full")


def _found(work: Work, machine: Machine | None = None) -> list[Violation]:
    """Check a work, which must take no time to speak of."""
    started = time.perf_counter()
    found = check(work, machine)
    assert time.perf_counter() - started < 2
    return found


@pytest.mark.parametrize(
    ("launch", "field", "nearest"),
    [
        ({"cluster": (2**62, 1, 1)}, "launch.cluster", 16),
        ({"cluster": (2**31, 2**31, 2)}, "launch.cluster", 16),
        ({"grid": 2**63}, "launch.grid", 2**31 - 1),
        ({"allocations": (Allocation("data", 2**62),)}, "launch.allocations[0].bytes", MOST_BYTES),
        (
            {"allocations": (Allocation("data", 2**37), Allocation("more", 2**37))},
            "launch.allocations[1].bytes",
            2**37 - PAGE_BYTES,
        ),
    ],
)
def test_a_launch_of_impossible_size_is_named_and_looked_at_no_further(
    tiny: Machine, launch: dict[str, object], field: str, nearest: object
) -> None:
    flow = build_case(Case("multicast", 2)).flows[0]
    work = Work((replace(flow, launch=replace(flow.launch, **launch)),))
    found = _found(work, tiny)
    assert [(item.code, item.field, item.nearest) for item in found] == [
        ("HS-LA-009", f"flows[0].{field}", nearest)
    ]
    with pytest.raises(IllegalWorkError):
        simulate(tiny, work)


@pytest.mark.parametrize(
    ("body", "field", "nearest"),
    [
        ((For(2**53, (Arrive("full"), Wait("full"))),), f"{LOOP}.n", 2**40),
        ((For(2**30, (For(2**20, (Arrive("full"), Wait("full"))),)),), f"{LOOP}.body[0].n", 2**10),
        ((For(4, (Arrive("full"),), stages=2**40),), f"{LOOP}.stages", 2**15),
        ((For(2**25, _load(Affine(loops={"i": 64}))),), f"{LOOP}.body[1].coordinates", None),
        ((For(2**20, _load(Affine(loops={"i": 2**53}))),), f"{LOOP}.body[1].coordinates.loops.i", 2**40),
    ],
)
def test_a_loop_of_impossible_size_is_named_and_looked_at_no_further(
    body: tuple[Operation, ...], field: str, nearest: object
) -> None:
    found = _found(_work(*body))
    assert [(item.code, item.field) for item in found] == [("HS-LA-009", field)]
    assert nearest is None or found[0].nearest == nearest


def test_a_long_loop_whose_operands_come_round_is_legal() -> None:
    place = Affine(loops={"i": 64}, wrap=1024)
    assert _found(_work(For(2**24, _load(place), stages=1))) == []


@pytest.mark.parametrize("depth", [MOST_NESTED + 1, 5 * MOST_NESTED])
def test_loops_lie_in_each_other_only_so_deep(tiny: Machine, depth: int) -> None:
    body: tuple[Operation, ...] = (Compute(1),)
    for _ in range(depth):
        body = (For(1, body),)
    with pytest.raises(InputError, match=r"program.roles\[0\] = 'only': at most 32 loops lie in each other"):
        check(_work(*body), tiny)


@pytest.mark.parametrize(
    ("body", "field", "value"),
    [
        ((Compute(-10),), "body[0].cycles", -10),
        ((For(20, (Compute(Affine(base=100, loops={"i": -10})),)),), "body[0].body[0].cycles", -90),
        ((TmaStore("map", (0, 0), "tile"), StoreWait(-1)), "body[1].pending", -1),
    ],
)
def test_nobody_computes_or_waits_for_less_than_nothing(
    body: tuple[Operation, ...], field: str, value: int
) -> None:
    found = [(item.code, item.field, item.value, item.nearest) for item in check(_work(*body))]
    assert found == [("HS-OP-013", f"flows[0].program.roles[0].{field}", value, 0)]


def test_allocations_of_all_flows_together_fit_the_address_space() -> None:
    with pytest.raises(InputError, match="all allocations together"):
        AddressMap.place([("0:data", 2**37, 0), ("1:data", 2**37, 0)])
    assert AddressMap.place([("0:data", MOST_BYTES, 0)]).end // 128 <= 2**31


def test_a_work_without_flows_cannot_be_simulated(tiny: Machine) -> None:
    with pytest.raises(InputError, match="a work has at least one flow"):
        simulate(tiny, Work(()))


def test_ten_thousand_boxes_of_which_the_bytes_do_not_add_up_are_soon_explained() -> None:
    small = TensorMap("map", "data", (64, 1024), (8, 1))
    loads = (TmaLoad("map", (0, 0), "tile", "full"),) * 10_000
    asks = Role("asks", (For(2, (Wait("free", "free"), ExpectTx("full", 160_016), *loads)),))
    uses = Role("uses", (For(2, (Wait("full"), Arrive("free"))),))
    barriers = Barrier("full", 1), Barrier("free", 1)
    work = make_work("many", (asks, uses), (Buffer("tile", 128),), barriers, (small,))
    started = time.perf_counter()
    assert [item.code for item in check(work)] == ["HS-MB-003"]
    assert time.perf_counter() - started < 4


def test_a_program_of_more_operations_than_any_kernel_has_is_looked_at_no_further(tiny: Machine) -> None:
    found = _found(_work(*(Arrive("full"),) * 99_999), tiny)
    assert [(item.code, item.field, item.value) for item in found] == [
        ("HS-LA-009", "flows[0].program.roles", 99_999)
    ]
    with pytest.raises(InputError, match="boxes = 99999: must lie from 1 to 16384"):
        build_case(Case("multicast", 2, boxes=99_999))


def test_an_error_lists_some_broken_rules_and_counts_the_others(tiny: Machine) -> None:
    body = (Compute(-1),) * (MOST_LISTED + 5)
    with pytest.raises(IllegalWorkError) as caught:
        simulate(tiny, _work(*body))
    assert len(caught.value.violations) == MOST_LISTED + 5
    assert str(caught.value).count("HS-OP-013") == MOST_LISTED
    assert "and 5 more" in str(caught.value)


def test_a_run_without_end_is_given_up_with_the_number_of_cycles_that_it_passed(tiny: Machine) -> None:
    with pytest.raises(RunTooLongError, match=r"max_cycles = 1099511627776.0: the run must end within"):
        simulate(tiny, _work(Compute(2**53)))


def test_a_long_pause_costs_nothing_and_both_fabrics_agree(tiny: Machine) -> None:
    work = _work(Compute(10**10), *_load(Affine()), launch=Launch(grid=1))
    started = time.perf_counter()
    compiled, reference = (simulate(tiny, work, fabric=name) for name in ("compiled", "reference"))
    assert (compiled.cycles, compiled.counters) == (reference.cycles, reference.counters)
    assert compiled.cycles > 10**10
    assert time.perf_counter() - started < 5


def test_a_loop_inside_another_of_its_name_gives_the_outer_ones_trip_back(tiny: Machine) -> None:
    def work(name: str) -> Work:
        inner = For(2, (Compute(1),), name=name)
        body = (inner, ExpectTx("full", 8192), TmaLoad("map", (0, Affine(loops={"i": 64})), "tile", "full"),
                Wait("full"))  # fmt: skip
        return _work(For(3, body), launch=Launch(grid=1))

    same, other = (simulate(tiny, work(name)) for name in ("i", "j"))
    assert (same.cycles, same.counters) == (other.cycles, other.counters)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ((Wait("nothing"),), "HS-OP-001"),
        ((TmaLoad("map", (0,), "tile", "full"),), "HS-TM-012"),
        ((TmaLoad("map", (0, 0), "tile", "full", mask=0b100),), "HS-MC-002"),
        ((TmaLoad("map", (0, Affine(loops={"j": 1})), "tile", "full"),), "HS-OP-009"),
        ((For(0, (Arrive("full"),)),), "HS-LA-008"),
    ],
)
def test_what_no_simulation_can_do_is_refused_without_checks_too(
    tiny: Machine, body: tuple[Operation, ...], code: str
) -> None:
    with pytest.raises(IllegalWorkError, match=code):
        simulate(tiny, _work(*body), checks=False)


def test_a_tensor_beyond_its_memory_is_refused_without_checks_too(tiny: Machine) -> None:
    work = _work(*_load(Affine()), launch=Launch(allocations=(Allocation("data", 1000),)))
    with pytest.raises(IllegalWorkError, match="HS-TM-011"):
        simulate(tiny, work, checks=False)
