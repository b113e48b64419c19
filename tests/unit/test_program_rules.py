from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from hoppersim.errors import InputError
from hoppersim.machine import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program import (
    Affine,
    Arrive,
    Barrier,
    Buffer,
    BulkCopy,
    ExpectTx,
    Flow,
    For,
    Launch,
    Program,
    Role,
    Sync,
    TensorMap,
    TmaLoad,
    TmaStore,
    Wait,
    Work,
    make_work,
)
from hoppersim.program.builders import BUILDERS, article_multicast, dsmem_pull, dsmem_push
from hoppersim.program.cases import MODES, Case, build_case
from hoppersim.program.rules import RULES, check, explain_code

replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


def codes(work: Work, machine: Machine | None = None) -> set[str]:
    return {violation.code for violation in check(work, machine)}


def with_program(work: Work, **changes: object) -> Work:
    flow = work.flows[0]
    return Work((replace(flow, program=replace(flow.program, **changes)),))


def with_launch(work: Work, **changes: object) -> Work:
    flow = work.flows[0]
    return Work((replace(flow, launch=replace(flow.launch, **changes)),))


def one_role(*body: object, cluster: int = 1, width: str = "lane", **parts: object) -> Work:
    role = Role("only", tuple(body), width=width)  # type: ignore[arg-type]
    return make_work("test", (role,), launch=Launch(cluster=(cluster, 1, 1)), **parts)  # type: ignore[arg-type]


TILE = TensorMap("t", "data", dims=(64, 1024), box=(64, 64))


@pytest.mark.parametrize("stages", range(1, 9))
@pytest.mark.parametrize("cluster", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("mode", MODES)
def test_no_built_in_case_raises_an_alarm(mode: str, cluster: int, stages: int, h200: Machine) -> None:
    for iterations in (1, stages, 3 * stages + 1):
        case = Case(mode, cluster, stages=stages, iterations=iterations)  # type: ignore[arg-type]
        assert check(build_case(case), h200) == []


@pytest.mark.parametrize("name", BUILDERS)
def test_no_builder_raises_an_alarm(name: str, h200: Machine) -> None:
    assert check(BUILDERS[name](), h200) == []


@pytest.mark.parametrize("cluster", [2, 3, 4, 8])
def test_no_cluster_flow_raises_an_alarm_at_any_size(cluster: int, h200: Machine) -> None:
    for stages in (1, 2, 4):
        assert check(dsmem_push(cluster, stages=stages), h200) == []
    assert check(dsmem_pull(cluster), h200) == []
    assert check(article_multicast("stream", cluster=cluster), h200) == []


def test_a_check_takes_well_under_a_second(h200: Machine) -> None:
    work = build_case(Case("multicast_slices", 16, rows=128, stages=4, iterations=100_000))
    start = time.perf_counter()
    assert check(work, h200) == []
    assert time.perf_counter() - start < 2


def test_the_length_of_a_loop_does_not_matter(h200: Machine) -> None:
    start = time.perf_counter()
    assert check(build_case(Case("multicast", 4, pattern="sweep", iterations=2**20)), h200) == []
    assert check(article_multicast("hot", 2**24), h200) == []
    assert time.perf_counter() - start < 2


def test_all_violations_come_at_once() -> None:
    maps = (replace(TILE, base=8), replace(TILE, name="u", box=(64, 300)))
    load = TmaLoad("v", (0, 0), "tile", "full", mask=0b100)
    work = one_role(
        load, cluster=2, maps=maps, buffers=(Buffer("tile", 8192),), barriers=(Barrier("full", 0),)
    )
    assert codes(work) == {"HS-TM-004", "HS-TM-003", "HS-OP-001", "HS-MB-001", "HS-MC-002"}


def test_a_violation_names_field_value_rule_and_nearest() -> None:
    found = check(with_launch(build_case(Case("unicast", 2)), grid=131))
    assert [str(violation) for violation in found] == [
        (
            "HS-LA-002 flows[0].launch.grid = 131: a grid is a positive multiple of the cluster of 2;"
            " smallest change: 130"
        )
    ]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"dims": (64, 0)}, "HS-TM-002"),
        ({"strides": (128, 128)}, "HS-TM-001"),
        ({"dims": (100, 64), "box": (64, 64)}, "HS-TM-005"),
        ({"box": (4, 64)}, "HS-TM-006"),
        ({"box": (64, 64), "swizzle": 64}, "HS-TM-007"),
        ({"element_strides": (1, 16)}, "HS-TM-008"),
        ({"dims": (64, 64, 4), "box": (64, 8, 1), "interleave": 32}, "HS-TM-009"),
        ({"element_bytes": 3, "dims": (16, 64), "box": (16, 64)}, "HS-TM-010"),
    ],
)
def test_each_limit_of_a_tensor_map_has_its_code(changes: dict[str, object], code: str) -> None:
    assert code in codes(one_role(maps=(replace(TILE, **changes),)))


