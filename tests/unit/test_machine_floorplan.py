"""Floorplans from files and from probes."""

from __future__ import annotations

import pytest

from hoppersim.errors import InputError
from hoppersim.machine import floorplan_from_groups, load_floorplan, load_machine
from hoppersim.machine.floorplan import floorplan_from_data, floorplan_to_data
from hoppersim.machine.inheritance import PRESETS

PROBED = "measured: probe"


def test_a_probe_that_finds_the_same_groups_gives_the_same_chip():
    stated = load_machine().floorplan
    groups = [sorted(gpc.sms, reverse=True) for gpc in stated.gpcs]
    probed = floorplan_from_groups(groups, [gpc.partition for gpc in stated.gpcs], PROBED)
    # GPC 0 has two CPCs, which only a probe of latencies tells.
    assert [(gpc.partition, gpc.cpcs) for gpc in probed.gpcs[1:]] == [
        (gpc.partition, gpc.cpcs) for gpc in stated.gpcs[1:]
    ]
    assert probed.gpcs[0].tpcs == stated.gpcs[0].tpcs
    assert probed.origin == PROBED


def test_probed_cpcs_are_kept():
    plan = floorplan_from_groups([[0, 1, 2, 3, 4, 5]], [0], PROBED, cpcs=[[4, 5], [0, 1, 2, 3]])
    assert plan.gpcs[0].cpcs == (((4, 5),), ((0, 1), (2, 3)))


def test_probed_cpcs_that_leave_out_an_sm_are_refused():
    with pytest.raises(InputError, match="without gaps"):
        floorplan_from_groups([[0, 1, 2, 3]], [0], PROBED, cpcs=[[2, 3]])


def test_a_floorplan_in_place_of_the_presets_changes_the_machine():
    plan = floorplan_from_groups([[0, 1, 2, 3, 4, 5], [6, 7]], [0, 1], PROBED)
    machine = load_machine("tiny", floorplan=plan)
    assert machine.floorplan.gpc_sizes == (6, 2)
    assert machine.hash != load_machine("tiny").hash
    assert machine.provenance["floorplan"].origin == PROBED


def test_a_floorplan_file_can_be_named(tmp_path):
    file = tmp_path / "part.toml"
    file.write_text((PRESETS / "tiny.floorplan.toml").read_text(), encoding="utf-8")
    assert load_machine("tiny", floorplan=file).hash == load_machine("tiny").hash
    assert load_floorplan(file) == load_machine("tiny").floorplan


def test_a_floorplan_survives_its_plain_data():
    plan = load_machine().floorplan
    assert floorplan_from_data(floorplan_to_data(plan)) == plan


@pytest.mark.parametrize(
    ("groups", "partitions", "rule"),
    [
        ([[0, 1], [1, 2]], [0, 1], "every SM once"),
        ([[0, 1], [4, 5]], [0, 1], "without gaps"),
        ([[0, 1]], [0, 1], "one partition for each GPC"),
        ([], [], "without gaps"),
        ([[0, 1, 99_999_999]], [0], "from 0 to 1023"),
        ([[-1, 0, 1]], [0], "from 0 to 1023"),
    ],
)
def test_groups_that_describe_no_chip_are_refused(groups, partitions, rule):
    with pytest.raises(InputError, match=rule):
        floorplan_from_groups(groups, partitions, PROBED)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gpcs": []}, "floorplan.gpcs"),
        ({"gpc": [{"partition": 0}]}, "floorplan"),
        ({"origin": "x"}, "floorplan.origin"),
        ({"name": " "}, "floorplan.name"),
    ],
)
def test_a_floorplan_of_another_shape_is_refused(change, field):
    data = floorplan_to_data(load_machine("tiny").floorplan) | change
    with pytest.raises(InputError) as caught:
        floorplan_from_data(data)
    assert caught.value.field == field
