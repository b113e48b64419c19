"""The chip's graph and the closed-form bound: known answers."""

from __future__ import annotations

import networkx as nx
import pytest

from hoppersim.errors import InputError
from hoppersim.machine import TrafficRow, bound, load_machine, resident
from hoppersim.machine.graph import build_graph, chip_ports, routes

MIB = 2**20


@pytest.fixture(scope="module")
def h200():
    return load_machine()


def load_of(result, link):
    return next((item for item in result.loads if item.link == link), None)


def rate(result, amount=MIB):
    return amount / result.cycles


def distinct(sms, source="l2"):
    return [TrafficRow(source, sm, (sm,), MIB) for sm in sms]


def test_one_sm_alone_is_bound_by_its_ingress(h200):
    result = bound(h200, distinct([5]))
    assert result.link == "sm5.in"
    assert rate(result) == pytest.approx(106.5, rel=0.03)  # 104 to 108 measured


def test_distinct_tiles_on_a_gpc_are_bound_by_its_port(h200):
    result = bound(h200, distinct(h200.floorplan.gpcs[1].sms))
    assert result.link == "gpc1.in"
    assert rate(result) == pytest.approx(40, rel=0.03)
    assert result.cycles == result.cycles_unmerged


def test_distinct_tiles_on_the_whole_chip_get_what_the_first_look_saw(h200):
    assert rate(bound(h200, distinct(range(132)))) == pytest.approx(37, rel=0.05)


def test_a_stream_from_hbm_is_bound_by_the_channels(h200):
    result = bound(h200, distinct(range(132), "hbm"))
    assert result.link == "hbm"
    assert h200.seconds(result.cycles) == pytest.approx(132 * MIB / (4.8e12 * h200.spec.hbm.efficiency))


def test_a_multicast_passes_the_gpc_port_once_and_every_ingress(h200):
    sms = h200.floorplan.gpcs[0].sms[:4]
    result = bound(h200, [TrafficRow("l2", sms[0], sms, MIB)])
    assert load_of(result, "gpc0.in").load == MIB
    assert load_of(result, "l2.p0").load == MIB
    assert [load_of(result, f"sm{sm}.in").load for sm in sms] == [MIB] * 4
    assert load_of(result, f"sm{sms[0]}.tma").load == MIB
    assert load_of(result, f"sm{sms[1]}.tma") is None


def test_shared_unicast_is_bounded_merged_and_unmerged(h200):
    sms = h200.floorplan.gpcs[0].sms[:8]
    result = bound(h200, [TrafficRow("l2", sm, (sm,), MIB, "tile") for sm in sms])
    port = load_of(result, "gpc0.in")
    assert (port.load, port.load_unmerged) == (8 * MIB / h200.spec.lrc.max_merged, 8 * MIB)
    assert result.link_unmerged == "gpc0.in"
    assert result.cycles < result.cycles_unmerged


@pytest.mark.parametrize(("gpcs", "look_ups"), [((0, 3), {"l2.p0": 2}), ((0, 2), {"l2.p0": 1, "l2.p1": 1})])
def test_shared_unicast_is_merged_for_each_gpc_in_its_side_of_the_l2_and_at_the_port(h200, gpcs, look_ups):
    rows = [
        TrafficRow("l2", sm, (sm,), MIB, "tile") for gpc in gpcs for sm in h200.floorplan.gpcs[gpc].sms[:2]
    ]
    result = bound(h200, rows)
    expected = look_ups | {f"gpc{gpc}.in": 1 for gpc in gpcs}
    assert {link: load_of(result, link).load / MIB for link in expected} == expected


def test_a_coalescer_that_is_off_merges_nothing():
    machine = load_machine(overrides=["lrc.enabled=0"])
    sms = machine.floorplan.gpcs[0].sms[:8]
    result = bound(machine, [TrafficRow("l2", sm, (sm,), MIB, "tile") for sm in sms])
    assert result.cycles == result.cycles_unmerged


def test_a_coalescer_merges_no_more_requests_than_an_entry_serves():
    machine = load_machine(overrides=["lrc.max_merged=2"])
    sms = machine.floorplan.gpcs[0].sms[:8]
    result = bound(machine, [TrafficRow("l2", sm, (sm,), MIB, "tile") for sm in sms])
    assert load_of(result, "gpc0.in").load == 4 * MIB


def test_multicasts_of_one_tile_are_not_merged(h200):
    clusters = [h200.floorplan.gpcs[0].sms[first : first + 2] for first in (0, 2)]
    result = bound(h200, [TrafficRow("l2", cluster[0], cluster, MIB, "tile") for cluster in clusters])
    assert load_of(result, "gpc0.in").load == 2 * MIB


