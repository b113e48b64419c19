from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hoppersim.machine import bound, load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program import (
    Affine,
    Arrive,
    Barrier,
    Buffer,
    BulkCopy,
    Exit,
    ExpectTx,
    For,
    Launch,
    Role,
    TensorMap,
    TmaLoad,
    Wait,
    Work,
    make_work,
    pieces,
)
from hoppersim.program.builders import article_unicast, dsmem_pull, dsmem_push
from hoppersim.program.cases import Case, build_case
from hoppersim.program.traffic import flow_clusters, place_flow, traffic_table
from hoppersim.result.api import simulate


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


TALL = TensorMap("t", "data", (64, 4096), (64, 64))


def loads(coordinate: Affine | int, n: int, tensor: TensorMap = TALL, **launch: object) -> Work:
    place = (0, coordinate) if tensor is TALL else (coordinate, 0)
    body = For(n, (TmaLoad("t", place, "tile", "full"),))
    return make_work("test", (Role("r", (body,)),), maps=(tensor,), launch=Launch(**launch))  # type: ignore[arg-type]


def one_load(coordinate: Affine | int, n: int, machine: Machine, **launch: object) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in traffic_table(machine, loads(coordinate, n, **launch))]


def test_ctas_that_read_one_tile_share_its_tag(tiny: Machine) -> None:
    rows = one_load(0, 10, tiny, grid=2)
    assert [row[3:] for row in rows] == [(81920, 0, 0, 640)] * 2


def test_ctas_that_read_tiles_of_their_own_have_no_tag(tiny: Machine) -> None:
    rows = one_load(Affine(cluster=64), 10, tiny, grid=2)
    assert [row[4] for row in rows] == [None, None]


def test_windows_that_overlap_in_part_share_only_that_part(tiny: Machine) -> None:
    rows = one_load(Affine(cluster=64, loops={"i": 64}), 3, tiny, grid=2)
    shared = sum(row[3] for row in rows if row[4] is not None)
    assert sum(row[3] for row in rows) == 6 * 8192
    assert shared == 4 * 8192


def test_a_cold_l2_reads_each_distinct_byte_from_hbm(tiny: Machine) -> None:
    rows = one_load(Affine(loops={"i": 64}, wrap=128), 10, tiny, grid=1, warm=0)
    assert [row[0] for row in rows] == ["hbm"]
    assert rows[0][5] == 2 * 8192


def test_of_boxes_that_overlap_in_part_each_byte_is_read_from_hbm_once(tiny: Machine) -> None:
    rows = one_load(Affine(loops={"i": 32}), 10, tiny, grid=1, warm=0)
    assert sum(row[3] for row in rows) == 10 * 8192
    assert sum(row[5] for row in rows) == (64 + 9 * 32) * 128
    assert sum(row[6] for row in rows) == 10 * 64


def test_ctas_whose_boxes_overlap_in_part_share_the_common_bytes(tiny: Machine) -> None:
    rows = one_load(Affine(cluster=16), 1, tiny, grid=2, warm=0)
    assert (
        sorted((row[4] is None, row[3]) for row in rows) == [(False, 48 * 128)] * 2 + [(True, 16 * 128)] * 2
    )
    assert len({row[4] for row in rows if row[4] is not None}) == 1


def test_boxes_side_by_side_have_no_byte_in_common(tiny: Machine) -> None:
    wide = TensorMap("t", "data", (4096, 64), (64, 64))
    rows = traffic_table(tiny, loads(Affine(cluster=64), 1, wide, grid=2, warm=0))
    assert [(row.shared, row.bytes, row.dram_bytes) for row in rows] == [(None, 8192, 8192)] * 2


def test_too_many_pieces_are_taken_as_one_of_which_nothing_need_come_from_hbm(
    tiny: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "MOST_RUNS", 2)
    rows = one_load(Affine(loops={"i": 32}), 10, tiny, grid=2, warm=0)
    assert [row[3:] for row in rows] == [(81920, 0, 0, 640)] * 2


@settings(max_examples=60, deadline=None)
@given(
    box=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    step=st.integers(0, 5),
    shift=st.integers(0, 5),
    width=st.sampled_from([4, 7, 16]),
    along=st.integers(0, 1),
)
def test_a_cold_l2_reads_the_union_of_all_boxes(
    tiny: Machine, box: tuple[int, int], step: int, shift: int, width: int, along: int
) -> None:
    tensor = TensorMap("t", "data", (width, 16), box, 16)
    place: list[Affine | int] = [0, 0]
    place[along] = Affine(cluster=shift, loops={"i": step})
    load = TmaLoad("t", tuple(place), "tile", "full")
    launch = Launch(grid=2, warm=0)
    work = make_work("test", (Role("r", (For(3, (load,)),)),), maps=(tensor,), launch=launch)
    starts = [cluster * shift + trip * step for cluster in range(2) for trip in range(3)]
    elements = {
        (x, y)
        for start in starts
        for x in range((start, 0)[along], (start, 0)[along] + box[0])
        for y in range((0, start)[along], (0, start)[along] + box[1])
        if x < width and y < 16
    }
    loads = {link.link: link for link in bound(tiny, traffic_table(tiny, work)).loads}
    assert loads["hbm"].load == 16 * len(elements)


