"""Where clusters land, what they strand, what cannot be launched."""

from __future__ import annotations

import pytest

from hoppersim.errors import InputError
from hoppersim.machine import load_machine, require_launchable, resident, select_sms

ALONE = 200 * 1024
"""Shared memory in bytes that leaves no room for a second CTA on an SM."""


@pytest.fixture(scope="module")
def h200():
    return load_machine()


@pytest.mark.parametrize(
    ("size", "clusters", "sms"), [(1, 132, 132), (2, 66, 132), (4, 30, 120), (8, 15, 120), (16, 7, 112)]
)
def test_resident_clusters_of_the_h200_are_those_that_it_reports(h200, size, clusters, sms):
    placement = resident(h200, size, ALONE, 128)
    assert placement.max_active_clusters == len(placement.clusters) == clusters
    assert len(placement.sms) == sms
    assert placement.ctas_per_sm == 1


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_two_small_ctas_on_each_sm_double_the_clusters(h200, size):
    alone, paired = resident(h200, size, ALONE, 128), resident(h200, size, ALONE // 2, 128)
    assert paired.max_active_clusters == 2 * alone.max_active_clusters
    assert paired.clusters == 2 * alone.clusters


def test_threads_limit_the_ctas_of_an_sm(h200):
    assert resident(h200, 1, 0, 1024).ctas_per_sm == 2
    assert resident(h200, 1, 0, 1).ctas_per_sm == 32
    assert resident(h200, 1, 0, 33).ctas_per_sm == 32


def test_stranded_sms_are_named_with_their_gpc(h200):
    stranded = resident(h200, 16, ALONE, 128).stranded
    assert len(stranded) == 20
    assert [item.sm for item in stranded if item.gpc == 7] == [122, 123]
    assert [item.sm for item in stranded if item.gpc == 0] == list(h200.floorplan.gpcs[0].sms)


def test_clusters_of_four_strand_the_last_tpc_of_gpcs_with_18_sms_and_the_lone_ones(h200):
    stranded = resident(h200, 4, ALONE, 128).stranded
    assert {item.gpc for item in stranded} == {0, 4, 5, 6, 7}
    assert {124, 125, 130, 131} <= {item.sm for item in stranded}


def test_tpcs_that_form_only_pairs_take_part_in_clusters_of_two(h200):
    assert (124, 125) in resident(h200, 2, ALONE, 128).clusters


def test_clusters_go_to_the_gpcs_in_turn_and_take_sms_tpc_by_tpc(h200):
    clusters = resident(h200, 4, ALONE, 128).clusters
    assert clusters[0] == (0, 1, 16, 17)
    assert clusters[1] == (2, 3, 18, 19)
    assert [int(h200.gpc_of[cluster[0]]) for cluster in clusters[:9]] == [0, 1, 2, 3, 4, 5, 6, 7, 0]


def test_clusters_with_an_sm_outside_the_set_take_no_part(h200):
    allowed = select_sms(h200.floorplan, (0, 7), 4)
    placement = resident(h200, 2, ALONE, 128, allowed)
    assert placement.clusters == ((0, 1), (14, 15), (16, 17), (30, 31))
    assert placement.max_active_clusters == 66


def test_select_sms_fills_tpcs_or_spreads_over_them(h200):
    assert select_sms(h200.floorplan, (0,), 4) == (0, 1, 16, 17)
    assert select_sms(h200.floorplan, (0,), 4, spread=True) == (0, 16, 32, 48)
    assert len(select_sms(h200.floorplan)) == 132
    assert len(select_sms(h200.floorplan, per_gpc=12)) == 8 * 12


@pytest.mark.parametrize(
    ("arguments", "field", "nearest"),
    [
        ((17, 0, 128), "launch.cluster", 16),
        ((0, 0, 128), "launch.cluster", 1),
        ((2, 232449, 128), "program.shared_bytes", 232448),
        ((2, -1, 128), "program.shared_bytes", 0),
        ((2, 0, 1056), "program.threads", 1024),
        ((2, 0, 0), "program.threads", 1),
        ((2, 0, 128, (0, 2)), "launch.sms", "clusters of 1"),
        ((2, 0, 128, ()), "launch.sms", "more SMs"),
        ((2, 0, 128, (500,)), "launch.sms", 131),
    ],
)
def test_an_unlaunchable_request_says_why_and_what_fits(h200, arguments, field, nearest):
    with pytest.raises(InputError) as caught:
        resident(h200, *arguments)
    assert caught.value.field == field
    assert caught.value.nearest == nearest


def test_clusters_above_eight_need_opting_in(h200):
    require_launchable(h200, 16, ALONE, 128)
    with pytest.raises(InputError, match="opt in") as caught:
        require_launchable(h200, 16, ALONE, 128, large_clusters=False)
    assert caught.value.nearest == 8


def test_a_cluster_larger_than_every_gpc_is_refused():
    tiny = load_machine("tiny", ["launch.cluster_max=16"])
    with pytest.raises(InputError, match="largest GPC of tiny has 4 SMs") as caught:
        resident(tiny, 8, 0, 128)
    assert caught.value.nearest == 4


@pytest.mark.parametrize(("arguments", "nearest"), [(((8,),), 7), (((-1,),), 0), (((), -2), 0)])
def test_select_sms_refuses_what_does_not_exist(h200, arguments, nearest):
    with pytest.raises(InputError) as caught:
        select_sms(h200.floorplan, *arguments)
    assert caught.value.nearest == nearest
