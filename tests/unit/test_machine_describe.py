"""A machine as rows, as differences, as a file, as text and as a picture; and addresses."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hoppersim.errors import InputError
from hoppersim.machine import AddressMap, floorplan_from_groups, load_machine, preset_names, resident
from hoppersim.machine.describe import configuration_diff, configuration_rows, configuration_toml
from hoppersim.machine.drawing import draw_topology
from hoppersim.machine.topology import WIDTH, topology_text

PAGE = 2 * 2**20
CHANGES = ["tma.line_interval=1.3", "l2.slices=80", "tables.l2_latency=zero", "hbm.bytes_per_second=1e13"]


@pytest.mark.parametrize("name", preset_names())
def test_the_written_configuration_loads_to_the_same_machine(name, tmp_path):
    machine = load_machine(name)
    (tmp_path / "copy.toml").write_text(configuration_toml(machine), encoding="utf-8")
    copy = load_machine(tmp_path / "copy.toml")
    assert copy.hash == machine.hash
    assert copy.provenance == machine.provenance
    assert configuration_toml(copy) == configuration_toml(machine)


def test_a_changed_machine_survives_its_file(tmp_path):
    plan = floorplan_from_groups([list(range(70)), list(range(70, 132))], [1, 0], 'measured: "p\\1"')
    machine = load_machine(overrides=CHANGES, floorplan=plan)
    (tmp_path / "copy.toml").write_text(configuration_toml(machine), encoding="utf-8")
    copy = load_machine(tmp_path / "copy.toml")
    assert copy.hash == machine.hash
    assert copy.provenance == machine.provenance


def test_a_table_that_changed_since_the_file_was_written_is_noticed(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("1,2,3,4\n" * 8, encoding="utf-8")
    text = configuration_toml(load_machine("tiny", [f"tables.l2_latency={table}"]))
    (tmp_path / "copy.toml").write_text(text, encoding="utf-8")
    table.write_text("1,2,3,5\n" * 8, encoding="utf-8")
    with pytest.raises(InputError, match="digest"):
        load_machine(tmp_path / "copy.toml")


def test_rows_state_value_unit_origin_and_meaning():
    rows = {row.path: row for row in configuration_rows(load_machine())}
    row = rows["xbar.gpc_bytes_per_cycle"]
    assert (row.value, row.unit) == (load_machine().spec.xbar.gpc_bytes_per_cycle, "B/cycle")
    assert row.origin.startswith(("measured: ", "fitted: "))
    assert row.description
    assert rows["floorplan"].value == "h200_sxm"


def test_a_machine_does_not_differ_from_itself():
    assert configuration_diff(load_machine(), load_machine()) == ()


def test_a_difference_shows_both_values():
    rows = configuration_diff(load_machine(), load_machine(overrides=CHANGES))
    assert [row.path for row in rows] == [
        "tma.line_interval",
        "l2.slices",
        "hbm.bytes_per_second",
        "tables.l2_latency",
    ]
    assert rows[0][1:] == (load_machine().spec.tma.line_interval, 1.3, "cycle")


def test_a_difference_of_floorplans_names_the_gpcs():
    plan = floorplan_from_groups([[0, 1, 2, 3], [4, 5, 6, 7]], [0, 1], "measured: probe")
    rows = configuration_diff(load_machine("tiny"), load_machine("tiny", floorplan=plan))
    assert [row.path for row in rows] == ["floorplan.gpc[0]", "floorplan.gpc[1]"]


def test_a_tpc_that_forms_only_pairs_is_a_difference():
    plan = load_machine().floorplan
    gpcs = (replace(plan.gpcs[0], pairs_only=()), *plan.gpcs[1:])
    rows = configuration_diff(load_machine(), load_machine(floorplan=replace(plan, gpcs=gpcs)))
    assert [row.path for row in rows] == ["floorplan.gpc[0]"]


@pytest.mark.parametrize("name", preset_names())
def test_the_terminal_picture_shows_every_sm_within_its_width(name):
    machine = load_machine(name)
    text = topology_text(machine)
    assert max(map(len, text.splitlines())) <= WIDTH
    words = text.replace("[", " ").replace("]", " ").split()
    assert all(str(sm) in words for sm in range(machine.sm_count))


def test_the_terminal_picture_keeps_its_width_for_large_cpcs():
    plan = floorplan_from_groups([list(range(132))], [0], "assumed: test", cpcs_per_gpc=1)
    text = topology_text(load_machine(floorplan=plan))
    assert max(map(len, text.splitlines())) <= WIDTH


def test_the_terminal_picture_names_stranded_sms():
    machine = load_machine()
    text = topology_text(machine, resident(machine, 16, 200 * 1024, 128))
    assert "Clusters of 16: 7 resident at once, CTAs per SM: 1, SMs stranded: 20" in text
    assert "GPC 7: SM 122, 123" in text
    assert "130, 131\n" in text


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_picture_is_written_in_the_format_of_its_suffix(tmp_path, suffix):
    file = draw_topology(load_machine("tiny"), tmp_path / f"chip{suffix}")
    assert file.stat().st_size > 1000


def test_a_picture_in_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(InputError) as caught:
        draw_topology(load_machine("tiny"), tmp_path / "chip.docx")
    assert caught.value.nearest == "chip.png"


def test_allocations_start_at_page_boundaries_plus_their_base():
    places = AddressMap.place([("a", 100, 0), ("b", PAGE, 64), ("c", 1, 0)])
    assert places.base("a") == PAGE
    assert places.base("b") == 2 * PAGE + 64
    assert places.base("c") == 4 * PAGE
    assert places.owner(places.base("b") + PAGE - 1).name == "b"
    assert places.owner(places.base("b") - 1) is None


def test_addresses_outside_an_allocation_are_refused():
    places = AddressMap.place([("a", 128, 0)])
    places.require_inside("a", PAGE, 128)
    with pytest.raises(InputError) as caught:
        places.require_inside("a", PAGE + 64, 128)
    assert caught.value.nearest == PAGE


@pytest.mark.parametrize(
    ("allocations", "field", "nearest"),
    [
        ([("a", 0, 0)], "allocation.a.bytes", 1),
        ([("a", 1, -1)], "allocation.a.base", 0),
        ([("a", 1, PAGE)], "allocation.a.base", PAGE - 1),
        ([("a", 1, 0), ("a", 1, 0)], "allocation.a", "a_2"),
    ],
)
def test_bad_allocations_are_named(allocations, field, nearest):
    with pytest.raises(InputError) as caught:
        AddressMap.place(allocations)
    assert (caught.value.field, caught.value.nearest) == (field, nearest)