def test_boxes_that_overlap_in_part_keep_to_their_bound_where_hbm_is_slow() -> None:
    machine = load_machine("tiny", overrides=["hbm.bytes_per_second=3e9"])
    load = TmaLoad("t", (0, Affine(loops={"i": 8})), "tile", "full")
    body = (Wait("free", "free"), ExpectTx("full", 8192), load, Wait("full"), Arrive("free"))
    rings = Buffer("tile", 8192, 2), (Barrier("full", 1, 2), Barrier("free", 1, 2))
    role = Role("r", (For(24, body, stages=2),))
    result = simulate(
        machine, make_work("windows", (role,), (rings[0],), rings[1], (TALL,), Launch(grid=1, warm=0))
    )
    assert result.bounds is not None
    assert result.bounds.merged_link == "hbm"
    assert result.window_cycles >= result.bounds.merged_cycles


@pytest.mark.parametrize("where", ["loop", "inner loop", "behind"])
def test_only_what_comes_before_an_exit_is_counted(tiny: Machine, where: str) -> None:
    load = TmaLoad("t", (0, Affine(loops={"i": 64})), "tile", "full")
    copy = BulkCopy("tile", "tile", 8192, 0, "full")
    leave = For(3, (Exit(),), name="j") if where == "inner loop" else Exit()
    body = (load, copy) if where == "behind" else (load, leave, copy)
    trips = 1 if where != "behind" else 10
    last = (leave, For(5, (load, copy))) if where == "behind" else (load,)
    work = make_work(
        "leaves",
        (Role("r", (For(10, body), *last), ranks=(1,)),),
        maps=(TALL,),
        launch=Launch(grid=2, cluster=(2, 1, 1)),
    )
    rows = traffic_table(tiny, work)
    assert sum(row.bytes for row in rows if row.source == "l2") == trips * 8192
    assert sum(row.bytes for row in rows if row.source == "sm") == (trips * 8192 if where == "behind" else 0)


def test_a_run_in_which_a_role_exits_keeps_to_its_bound_and_its_bytes(tiny: Machine) -> None:
    load = TmaLoad("t", (0, Affine(loops={"i": 64})), "tile", "full")
    role = Role("r", (For(9, (ExpectTx("full", 8192), load, Wait("full"), Exit())),))
    work = make_work(
        "leaves", (role,), (Buffer("tile", 8192),), (Barrier("full", 1),), (TALL,), Launch(grid=4)
    )
    result = simulate(tiny, work)
    assert result.delivered_bytes == 4 * 8192
    assert result.bounds is not None
    assert result.bounds.merged_cycles <= result.window_cycles


def test_bytes_beyond_the_tensor_are_not_read(tiny: Machine) -> None:
    rows = one_load(4096 - 16, 1, tiny, grid=1)
    assert (rows[0][3], rows[0][6]) == (16 * 128, 16)


def test_waves_come_back_to_the_same_sms(tiny: Machine) -> None:
    flow = build_case(Case("unicast", grid=1000)).flows[0]
    placement = place_flow(tiny, flow)
    clusters = flow_clusters(flow, placement)
    assert len(clusters) == 1000
    assert clusters[len(placement.clusters)] == clusters[0]


def test_a_ring_of_copies_loads_every_sender_equally(h200: Machine) -> None:
    rows = [row for row in traffic_table(h200, dsmem_push(4, iterations=10)) if row.source == "sm"]
    assert len(rows) == 120
    assert {row.bytes for row in rows} == {163840}


def test_of_remote_loads_the_owner_sends(h200: Machine) -> None:
    work = dsmem_pull(2, reuse=3, iterations=5)
    cluster = place_flow(h200, work.flows[0]).clusters[0]
    row = next(row for row in traffic_table(h200, work) if row.source == "sm")
    assert (row.origin_sm, row.destinations, row.bytes) == (cluster[0], cluster[1:], 15 * 16384)


@pytest.mark.parametrize(
    "work",
    [
        build_case(Case("unicast", 2, iterations=5000)),
        build_case(Case("unicast_distinct", 1, pattern="sweep", iterations=5000)),
        article_unicast("stream"),
    ],
    ids=["hot", "sweep", "article"],
)
def test_a_table_of_132_ctas_and_thousands_of_iterations_takes_under_a_second(
    work: Work, h200: Machine
) -> None:
    start = time.perf_counter()
    rows = traffic_table(h200, work)
    assert time.perf_counter() - start < 1
    assert 0 < bound(h200, rows).cycles <= bound(h200, rows).cycles_unmerged


def test_a_coalescer_can_at_best_do_what_multicast_does(h200: Machine) -> None:
    unicast = bound(h200, traffic_table(h200, build_case(Case("unicast", 2, rows=256))))
    multicast = bound(h200, traffic_table(h200, build_case(Case("multicast", 2, rows=256))))
    port = {load.link: load for load in unicast.loads}["gpc0.in"]
    other = {load.link: load for load in multicast.loads}["gpc0.in"]
    assert port.load == other.load
    assert port.load_unmerged == 2 * other.load
