from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from hoppersim.errors import InputError
from hoppersim.machine import load_machine, resident
from hoppersim.machine.machine import Machine
from hoppersim.program.cases import MODES, Case, build_case
from hoppersim.program.traffic import place_flow, traffic_table

CLUSTERS = (1, 2, 4, 8, 16)


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


def received(machine: Machine, case: Case) -> Counter[int]:
    bytes_of: Counter[int] = Counter()
    for row in traffic_table(machine, build_case(case)):
        bytes_of.update(dict.fromkeys(row.destinations, row.bytes))
    return bytes_of


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize(
    ("mode", "pattern"),
    [
        (mode, pattern)
        for mode in MODES
        for pattern in ("hot", "sweep", "one")
        if (mode, pattern) != ("unicast_distinct", "one")
    ],
)
def test_every_cta_receives_the_same_bytes_in_every_mode(
    mode: str, cluster: int, pattern: str, h200: Machine
) -> None:
    case = Case(mode, cluster, rows=128, pattern=pattern, iterations=30)  # type: ignore[arg-type]
    found = received(h200, case)
    placed = resident(h200, cluster, 120 * 1024, 64)
    assert found == dict.fromkeys(placed.sms, case.bytes_per_cta)


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("mode", MODES)
def test_a_sweep_from_hbm_reads_every_tile_once(mode: str, cluster: int, h200: Machine) -> None:
    case = Case(mode, cluster, rows=256, pattern="sweep", memory="hbm", iterations=50)  # type: ignore[arg-type]
    work = build_case(case)
    rows = traffic_table(h200, work)
    units = len(place_flow(h200, work.flows[0]).clusters)
    tags = {(row.shared, row.dram_bytes) if row.shared is not None else (None, id(row)) for row in rows}
    assert all(row.dram_bytes == row.bytes for row in rows)
    slices = cluster if mode in ("unicast_distinct", "multicast_slices") else 1
    assert len(tags) == units * slices
    assert work.flows[0].launch.warm == 0


def test_multicast_asks_the_l2_for_a_share_of_what_unicast_asks(h200: Machine) -> None:
    def asked(mode: str, cluster: int) -> int:
        case = Case(mode, cluster, rows=128, pattern="sweep", memory="hbm")  # type: ignore[arg-type]
        return sum(row.bytes for row in traffic_table(h200, build_case(case)))

    for cluster in (2, 4, 8):
        assert asked("multicast", cluster) * cluster == asked("unicast", cluster)
        assert asked("multicast_slices", cluster) * cluster == asked("unicast_distinct", cluster)


def test_slices_land_side_by_side_and_cover_the_tile() -> None:
    program = build_case(Case("multicast_slices", 4, rows=64, boxes=2)).flows[0].program
    assert program.maps[0].box == (64, 16)
    assert program.map("tiles").box_bytes * 4 * 2 == program.buffer("tile").bytes


def test_one_cta_runs_on_an_sm_unless_padding_is_switched_off(h200: Machine) -> None:
    def per_sm(case: Case) -> int:
        return place_flow(h200, build_case(case).flows[0]).ctas_per_sm

    assert per_sm(Case("unicast")) == 1
    assert per_sm(Case("unicast", shared_bytes=0)) > 1


def test_only_the_ranks_that_do_not_issue_arm_in_a_role_of_their_own() -> None:
    roles = build_case(Case("multicast", 4)).flows[0].program.roles
    assert {role.name: role.ranks for role in roles} == {"leader": (0,), "arm": (1, 2, 3), "consumer": ()}


@pytest.mark.parametrize(
    ("case", "nearest"),
    [
        (Case("unicast", rows=512), "256 with boxes = 2, the same bytes"),
        (Case("unicast", rows=300, boxes=3), "150 with boxes = 6, the same bytes"),
        (Case("unicast", row_bytes=1024), "512 with boxes = 2, the same bytes"),
        (Case("multicast_slices", 16, rows=528, row_bytes=128), "176 with boxes = 3, the same bytes"),
        (Case("unicast", rows=257), 256),
        (Case("unicast", rows=10**30), 256),
    ],
)
def test_a_box_too_large_is_split_into_legal_ones_of_the_same_bytes(case: Case, nearest: object) -> None:
    with pytest.raises(InputError) as caught:
        build_case(case)
    assert caught.value.nearest == nearest


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cluster": 0}, "cluster"),
        ({"cluster": 17}, "cluster"),
        ({"rows": 257}, "rows"),
        ({"row_bytes": 40}, "row_bytes"),
        ({"row_bytes": 1024}, "row_bytes"),
        ({"stages": 0}, "stages"),
        ({"iterations": 0}, "iterations"),
        ({"mode": "multicast_slices", "cluster": 16, "rows": 24}, "rows"),
        ({"mode": "multicast_slices", "cluster": 2, "rows": 4, "row_bytes": 32}, "rows"),
        ({"mode": "unicast_distinct", "pattern": "one"}, "pattern"),
        ({"memory": "hbm"}, "pattern"),
        ({"cluster": 4, "grid": 130}, "grid"),
        ({"reads": 1}, "consumer"),
        ({"consumer_warps": 4}, "consumer_warps"),
    ],
)
def test_a_case_without_meaning_names_its_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as caught:
        build_case(msgspec.structs.replace(Case("unicast"), **change))
    assert caught.value.field == field
    assert caught.value.nearest is not None