def test_a_tensor_beyond_its_allocation_is_found() -> None:
    work = one_role(maps=(TILE,))
    memory = replace(work.flows[0].launch.allocations[0], bytes=1000)
    assert codes(with_launch(work, allocations=(memory,))) == {"HS-TM-011"}


def test_a_slice_off_a_128_byte_boundary_is_found() -> None:
    load = TmaLoad("t", (0, 0), "tile", "full", offset=Affine(rank=64))
    arm = ExpectTx("full", 8192)
    work = one_role(
        arm, load, cluster=2, maps=(TILE,), buffers=(Buffer("tile", 16384),), barriers=(Barrier("full", 1),)
    )
    assert codes(work) == {"HS-TM-013"}


@pytest.mark.parametrize(
    ("launch", "code"),
    [
        ({"cluster": (32, 1, 1)}, "HS-LA-001"),
        ({"cluster": (0, 1, 1)}, "HS-LA-001"),
        ({"grid": 0}, "HS-LA-002"),
        ({"skew": Affine(base=-5)}, "HS-LA-005"),
        ({"skew": Affine(by_rank=(1, 2, 3))}, "HS-LA-005"),
        ({"warm": -1}, "HS-LA-005"),
        ({"seed": -1}, "HS-LA-005"),
    ],
)
def test_each_limit_of_a_launch_has_its_code(launch: dict[str, object], code: str, h200: Machine) -> None:
    assert code in codes(with_launch(build_case(Case("unicast", 2)), **launch), h200)


def test_a_cta_larger_than_an_sm_is_refused_with_what_fits(h200: Machine) -> None:
    found = check(build_case(Case("unicast", rows=256, stages=8)), h200)
    nearest = "232448, at most 7 stages"
    assert [(violation.code, violation.nearest) for violation in found] == [("HS-LA-003", nearest)]
    assert check(build_case(Case("unicast", rows=256, stages=7)), h200) == []
    found = check(build_case(Case("unicast", rows=256, boxes=8)), h200)
    assert [violation.nearest for violation in found] == ["232448, fewer or smaller buffers"]


def test_a_chosen_set_of_sms_too_small_for_a_cluster_is_refused(h200: Machine) -> None:
    work = build_case(Case("unicast", 8))
    sms = replace(work.flows[0].launch.sms, per_gpc=4)
    assert codes(with_launch(work, sms=sms), h200) == {"HS-LA-004"}


def test_roles_own_warps_on_ranks_of_the_cluster() -> None:
    work = build_case(Case("unicast", 2))
    roles = (Role("a", (), warps=0), Role("b", (), warps=2), Role("c", (), ranks=(5,)))
    assert [violation.field for violation in check(with_program(work, roles=roles))] == [
        "flows[0].program.roles[0].warps",
        "flows[0].program.roles[1].warps",
        "flows[0].program.roles[2].ranks",
    ]


def test_names_used_twice_are_found() -> None:
    assert codes(one_role(barriers=(Barrier("b", 1), Barrier("b", 1)))) == {"HS-OP-002"}


def test_a_ring_of_another_length_than_its_barrier_is_found() -> None:
    loop = For(8, (Wait("b", "free"), Arrive("b")), stages=3)
    assert codes(one_role(loop, barriers=(Barrier("b", 1, 4),))) == {"HS-OP-003"}


