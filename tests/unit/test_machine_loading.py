"""Presets, overrides and bad input."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hoppersim.engine.tables import make_tables
from hoppersim.errors import InputError
from hoppersim.machine import load_machine, preset_names
from hoppersim.machine.describe import configuration_toml
from hoppersim.machine.rules import cost_rule, section_rules, sections
from hoppersim.program.costs import all_keys

PROVISIONAL_NUMBERS_OF_H200 = 0


@pytest.fixture(scope="module")
def h200():
    return load_machine()


@pytest.fixture
def preset_file(tmp_path):
    """Writes the tiny machine with a piece of its text replaced."""

    def write(old: str, new: str) -> Path:
        text = configuration_toml(load_machine("tiny"))
        assert old in text
        file = tmp_path / "mine.toml"
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
        return file

    return write


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_defines_exactly_the_costs_of_the_program_language(name):
    assert tuple(load_machine(name).spec.costs) == all_keys()


def test_the_number_of_provisional_parameters_of_the_h200_is_known(h200):
    assert h200.provisional_count == PROVISIONAL_NUMBERS_OF_H200


def test_tiny_holds_no_provisional_number():
    assert load_machine("tiny").provisional_count == 0


def test_every_number_of_the_specification_has_a_provenance(h200):
    numbers = {f"costs.{key}" for key in h200.spec.costs} | {"floorplan"}
    numbers |= {"tables.l2_latency", "tables.pair_latency", "tables.hbm_latency"}
    for section in ("clocks", "launch", "tma", "lrc", "xbar", "l2", "hbm", "fabric", "smem"):
        numbers |= {f"{section}.{field}" for field in getattr(h200.spec, section).__struct_fields__}
    assert set(h200.provenance) == numbers


def test_a_cluster_sync_of_four_warps_takes_350_cycles(h200):
    issue, per_warp = h200.cost("sync.cluster.acq_rel.issue"), h200.cost("sync.cluster.acq_rel.per_warp")
    assert issue + 4 * per_warp == pytest.approx(350, rel=0.02)


def test_latency_tables_are_offsets_with_mean_zero(h200):
    assert h200.l2_latency.shape == (132, 94)
    assert h200.pair_latency.shape == (132, 132)
    own_side = h200.partition_of[:, None] == h200.slice_partition[None, :]
    assert abs(h200.l2_latency[own_side].mean()) < 0.5
    assert abs(h200.pair_latency.mean()) < 0.5


def test_index_arrays_follow_the_floorplan(h200):
    assert np.bincount(h200.gpc_of).tolist() == [12, 16, 16, 16, 18, 18, 18, 18]
    assert np.bincount(h200.tpc_of).tolist() == [2] * 66
    assert np.bincount(h200.cpc_of).max() == 6
    assert h200.tpc_of[0] == h200.tpc_of[1]
    assert h200.gpc_of[0] == h200.gpc_of[16]
    assert np.bincount(h200.slice_partition).tolist() == [47, 47]


def test_a_machine_cannot_be_changed(h200):
    with pytest.raises(ValueError, match="read-only"):
        h200.l2_latency[0, 0] = 1
    with pytest.raises(AttributeError):
        h200.spec.tma.line_interval = 2


def test_a_machine_survives_pickling(h200):
    assert pickle.loads(pickle.dumps(h200)).hash == h200.hash


def test_an_override_changes_the_value_and_the_origin_and_the_hash(h200):
    changed = load_machine(overrides=["l2.bytes=50MB"])
    assert changed.spec.l2.bytes == 50 * 2**20
    assert changed.provenance["l2.bytes"].origin == "assumed: set by the user"
    assert h200.provenance["l2.bytes"].kind == "measured"
    assert changed.hash != h200.hash


def test_the_hash_ignores_names_and_origins(preset_file):
    file = preset_file('name = "tiny"', 'name = "other"')
    assert load_machine(file).hash == load_machine("tiny").hash


def test_a_table_can_be_set_to_zero_or_to_a_file(tmp_path):
    np.savetxt(tmp_path / "mine.csv", np.arange(32.0).reshape(8, 4), delimiter=",")
    assert not load_machine("tiny", ["tables.l2_latency=zero"]).l2_latency.any()
    table = load_machine("tiny", [f"tables.l2_latency={tmp_path / 'mine.csv'}"])
    assert table.l2_latency[7, 3] == 31
    assert table.provenance["tables.l2_latency"].kind == "assumed"


@pytest.mark.parametrize(
    ("override", "field", "nearest"),
    [
        ("tma.line_intervall=1.3", "tma.line_intervall", "tma.line_interval"),
        ("tma.line_interval=fast", "tma.line_interval", "above 0 and at most 1000000"),
        ("tma.line_interval=0", "tma.line_interval", "any value above 0"),
        ("tma.line_interval=inf", "tma.line_interval", "above 0 and at most 1000000"),
        ("hbm.efficiency=1.2", "hbm.efficiency", 1.0),
        ("hbm.bytes_per_second=1e-300", "hbm.bytes_per_second", 1e9),
        ("xbar.gpc_bytes_per_cycle=1e-9", "xbar.gpc_bytes_per_cycle", 0.1),
        ("clocks.l2_ratio=1e-300", "clocks.l2_ratio", 0.01),
        ("l2.look_up_interval=1e300", "l2.look_up_interval", 1e6),
        ("lrc.max_merged=100000000000000000000", "lrc.max_merged", 2**20),
        (f"lrc.max_merged=1{400 * '0'}", "lrc.max_merged", 2**20),
        ("lrc.held=1_0", "lrc.held", "10"),
        ("lrc.held=1048576", "lrc.held", 2**24 // (94 * 8)),
        ("l2.bytes=1e20", "l2.bytes", 2**32),
        ("l2.bytes=1e400KB", "l2.bytes", "at least 4096 and at most 4294967296"),
        ("launch.cluster_max=32", "launch.cluster_max", 16),
        ("l2.partitions=3", "l2.partitions", 2),
        ("xbar.port_lines=2.5", "xbar.port_lines", 2),
        ("l2.slices=93", "l2.slices", 92),
        ("costs.loop.lane.isue=3", "costs.loop.lane.isue", "costs.loop.lane.issue"),
        ("costs.loop.lane.issue=-1", "costs.loop.lane.issue", 0.0),
        ("launch.cluster_portable=32", "launch.cluster_portable", 16),
        ("launch.shared_bytes_per_cta=228KB", "launch.shared_bytes_per_cta", 232448),
        ("launch.shared_bytes_per_sm=1", "launch.shared_bytes_per_sm", 233472),
        ("launch.shared_reserved=400000", "launch.shared_bytes_per_sm", 632448),
        ("l2.bytes=4096.5", "l2.bytes", 4096),
        ("l2.bytes=0.1MB", "l2.bytes", "at least 4096 and at most 4294967296"),
        ("tma.line_interval", "set", "tma.line_interval=<value>"),
        ("tables.l2_latency=nowhere.csv", "tables.l2_latency.file", "zero"),
    ],
)
def test_a_bad_override_names_field_rule_and_nearest_legal_value(override, field, nearest):
    with pytest.raises(InputError) as caught:
        load_machine(overrides=[override])
    assert caught.value.field == field
    assert caught.value.nearest == nearest
    assert caught.value.rule


@pytest.mark.parametrize(
    ("old", "new", "field", "nearest"),
    [
        ("[lrc]", "[lrk]", "lrk", "lrc"),
        ('name = "tiny"', 'name = ""', "name", "mine"),
        ('name = "tiny"', 'name = "a\\u0000"', "name", "mine"),
        ("line_interval", "line_intervals", "tma.line_intervals", "line_interval"),
        ("entries =", "# entries =", "lrc.entries", '{value = ..., unit = "line", origin = "..."}'),
        ('unit = "GHz"', 'unit = "MHz"', "clocks.sm_ghz.unit", "GHz"),
        ('"assumed: small', '"guessed: small', "tables.l2_latency.origin", None),
        ("value = 2.0,", 'value = "2.0",', "clocks.sm_ghz", "at least 0.01 and at most 100"),
        ("value = 2.0,", "value = true,", "clocks.sm_ghz", "at least 0.01 and at most 100"),
        ('"stamp.issue"', '"stamp.isue"', "costs.stamp.isue", "stamp.issue"),
        (
            '"stamp.issue"',
            '# "stamp.issue"',
            "costs.stamp.issue",
            '{value = ..., unit = "cycle", origin = "..."}',
        ),
        ("[[0, 1]]", "[[0, 2]]", "floorplan.gpc.cpcs", "remove the repeated ids"),
        ("partition = 1", "partition = 2", "floorplan.gpc[1].partition", 1),
        ('digest = "', 'digest = "0', "tables.l2_latency.digest", None),
        ('name = "tiny"', "name = 3", "name", "mine"),
    ],
)
def test_a_bad_preset_names_field_rule_and_nearest_legal_value(preset_file, old, new, field, nearest):
    with pytest.raises(InputError) as caught:
        load_machine(preset_file(old, new))
    assert caught.value.field == field
    if nearest is not None:
        assert caught.value.nearest == nearest


def test_every_number_has_a_least_and_a_largest_value():
    rules = [rule for name in sections() for rule in section_rules(name).values()] + [cost_rule()]
    assert [rule.path for rule in rules if rule.le is None or (rule.ge is None and rule.gt is None)] == []


def test_a_rate_is_never_so_low_that_a_line_takes_for_ever():
    slow = [
        f"{rule.path}={rule.ge}"
        for name in sections()
        for rule in section_rules(name).values()
        if rule.unit in {"B/cycle", "B/L2 cycle", "B/s"}
    ]
    tables = make_tables(load_machine("tiny", slow))
    assert max(tables.hbm_service[-1], tables.gpc_service[-1], tables.slice_service[-1]) < 2**40


def test_lines_that_coalescers_keep_are_limited_in_all_however_many_slices_there_are():
    assert load_machine(overrides=["lrc.held=22310"]).spec.lrc.held == 22310
    with pytest.raises(InputError, match="for each of 8 GPCs, at most 16777216 in all"):
        load_machine(overrides=["lrc.held=22311"])


def test_an_unknown_preset_names_the_most_similar_one():
    with pytest.raises(InputError) as caught:
        load_machine("h200_sxn")
    assert caught.value.nearest == "h200_sxm"


def test_a_missing_or_broken_file_is_bad_input(tmp_path):
    (tmp_path / "broken.toml").write_text("name = ", encoding="utf-8")
    for file in ("absent.toml", "broken.toml"):
        with pytest.raises(InputError, match="readable TOML file"):
            load_machine(tmp_path / file)


def test_a_table_of_the_wrong_shape_says_which_shape_fits():
    with pytest.raises(InputError, match="132 rows and 96 columns, not 132 and 94"):
        load_machine(overrides=["l2.slices=96"])


def test_the_access_of_a_slice_is_a_part_of_the_latency_of_the_l2():
    with pytest.raises(InputError, match=r"must not exceed l2\.latency") as caught:
        load_machine("tiny", ["l2.latency=100", "l2.access_latency=100.5"])
    assert (caught.value.field, caught.value.nearest) == ("l2.access_latency", 100)


def test_a_table_holds_no_time_that_no_machine_has(tmp_path):
    np.savetxt(tmp_path / "far.csv", np.full((8, 4), 1e300), delimiter=",")
    with pytest.raises(InputError, match="at most 1000000 only"):
        load_machine("tiny", f"tables.l2_latency={tmp_path / 'far.csv'}")


def test_a_cost_that_the_machine_lacks_is_named(h200):
    with pytest.raises(InputError) as caught:
        h200.require_costs(["loop.lane.issue", "loop.lanes.issue"])
    assert caught.value.field == "costs.loop.lanes.issue"
    assert caught.value.nearest == "loop.lane.issue"


def test_importing_the_machine_loads_no_graph_plot_or_engine():
    code = "import sys, hoppersim.machine; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"networkx", "matplotlib", "simpy", "numba", "hoppersim.program"} & set(loaded)


H100 = ("h100_sxm", "h100_pcie")


@pytest.mark.parametrize("name", H100)
def test_what_a_preset_does_not_say_is_taken_over_from_its_base_and_says_so(name, h200):
    machine = load_machine(name)
    for path, origin in machine.provenance.items():
        if origin.taken_over:
            assert origin.value == h200.provenance[path].value
            assert h200.provenance[path].origin in origin.origin
            assert origin.kind == "assumed"
        else:
            assert origin.kind in ("published", "assumed")
    assert 0 < len(machine.provenance) - machine.taken_over_count < 15
    assert h200.taken_over_count == 0


@pytest.mark.parametrize(("name", "sms", "clock"), [("h100_sxm", 132, 1.98), ("h100_pcie", 114, 1.755)])
def test_an_h100_has_its_published_size(name, sms, clock):
    machine = load_machine(name)
    assert machine.sm_count == sms
    assert machine.spec.clocks.sm_ghz == clock
    assert machine.spec.l2.bytes == 50 * 2**20
    assert machine.spec.l2.slices == 80


def _with_base(folder: Path, name: str, base: str, more: str = "") -> Path:
    file = folder / f"{name}.toml"
    file.write_text(f'name = "{name}"\nbase = "{base}"\n{more}', encoding="utf-8")
    return file


def test_a_file_with_a_base_states_only_what_differs(tmp_path):
    more = '[costs.stamp]\nissue = {value = 3.0, unit = "cycle", origin = "measured: mine"}\n'
    machine = load_machine(_with_base(tmp_path, "mine", "tiny", more))
    assert machine.cost("stamp.issue") == 3
    assert machine.provenance["costs.stamp.issue"].origin == "measured: mine"
    assert machine.provenance["floorplan"].origin.startswith("assumed: taken over from tiny (")
    plain = load_machine(_with_base(tmp_path, "plain", "tiny"))
    assert plain.hash == load_machine("tiny").hash


def test_a_base_may_have_a_base_and_tables_of_its_own_beside_it(tmp_path):
    (tmp_path / "below").mkdir()
    np.savetxt(tmp_path / "below" / "mine.csv", np.arange(32.0).reshape(8, 4), delimiter=",")
    table = '[tables]\nl2_latency = {file = "mine.csv", unit = "cycle", origin = "measured: mine"}\n'
    _with_base(tmp_path / "below", "first", "tiny", table)
    machine = load_machine(_with_base(tmp_path, "second", "below/first.toml"))
    assert machine.l2_latency[7, 3] == 31
    assert machine.provenance["tables.l2_latency"].origin == "assumed: taken over from first (measured: mine)"


def test_a_base_that_leads_back_or_does_not_exist_is_bad_input(tmp_path):
    _with_base(tmp_path, "one", "two.toml")
    with pytest.raises(InputError, match="lead back"):
        load_machine(_with_base(tmp_path, "two", "one.toml"))
    with pytest.raises(InputError, match="must be a preset") as caught:
        load_machine(_with_base(tmp_path, "mine", "h200"))
    assert caught.value.nearest == "h200_sxm"


@pytest.mark.parametrize(
    ("base", "field"),
    [
        ("h200", "base"),
        ("nowhere.toml", "base"),
        ("broken.toml", "base"),
        ("nameless.toml", "base.name"),
        ("odd.toml", "base.lrk"),
        ("a\\u0000b.toml", "base"),
        ("a\\u0000b", "base"),
    ],
)
def test_what_is_wrong_with_a_base_is_said_of_the_base(tmp_path, base, field):
    (tmp_path / "broken.toml").write_text("name = ", encoding="utf-8")
    (tmp_path / "nameless.toml").write_text('name = ""', encoding="utf-8")
    (tmp_path / "odd.toml").write_text('name = "odd"\n[lrk]\n', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_machine(_with_base(tmp_path, "mine", base))
    assert caught.value.field == field


def test_a_chain_of_bases_is_short(tmp_path):
    for number in range(1500):
        _with_base(tmp_path, f"m{number}", f"m{number + 1}.toml")
    with pytest.raises(InputError, match="must not lead through more than 8 files") as caught:
        load_machine(tmp_path / "m0.toml")
    assert caught.value.field == "base"


def test_a_floorplan_in_a_file_of_an_impossible_name_is_bad_input(tmp_path):
    for name in ("first", "second"):
        base = "tiny" if name == "first" else "first.toml"
        file = _with_base(tmp_path, name, base, 'floorplan = "a\\u0000b"\n' if name == "first" else "")
        with pytest.raises(InputError) as caught:
            load_machine(file)
        assert caught.value.field == "floorplan"


def test_a_single_override_needs_no_list():
    assert load_machine("tiny", "lrc.enabled=0").hash == load_machine("tiny", ["lrc.enabled=0"]).hash
