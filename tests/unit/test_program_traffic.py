from __future__ import annotations

import time
from typing import Any

import pytest

from hoppersim.machine import bound, load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program import Affine, For, Launch, Role, TensorMap, TmaLoad, Work, make_work
from hoppersim.program.builders import article_unicast, dsmem_pull, dsmem_push
from hoppersim.program.cases import Case, build_case
from hoppersim.program.traffic import flow_clusters, place_flow, traffic_table


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


def one_load(coordinate: Affine | int, n: int, machine: Machine, **launch: object) -> list[tuple[Any, ...]]:
    tensor = TensorMap("t", "data", (64, 4096), (64, 64))
    body = For(n, (TmaLoad("t", (0, coordinate), "tile", "full"),))
    work = make_work("test", (Role("r", (body,)),), maps=(tensor,), launch=Launch(**launch))  # type: ignore[arg-type]
    return [tuple(row) for row in traffic_table(machine, work)]


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