def test_a_single_barrier_waited_for_in_a_longer_ring_is_found() -> None:
    loop = For(8, (Arrive("b"), Wait("b")), stages=4)
    assert codes(one_role(loop, barriers=(Barrier("b", 1),))) == {"HS-OP-003"}


def test_a_box_larger_than_its_buffer_is_found() -> None:
    body = (ExpectTx("full", 8192), TmaLoad("t", (0, 0), "tile", "full"))
    work = one_role(*body, maps=(TILE,), buffers=(Buffer("tile", 4096),), barriers=(Barrier("full", 1),))
    assert [(v.code, v.nearest) for v in check(work)] == [("HS-OP-004", "tile.bytes = 8192")]


@pytest.mark.parametrize(
    ("copy", "code"),
    [
        (BulkCopy("a", "a", 100, Affine(base=1, rank=1, wrap=2), "b"), "HS-OP-005"),
        (BulkCopy("a", "a", 96, Affine(rank=1), "b"), "HS-OP-006"),
        (BulkCopy("a", "a", 96, Affine(base=1, rank=1), "b"), "HS-MC-003"),
    ],
)
def test_each_rule_of_bulk_copies_has_its_code(copy: BulkCopy, code: str) -> None:
    assert codes(one_role(copy, cluster=2, buffers=(Buffer("a", 256),), barriers=(Barrier("b", 1),))) == {
        code
    }


def test_a_parity_beyond_one_is_found() -> None:
    loop = For(8, (Wait("b", Affine(loops={"i": 1})),))
    assert "HS-OP-007" in codes(one_role(loop, barriers=(Barrier("b", 1),)))


def test_a_constant_parity_is_right_for_a_barrier_that_completes_once() -> None:
    body = (Arrive("b"), For(8, (Wait("b", 0),), stages=1))
    assert codes(one_role(*body, barriers=(Barrier("b", 1),))) == set()


def test_a_lane_cannot_meet_the_cluster() -> None:
    assert codes(one_role(Sync("cluster"), cluster=2)) == {"HS-OP-008"}


def test_roles_that_meet_unequally_often_are_found() -> None:
    work = one_role(For(4, (Sync("cluster"),)), cluster=2, width="warp")
    more = (*work.flows[0].program.roles, Role("other", (), width="warp"))
    assert codes(work) == set()
    assert codes(with_program(work, roles=more)) == {"HS-OP-010"}


def test_steps_beyond_the_wrap_and_unknown_loops_are_found() -> None:
    load = TmaLoad("t", (Affine(loops={"j": 1}), Affine(loops={"i": 192}, wrap=128)), "tile", "full")
    parts: dict[str, Any] = {
        "maps": (TILE,),
        "buffers": (Buffer("tile", 8192),),
        "barriers": (Barrier("full", 1),),
    }
    found = [v for v in check(one_role(For(4, (load,)), **parts)) if v.code == "HS-OP-009"]
    assert [v.nearest for v in found] == [None, 64]


def test_more_arrivals_a_round_than_counted_are_found(h200: Machine) -> None:
    work = build_case(Case("multicast", 2))
    wrong = (Barrier("full", 1, 4), Barrier("free", 1, 4))
    assert codes(with_program(work, barriers=wrong), h200) == {"HS-MB-010"}


@pytest.mark.parametrize("cluster", [2, 4])
def test_the_count_that_an_early_arrival_asks_for_mends_the_program(cluster: int, h200: Machine) -> None:
    work = build_case(Case("multicast", cluster))
    found = check(with_program(work, barriers=(Barrier("full", 1, 4), Barrier("free", 1, 4))), h200)
    assert [v.nearest for v in found] == [f"free.count = {cluster}"]
    right = (Barrier("full", 1, 4), Barrier("free", cluster, 4))
    assert check(with_program(work, barriers=right), h200) == []


def test_an_early_arrival_on_a_barrier_that_counts_right_is_to_come_later() -> None:
    eager = Role("eager", (For(4, (Arrive("go"),)),))
    slow = Role("slow", (Wait("other"), For(4, (Wait("go"),))))
    more = Role("more", (Wait("go", 0), Arrive("other")))
    work = make_work("early", (eager, slow, more), barriers=(Barrier("go", 1), Barrier("other", 1)))
    found = [v for v in check(work) if v.code == "HS-MB-010"]
    assert [v.nearest for v in found] == ["hold it back until rank 0 has waited for go"]