def test_dram_is_read_once_for_each_tag_and_crosses_once_for_each_reading_partition(h200):
    rows = [
        TrafficRow("hbm", sm, (sm,), MIB, "tile") for gpc in range(4) for sm in h200.floorplan.gpcs[gpc].sms
    ]
    result = bound(h200, rows)
    assert load_of(result, "hbm").load == load_of(result, "hbm").load_unmerged == MIB
    assert load_of(result, "l2.p0to1").load == load_of(result, "l2.p1to0").load == MIB / 2


def test_dram_bytes_of_a_row_may_be_fewer_than_it_delivers(h200):
    result = bound(h200, [TrafficRow("hbm", 0, (0,), MIB, dram_bytes=MIB // 8)])
    assert load_of(result, "hbm").load == MIB / 8
    assert load_of(result, "sm0.in").load == MIB


def test_narrow_lines_are_bound_by_the_issue_of_the_tma(h200):
    result = bound(h200, [TrafficRow("l2", 0, (0,), MIB // 4, lines=MIB // 128)])
    assert result.link == "sm0.tma"
    assert result.cycles == pytest.approx(MIB / 128 * h200.spec.tma.line_interval, rel=1e-3)


def test_n_requests_of_an_engine_are_n_minus_one_intervals_apart():
    slow = load_machine("tiny", ["tma.line_interval=1000"])
    assert [bound(slow, [TrafficRow("l2", 0, (0,), 128 * n)]).cycles for n in (2, 5)] == [1000, 4000]
    assert load_of(bound(slow, [TrafficRow("l2", 0, (0,), 128)]), "sm0.tma").cycles == 0


def test_traffic_between_sms_loads_the_sender_once_for_each_receiver(h200):
    result = bound(h200, [TrafficRow("sm", 0, (1, 16), MIB)])
    assert result.link == "sm0.out"
    assert load_of(result, "sm0.out").load == 2 * MIB
    assert load_of(result, "sm1.in").load == MIB


@pytest.mark.parametrize(("size", "measured"), [(2, 69), (4, 95)])
def test_multicast_rates_of_the_first_look_lie_under_the_bound(h200, size, measured):
    clusters = resident(h200, size, 200 * 1024, 128).clusters
    result = bound(h200, [TrafficRow("l2", cluster[0], cluster, MIB) for cluster in clusters])
    assert measured <= rate(result) <= 1.15 * measured


def test_nothing_moves_in_no_time(h200):
    assert bound(h200, []).cycles == 0


@pytest.mark.parametrize(
    ("row", "field", "nearest"),
    [
        (TrafficRow("l3", 0, (0,), 1), "traffic[0].source", "l2"),
        (TrafficRow("l2", 0, (0,), -1), "traffic[0].bytes", 0),
        (TrafficRow("l2", 0, (), 1), "traffic[0].bytes", 0),
        (TrafficRow("l2", 132, (132,), 1), "traffic[0].sm", 131),
        (TrafficRow("l2", 0, (0, 2), 1), "traffic[0].destinations", 1),
    ],
)
def test_a_bad_row_is_named(h200, row, field, nearest):
    with pytest.raises(InputError) as caught:
        bound(h200, [row])
    assert (caught.value.field, caught.value.nearest) == (field, nearest)


def test_slices_and_channels_are_converted_to_the_sm_clock(h200):
    ports = chip_ports(h200)
    clocks = h200.spec.clocks
    assert ports["l2.p0"].capacity == pytest.approx(47 * 64 * clocks.l2_ratio)
    assert ports["hbm"].capacity == pytest.approx(4.8e12 * h200.spec.hbm.efficiency / (clocks.sm_ghz * 1e9))


def test_the_graph_holds_every_port_with_capacity_and_latency(h200):
    graph = build_graph(h200)
    assert set(graph) == set(chip_ports(h200))
    assert all(data["capacity"] > 0 and data["latency"] > 0 for _, data in graph.nodes(data=True))


@pytest.mark.parametrize("each_slice", [False, True])
def test_every_sm_is_reached_from_hbm_and_reaches_every_peer(each_slice):
    tiny = load_machine("tiny")
    graph = build_graph(tiny, each_slice=each_slice)
    assert sum(name.startswith("l2.slice") for name in graph) == (4 if each_slice else 0)
    for sm in range(tiny.sm_count):
        assert nx.has_path(graph, "hbm", f"sm{sm}.in")
        assert nx.has_path(graph, f"sm{sm}.tma", f"sm{sm}.in")
        assert graph.out_degree(f"sm{sm}.out") == 3


@pytest.mark.parametrize("source", ["l2", "hbm", "sm"])
def test_every_route_is_a_path_of_the_graph(source):
    tiny = load_machine("tiny")
    graph = build_graph(tiny)
    for origin, target in ((0, 1), (2, 7), (5, 0)):
        found = routes(tiny, source, origin, target)
        assert sum(route.share for route in found) == pytest.approx(1)
        assert all(nx.is_path(graph, list(route.ports)) for route in found)
