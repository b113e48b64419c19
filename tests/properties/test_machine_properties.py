"""Rules of placement, addresses and bounds on random machines and traffic."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hoppersim.machine import AddressMap, TrafficRow, bound, floorplan_from_groups, load_machine, resident

TINY = load_machine("tiny")
GPC_SMS = [gpc.sms for gpc in TINY.floorplan.gpcs]


@st.composite
def machines(draw):
    """A machine with random GPCs and an uneven number of SMs in each."""
    owners = draw(st.lists(st.integers(0, 3), min_size=8, max_size=8))
    groups = [[sm for sm in range(8) if owners[sm] == gpc] for gpc in sorted(set(owners))]
    partitions = draw(st.lists(st.integers(0, 1), min_size=len(groups), max_size=len(groups)))
    return load_machine("tiny", floorplan=floorplan_from_groups(groups, partitions, "assumed: random"))


@st.composite
def tables(draw):
    """A traffic table on the tiny machine."""
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        sms = draw(st.sampled_from(GPC_SMS))
        source = draw(st.sampled_from(["l2", "hbm", "sm"]))
        reach = draw(st.lists(st.sampled_from(sms), min_size=1, max_size=4, unique=True))
        tag = draw(st.sampled_from([None, "a", "b"]))
        rows.append(
            TrafficRow(source, draw(st.sampled_from(sms)), tuple(reach), draw(st.integers(0, 1 << 20)), tag)
        )
    return rows


@given(machines(), st.integers(1, 4))
def test_no_cluster_spans_two_gpcs_and_no_sm_is_used_twice(machine, size):
    if size > max(machine.floorplan.gpc_sizes):
        return
    placement = resident(machine, size, 200 * 1024, 128)
    used = [sm for cluster in placement.clusters for sm in cluster]
    assert all(len({machine.gpc_of[sm] for sm in cluster}) == 1 for cluster in placement.clusters)
    assert len(used) == len(set(used))
    stranded = {item.sm for item in placement.stranded}
    assert stranded | set(used) == set(range(machine.sm_count))
    assert not stranded & set(used)


@given(machines(), st.integers(1, 4), st.sets(st.integers(0, 7), min_size=1))
def test_a_restricted_launch_takes_a_subset_of_the_free_one(machine, size, allowed):
    if size > max(machine.floorplan.gpc_sizes):
        return
    free = resident(machine, size, 200 * 1024, 128).clusters
    kept = tuple(cluster for cluster in free if set(cluster) <= allowed)
    if kept:
        assert resident(machine, size, 200 * 1024, 128, allowed).clusters == kept


@given(tables(), st.data())
def test_the_bound_grows_with_the_bytes_of_any_row(rows, data):
    index = data.draw(st.integers(0, len(rows) - 1))
    more = rows[index]._replace(bytes=rows[index].bytes + data.draw(st.integers(0, 1 << 20)))
    before, after = bound(TINY, rows), bound(TINY, [*rows[:index], more, *rows[index + 1 :]])
    assert after.cycles >= before.cycles
    assert after.cycles_unmerged >= before.cycles_unmerged


@given(tables())
def test_merging_never_raises_the_bound(rows):
    result = bound(TINY, rows)
    assert result.cycles <= result.cycles_unmerged
    assert all(item.load <= item.load_unmerged for item in result.loads)


@given(tables(), tables())
def test_more_traffic_never_lowers_the_bound(rows, others):
    assert bound(TINY, rows + others).cycles >= bound(TINY, rows).cycles


@given(st.lists(st.tuples(st.integers(1, 1 << 24), st.integers(0, (1 << 21) - 1)), max_size=8))
def test_allocations_never_overlap(sizes):
    places = AddressMap.place([(f"a{number}", size, base) for number, (size, base) in enumerate(sizes)])
    regions = sorted(places.regions.values(), key=lambda region: region.start)
    assert all(one.end <= other.start for one, other in pairwise(regions))