def test_more_arrivals_counted_than_come_are_found(h200: Machine) -> None:
    work = build_case(Case("multicast_slices", 4))
    wrong = (Barrier("full", 1, 4), Barrier("free", 5, 4))
    found = check(with_program(work, barriers=wrong), h200)
    assert [(v.code, v.field, v.nearest) for v in found] == [
        ("HS-MB-004", "flows[0].program.barriers[1].count", 4)
    ]


def test_an_arrival_beyond_the_count_while_bytes_are_under_way_is_found() -> None:
    body = (ExpectTx("full", 8192), Arrive("full"), TmaLoad("t", (0, 0), "tile", "full"), Wait("full"))
    work = one_role(*body, maps=(TILE,), buffers=(Buffer("tile", 8192),), barriers=(Barrier("full", 1),))
    assert codes(work) == {"HS-MB-007"}


def test_expected_bytes_beyond_the_count_range_are_found() -> None:
    assert codes(one_role(ExpectTx("b", 2**20), barriers=(Barrier("b", 1),))) == {"HS-MB-002"}
    twice = (ExpectTx("b", 2**20 - 1, arrive=False), ExpectTx("b", 2**20 - 1))
    assert codes(one_role(*twice, barriers=(Barrier("b", 1),))) == {"HS-MB-008"}


def test_two_roles_that_wait_for_each_other_are_found() -> None:
    roles = (Role("a", (Wait("x"), Arrive("y"))), Role("b", (Wait("y"), Arrive("x"))))
    work = make_work("test", roles, barriers=(Barrier("x", 1), Barrier("y", 1)))
    assert codes(work) == {"HS-MB-009"}


def test_an_access_before_the_peer_has_started_is_found_without_the_entry_sync() -> None:
    work = with_program(build_case(Case("multicast", 2)), without=("entry_sync",))
    assert codes(work) == {"HS-EX-002"}


def test_an_arrival_from_the_peer_shows_that_it_has_started() -> None:
    hello = Role("hello", (Arrive("ready", to=0b01),), ranks=(1,))
    reply = Role("reply", (Wait("ready", 0), Arrive("ready", to=0b10)), ranks=(0,))
    listen = Role("listen", (Wait("ready", 0),), ranks=(1,))
    launch = Launch(cluster=(2, 1, 1))
    work = make_work("test", (hello, reply, listen), barriers=(Barrier("ready", 1),), launch=launch)
    found = check(with_program(work, without=("entry_sync",)))
    assert [(v.code, v.field) for v in found] == [("HS-EX-002", "flows[0].program.roles[0].body[0]")]


def test_barriers_need_their_initialisation_and_its_fence() -> None:
    work = one_role(Arrive("b"), barriers=(Barrier("b", 1),))
    assert codes(with_program(work, without=("init", "init_fence"))) == {"HS-EX-003"}


def test_stores_must_drain() -> None:
    work = one_role(TmaStore("t", (0, 0), "tile"), maps=(TILE,), buffers=(Buffer("tile", 8192),))
    assert codes(work) == set()
    assert codes(with_program(work, without=("drain",))) == {"HS-EX-004"}


@pytest.mark.parametrize("code", RULES)
def test_every_rule_explains_itself_with_source_example_and_fix(code: str) -> None:
    page = explain_code(code.lower())
    assert page.startswith(f"{code}: ")
    for part in ("Example: ", "Fix: ", "Source: "):
        assert part in page


def test_an_unknown_code_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        explain_code("HS-MB-03")
    assert str(caught.value.nearest).startswith("HS-MB-0")


def test_each_flow_of_a_work_is_checked_by_its_number() -> None:
    good = build_case(Case("unicast")).flows[0]
    bad = Flow(Program("bad", (Role("r", (Wait("x"),)),)), Launch())
    assert [v.field for v in check(Work((good, bad)))] == ["flows[1].program.roles[0].body[0].barrier"]
