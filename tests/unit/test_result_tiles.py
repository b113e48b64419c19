"""Where the time of tiles went: the parts add up to all of it, in both fabrics and ways of loading."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoppersim.engine.tiles import SMALL, STAGES, STRIDE, Tiles
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.dsmem import dsmem_push
from hoppersim.program.gemm import gemm_2x2
from hoppersim.program.work import Work
from hoppersim.result.api import simulate
from hoppersim.result.explain import explain_result
from hoppersim.result.table_files import write_table
from hoppersim.result.tiles import describe_tiles, explain_tiles, tile_rows, total_cycles
from hoppersim.trace.recorder import Recorder
from hoppersim.trace.selection import make_selection

SWEEP: dict[str, Any] = {"rows": 16, "stages": 2, "iterations": 5, "pattern": "sweep"}
WORKS = {
    "unicast": build_case(Case("unicast", cluster=2, **SWEEP)),
    "unicast_distinct": build_case(Case("unicast_distinct", memory="hbm", **SWEEP)),
    "multicast": build_case(Case("multicast", cluster=4, boxes=2, **SWEEP)),
    "multicast_slices": build_case(Case("multicast_slices", cluster=2, memory="hbm", **SWEEP)),
    "late": build_case(Case("unicast", compute=4000, **SWEEP)),
    "push": dsmem_push(cluster=2, tile_bytes=1024, iterations=3),
    "gemm": gemm_2x2(k_steps=3, stages=2),
}


def _followed(machine: Machine, work: Work, fabric: str = "compiled") -> np.ndarray[Any, Any]:
    tiles = Tiles(whole=True)
    simulate(machine, work, fabric=fabric, tiles=tiles)
    return tiles.table()


@pytest.mark.parametrize("name", WORKS)
def test_both_fabrics_tell_the_same_times(tiny: Machine, name: str) -> None:
    compiled, reference = (_followed(tiny, WORKS[name], fabric) for fabric in ("compiled", "reference"))
    assert len(compiled)
    np.testing.assert_array_equal(compiled, reference)


@pytest.mark.parametrize("name", WORKS)
def test_the_parts_are_none_below_zero_and_end_where_a_trace_sees_the_waiter_go_on(
    tiny: Machine, name: str
) -> None:
    tiles, recorder = Tiles(whole=True), Recorder(make_selection("0:1000000", None, None, 64))
    simulate(tiny, WORKS[name], tiles=tiles, observer=recorder)
    table = tiles.table()
    assert table["waited"].all()
    assert all((table[stage] >= 0).all() for stage in STAGES)
    seen = {act.run.cta.sm for act in recorder.acts}
    ends = {(act.run.cta.sm, act.end) for act in recorder.acts if act.phase >= 0}
    starts = {act.start for act in recorder.acts}
    for row in table[np.isin(table["sm"], list(seen))]:
        start = round(row["start"] * 256)
        assert start in starts
        assert (row["sm"], start + round(sum(row[stage] for stage in STAGES) * 256)) in ends


def test_every_tile_at_every_destination_is_followed(tiny: Machine) -> None:
    table = _followed(tiny, WORKS["multicast"])
    result = simulate(tiny, WORKS["multicast"])
    assert len(table) == 2 * SWEEP["iterations"] * result.ctas
    assert result.tiles is not None
    assert result.tiles.every == 1
    assert result.tiles.all.tiles == len(table)


def test_of_a_large_flow_a_part_is_followed_without_changing_anything(tiny: Machine) -> None:
    work = build_case(Case("unicast", rows=2, iterations=100))
    some, whole = simulate(tiny, work), simulate(tiny, work, tiles=Tiles(whole=True))
    assert some.tiles is not None
    assert whole.tiles is not None
    assert whole.tiles.all.tiles > SMALL
    assert (some.tiles.every, whole.tiles.every) == (STRIDE, 1)
    assert some.tiles.all.tiles == pytest.approx(whole.tiles.all.tiles / STRIDE, abs=some.ctas)
    assert (some.cycles, some.counters) == (whole.cycles, whole.counters)
    assert len(some.tiles.by_sm) == some.sms_used


def test_means_of_the_stages_add_up_to_that_of_the_tile(tiny: Machine) -> None:
    result = simulate(tiny, WORKS["gemm"])
    assert result.tiles is not None
    for times in (result.tiles.all, *result.tiles.by_traffic):
        assert sum(item.mean for item in times.stages) == pytest.approx(times.total.mean)
        assert all(item.p50 <= item.p90 for item in times.stages)
    for one in result.tiles.by_sm:
        assert sum(one.stages.values()) == pytest.approx(one.mean)
    assert sum(times.tiles for times in result.tiles.by_traffic) == result.tiles.all.tiles
    assert {times.name for times in result.tiles.by_traffic} == {"a", "b"}


def _stages(machine: Machine, name: str) -> dict[str, float]:
    result = simulate(machine, WORKS[name])
    assert result.tiles is not None
    return {item.name: item.mean for item in result.tiles.all.stages}


def test_each_stage_is_there_where_its_hardware_is(tiny: Machine) -> None:
    merged = _stages(tiny, "unicast")
    assert merged["lrc"] > 0
    assert "lrc" not in _stages(load_machine("tiny", ["lrc.enabled=0"]), "unicast")
    assert _stages(tiny, "late")["ready"] > 1000
    assert _stages(tiny, "unicast_distinct")["hbm"] > tiny.spec.hbm.latency
    assert _stages(tiny, "multicast")["barrier"] > 0  # two boxes complete a phase


def test_a_copy_goes_through_neither_l2_nor_lane(tiny: Machine) -> None:
    result = simulate(tiny, WORKS["push"])
    assert result.tiles is not None
    (copies,) = (times for times in result.tiles.by_traffic if times.kind == "copy")
    stages = {item.name for item in copies.stages}
    assert not {"l2", "hbm", "lrc", "lane"} & stages
    assert {"way", "port"} <= stages
    assert any("(copy)" in line and "peer" in line for line in explain_tiles(result.tiles))


def test_a_narrow_port_is_where_tiles_wait() -> None:
    wide, narrow = (
        _stages(load_machine("tiny", [f"xbar.gpc_bytes_per_cycle={rate}", "xbar.port_lines=2"]), "multicast")
        for rate in (640, 8)
    )
    assert narrow["port"] > 10 * wide["port"]


def test_what_nobody_waits_for_is_in_the_table_but_not_in_the_means(tiny: Machine) -> None:
    tiles = Tiles(whole=True)
    work = build_case(Case("unicast", cluster=2, rows=16, stages=2, iterations=2))
    (flow,) = work.flows
    roles = tuple(role for role in flow.program.roles if role.name == "producer")
    assert roles
    alone = type(work)((type(flow)(program=_with_roles(flow.program, roles), launch=flow.launch),))
    result = simulate(tiny, alone, checks=False, tiles=tiles)
    assert result.tiles is None
    assert not tiles.table()["waited"].any()


def _with_roles(program: Any, roles: Any) -> Any:
    from msgspec.structs import replace

    return replace(program, roles=roles)


def test_sentences_name_the_largest_stages_and_hbm(tiny: Machine) -> None:
    result = simulate(tiny, WORKS["unicast_distinct"])
    assert result.tiles is not None
    (sentence,) = explain_tiles(result.tiles)
    assert "waiting for HBM" in sentence
    assert sentence in explain_result(result)
    line = describe_tiles(result.tiles.all)
    whole, parts = line.split(" cycles = ")
    shown = [float(part.split()[0].replace(",", "")) for part in parts.split(" + ")]
    assert sum(shown) == pytest.approx(float(whole.replace(",", "")), abs=len(shown))


def test_rows_are_written_with_units(tiny: Machine, tmp_path: Path) -> None:
    tiles = Tiles(whole=True)
    simulate(tiny, WORKS["unicast"], tiles=tiles)
    rows = tile_rows(tiles)
    assert [row["total_cycles"] for row in rows] == total_cycles(tiles.table()).tolist()
    write_table(tmp_path / "tiles.csv", rows)
    with (tmp_path / "tiles.csv").open() as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(rows)
    assert all(
        sum(float(row[f"{stage}_cycles"]) for stage in STAGES) == float(row["total_cycles"]) for row in read
    )
