"""The error table: counters, merging, the article, baselines, ablations and seeds, and where it is shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hoppersim.dataset import ErrorSummary, load_dataset
from hoppersim.machine.loading import load_machine
from hoppersim.pool import MachineRequest
from hoppersim.program.cases import Case, build_case
from hw_validate import compare_counters as counting
from hw_validate import compare_store as store
from hw_validate.bench import Bench, Task, simulate_one
from hw_validate.compare import Item, Pair, Seeded
from hw_validate.compare_ablation import ABLATIONS, ablate, possible, sample
from hw_validate.compare_curves import Pace, pace_of
from hw_validate.compare_readme import measured_block
from hw_validate.compare_report import show
from hw_validate.compare_result import Comparison, document
from hw_validate.compare_run import add_seeds, pair_items
from hw_validate.compare_score import article_scores, is_all_software, is_hardware_bound
from hw_validate.compare_targets import ASIDE, COMPLETE, TARGETS, error_table
from hw_validate.figures import draw_comparison

TINY = MachineRequest("tiny")
KEY = ("h200_sxm", "machine", "model")
TARGET = {target.name.split(":")[0].split(",")[0]: target for target in TARGETS}


def pair(mode: str, measured: float, simulated: float, **changes: Any) -> Pair:
    case = {
        "mode": mode,
        "cluster": 2,
        "rows": 128,
        "row_bytes": 128,
        "boxes": 1,
        "stages": 4,
        "memory": "l2",
    }
    case["pattern"] = "sweep"
    fields: dict[str, Any] = {"spread": 0.01, "tags": {"case": case | changes.pop("case", {})}, "bound": 50.0}
    return Pair(mode, mode, measured, simulated, **fields | changes)


def counted(mode: str, measured: dict[str, float], simulated: dict[str, int], **changes: Any) -> Pair:
    fields = {
        "counters": measured,
        "counted": (measured,),
        "simulated_counters": simulated,
        "delivered": 10**6,
    }
    return pair(mode, 1, 1, **fields | changes)


def test_kinds_of_loops_are_told_by_their_fields() -> None:
    assert is_hardware_bound(pair("unicast", 1, 1))
    assert not is_hardware_bound(pair("unicast", 1, 1, case={"stages": 2}))
    assert is_all_software(pair("unicast", 1, 1, case={"rows": 16}))
    for other in (
        {"rows": 16, "stages": 2},
        {"rows": 16, "memory": "hbm"},
        {"rows": 16, "pattern": "one"},
        {},
    ):
        assert not is_all_software(pair("unicast", 1, 1, case=other))
    assert is_all_software(pair("unicast", 1, 1, tags={"kind": "ping_pong"}))


def test_the_closed_form_is_the_larger_of_bound_and_floor() -> None:
    assert pair("unicast", 100, 100, floor=80.0).closed_form == 80.0
    assert pair("unicast", 100, 100, floor=20.0).closed_form == 50.0
    assert pair("unicast", 100, 100, bound=None).closed_form_error is None
    found = Comparison.of("tiny", [pair("unicast", 100, 100, floor=80.0)])
    assert found.baseline["training"]["median"] == pytest.approx(0.25)


def test_traffic_leaves_out_what_may_merge() -> None:
    sectors, dram = counting.L2_SECTORS, counting.DRAM_BYTES
    measured, simulated = {sectors: 100.0, dram: 500.0}, {sectors: 103, dram: 0}
    names = [item.name for item in counting.traffic(counted("unicast", measured, simulated))]
    assert names == [dram]
    scores = counting.counter_scores([counted("multicast", measured, simulated)])
    assert scores[f"training: {sectors}"]["median"] == pytest.approx(0.03)
    assert scores[f"training: {sectors}"]["agree"] == 0
    assert scores[f"training: {dram}"]["median"] == pytest.approx(0.005)
    assert scores[f"training: {dram}"]["agree"] == 1
    assert scores["training: traffic"]["points"] == 2
    nothing = {counting.DSMEM_BYTES: 0.0}
    assert counting.traffic(counted("multicast", nothing, {counting.DSMEM_BYTES: 0})) == []


def test_counts_are_those_of_as_many_ctas_as_were_counted() -> None:
    one = counted("multicast", {counting.L2_SECTORS: 160.0}, {counting.L2_SECTORS: 180})
    assert counting.traffic(one)[0].error == pytest.approx(0.125)
    assert counting.traffic(replace(one, ctas=(16, 18)))[0].error == 0
    assert counting.traffic(replace(one, ctas=(0, 18)))[0].error == pytest.approx(0.125)


def test_what_the_l2_lacked_is_its_misses_where_a_launch_starts_warm() -> None:
    fetched = {counting.L2_MISSES: 0.0, counting.DRAM_BYTES: 4000.0}
    cold = counted("multicast", fetched, {counting.L2_MISSES: 0, counting.DRAM_BYTES: 0})
    warm = replace(cold, warm=True)
    assert counting.traffic(cold) == [(counting.DRAM_BYTES, pytest.approx(-4000 / (0.1 * cold.delivered)))]
    assert counting.traffic(warm) == [(counting.L2_MISSES, 0.0)]
    missed = replace(warm, simulated_counters={counting.L2_MISSES: 10})
    assert counting.traffic(missed)[0].error == pytest.approx(10 * 32 / (0.1 * warm.delivered))


@pytest.mark.parametrize(
    ("case", "may"),
    [
        ({"pattern": "sweep", "footprint": 999}, True),
        ({"pattern": "sweep", "footprint": 1000}, False),
        ({"pattern": "sweep", "footprint": 999, "memory": "hbm"}, False),
        ({"pattern": "hot", "footprint": 999}, False),
        ({"pattern": "sweep", "footprint": 999, "mode": "multicast"}, False),
    ],
)
def test_a_sweep_that_goes_around_may_merge(case: dict[str, object], may: bool) -> None:
    found = pair("unicast_distinct", 1, 1, case=case)
    assert counting.merges(replace(found, delivered=1000)) is may


def shares(share: float) -> dict[str, float]:
    return {counting.SELF_BYTES: 3200.0, counting.L2_SECTORS: 100 * (1 - share)}


def merging(measured: tuple[float, ...], simulated: float, seeds: tuple[float, ...] = ()) -> bool | None:
    found = counted("unicast", shares(measured[0]), shares(simulated))  # type: ignore[arg-type]
    return counting.merging_agrees(
        Pair(**{**vars(found), "counted": tuple(map(shares, measured)),
                "seeds": tuple(Seeded(1.0, shares(share)) for share in seeds)})  # type: ignore[arg-type]
    )  # fmt: skip


def test_merged_shares_agree_within_ten_points_or_inside_a_narrow_range_of_seeds() -> None:
    assert merging((0.50,), 0.59)
    assert merging((0.50,), 0.65) is False
    assert merging((0.50,), 0.65, (0.49, 0.60)) is False  # the seeds differ by more than 10 points
    assert merging((0.50, 0.40), 0.65, (0.49, 0.60))  # silicon's own range is 10 points
    assert merging((0.50, 0.40), 0.65, (0.60, 0.64)) is False  # the range does not reach it
    assert counting.merging_agrees(counted("multicast", shares(0.5), shares(0.5))) is None  # type: ignore[arg-type]


def test_the_article_is_scored_by_its_worst_ratio_and_time() -> None:
    def loop(way: str, measured: float, simulated: float) -> Pair:
        tags = {"article": way, "pattern": "hot", "cluster": 2, "iterations": 9}
        return Pair(way, way, measured, simulated, 0, tags)

    found = article_scores([loop("unicast", 100, 110), loop("multicast", 100, 100)])
    assert found["training: article"] == {
        "points": 2, "cycles": pytest.approx(0.1), "ratio": pytest.approx(0.1),
    }  # fmt: skip
    assert "ratio" not in article_scores([loop("unicast", 100, 110)])["training: article"]


def test_a_target_is_met_only_if_all_of_its_measures_are() -> None:
    time, share = TARGETS[0], TARGET["which of two ways is faster"]
    assert [time.rank(seen) for seen in ((0.02, 0.07), (0.02, 0.08), (0.02, 0.2), (0.06, 0.1))] == [
        2,
        1,
        0,
        0,
    ]
    assert [share.rank((seen,)) for seen in (1.0, 0.95, 0.94)] == [2, 1, 0]
    assert time.text((0.05, 0.12)) == "5.0% / 12.0%"


def test_the_table_keeps_random_points_and_families_apart() -> None:
    found = Comparison.of("tiny", [
        pair("unicast", 100, 102, set_aside="random"),
        pair("unicast", 100, 130, set_aside="family: 3 stages"),
        pair("unicast", 100, 500), pair("unicast", 100, 900, spread=0.2, set_aside="random"),
    ], pair_scores={"set aside": {"points": 4, "rms": 3.0}})  # fmt: skip
    rows = {(row.target.name, row.portion): row for row in error_table(found)}
    times = {portion: rows[TARGETS[0].name, portion] for portion in ASIDE}
    assert [(times[portion].points, times[portion].met) for portion in ASIDE] == [(1, "aim"), (1, "no")]
    assert times[ASIDE[0]].seen == pytest.approx((0.02, 0.02))
    assert "closed form" in times[ASIDE[0]].beside
    latencies = rows[TARGET["DSMEM latency by pair of SMs"].name, "set aside"]
    assert (latencies.seen, latencies.met) == ((3.0,), "aim")
    assert {row.portion for row in error_table(Comparison.of("tiny", [pair("unicast", 1, 1)]))} == {
        "training"
    }
    assert error_table(Comparison.of("tiny", [])) == []


def test_every_figure_of_the_table_can_have_points() -> None:
    loop = {"pattern": "hot", "cluster": 2, "iterations": 9}
    found = Comparison.of("tiny", [
        pair("unicast", 150, 150), pair("multicast", 100, 101), pair("unicast", 9, 9, case={"rows": 16}),
        counted("multicast", {counting.L2_SECTORS: 5.0}, {counting.L2_SECTORS: 5}, case={"rows": 64}),
        counted("unicast", shares(0.5), shares(0.5), case={"rows": 32}),  # type: ignore[arg-type]
        *(Pair(way, way, 5, 5, 0, {"article": way, **loop}) for way in ("unicast", "multicast")),
    ], pair_scores={"training": {"points": 1, "rms": 9.0}})  # fmt: skip
    rows = error_table(found)
    assert [row.target for row in rows] == list(TARGETS)
    assert [row.met for row in rows if row.target.name.startswith("DSMEM")] == ["no"]


def items(*rows: int) -> list[Item]:
    works = [build_case(Case("unicast", grid=2, cluster=2, rows=n, iterations=2)) for n in rows]
    return [Item(str(n), f"p{n}", str(n), work, 1000, (900, 1100), 0.2, {}) for n, work in enumerate(works)]


def test_ablations_change_what_they_say_and_miss_what_the_machine_lacks(tmp_path: Path) -> None:
    machine = load_machine("tiny")
    chosen = {item.name: item.settings(machine) for item in possible(machine)}
    assert "lrc.enabled=0" in chosen["no LRC"]
    assert len(chosen["no operation costs"]) == len(machine.spec.costs)
    assert "tables.l2_latency=zero" in chosen["one latency"]
    with Bench(1, tmp_path) as bench:
        whole = pair_items(bench, items(8), TINY)
        found = ablate(bench, items(8), TINY)
    assert chosen["early branch"] == ("xbar.branch_behind_port=0",)
    assert list(found.pairs) == [COMPLETE, *chosen]
    assert {*chosen, *found.impossible} == {item.name for item in ABLATIONS}
    assert found.pairs[COMPLETE] == whole
    assert found.pairs["no operation costs"][0].simulated < whole[0].simulated  # type: ignore[union-attr]
    result = Comparison.of("tiny", whole, ablations=found.pairs, impossible=found.impossible)
    assert set(document(result)["impossible ablations"]) == set(found.impossible)


def test_a_sample_is_drawn_evenly_from_stable_points() -> None:
    work = build_case(Case("unicast", grid=2, cluster=2, rows=8, iterations=2))
    every = [Item(str(n), f"p{n:02}", str(n), work, 1.0, (), 0.0 if n % 2 else 0.2, {}) for n in range(40)]
    assert [item.label for item in sample(every, 4)] == ["p01", "p11", "p21", "p31"]
    assert len(sample(every, 1000)) == 20
    assert sample(every, 0) == []


def test_points_that_differ_are_simulated_under_more_seeds(tmp_path: Path) -> None:
    with Bench(1, tmp_path) as bench:
        some = items(8, 64)
        found = add_seeds(bench, some, pair_items(bench, some, TINY), TINY, 3)
        again = bench.run([Task(some[0], TINY, 2)])
    assert [len(one.seeds) for one in found if isinstance(one, Pair)] == [2, 2]
    assert found[0].seeds[1].cycles == again[0].cycles  # type: ignore[union-attr]
    assert document(Comparison.of("tiny", found))["unstable"][0]["seeds"] == 3


def test_the_seed_is_part_of_what_is_kept(tmp_path: Path) -> None:
    (item,) = items(8)
    assert Task(item, TINY).key == item.hash
    assert Task(item, TINY, 1).key != item.hash
    assert Task(item, TINY, 1).work.flows[0].launch.seed == 1


def test_terminal_and_readme_show_the_table() -> None:
    from rich.console import Console

    ablations = {
        COMPLETE: [pair("unicast", 100, 104)],
        "no LRC": [pair("unicast", 100, 300)],
        "one clock": [pair("unicast", 100, 104)],
    }
    found = Comparison.of("h200_sxm", [
        pair("unicast", 100, 102, set_aside="random"),
        pair("unicast", 100, 130, set_aside="family: 3 stages"),
        pair("unicast", 100, 104), counted("multicast", {counting.L2_SECTORS: 5.0}, {counting.L2_SECTORS: 5}),
        pair("unicast", 100, 160, spread=0.2),
    ], ablations=ablations, impossible=("early branch",))  # fmt: skip
    screen = Console(record=True, width=170)
    show(screen, found)
    text = screen.export_text()
    for part in (
        "error table",
        "the same without one block",
        "not taken away: early branch",
        "earns nothing on these points: the block that 'one clock' takes away",
        "simulated from",
    ):
        assert part in text
    dataset = load_dataset()
    summary = store.summarise(dataset, found, {}, KEY, store.log_look(ErrorSummary(), found.pairs, KEY))
    block = measured_block(dataset, summary)
    assert "| time, all stable points: median / p90 | 5.0% / 12.0% | 2.5% / 7.0% | 2.0% / 2.0% (1) |" in block
    assert "**30.0% / 30.0%** (1)" in block
    assert "looked at once" in block


def test_pace_and_latency_come_from_stamps() -> None:
    bursts = {"producer.issued": [[0, 10, 20, 450], []], "consumer.arrived": [[300, 320, 330, 790], []]}
    assert pace_of(bursts) == Pace(150, 310)
    assert pace_of({"leader.issued": [[0, 50], []], "consumer.arrived": [[70, 120], [71, 121]]}) == Pace(
        50, 70
    )
    assert pace_of({"producer.issued": [[0, 100]]}) is None
    assert pace_of({}) is None


def test_a_simulated_curve_has_a_pace_too() -> None:
    from hw_validate.plans.curves import points

    work = next(point.work for point in points() if point.tags["curve"] == "push_c2")
    found = simulate_one(load_machine(), work)
    assert found.pace is not None
    assert 0 < found.pace.latency < found.cycles
    assert 0 < found.pace.interval < found.cycles


def test_figures_are_written_and_the_same_twice(tmp_path: Path) -> None:
    found = Comparison.of("tiny", [pair("unicast", 100, 110), pair("multicast", 90, 80, spread=0.1)])
    curves = [
        pair("flow", 1, 1, tags={"curve": "multicast_c2", "bytes": 16384, "pace": pace},
             paces=(Pace(200 + pace, 500), Pace(210 + pace, 480)))
        for pace in (0, 100)
    ]  # fmt: skip
    first = draw_comparison(found, curves, tmp_path)
    assert sorted(path.name for path in first) == [
        "curves.png", "curves.svg", "simulated_against_measured.png", "simulated_against_measured.svg",
    ]  # fmt: skip
    before = {path: path.read_bytes() for path in first}
    draw_comparison(found, curves, tmp_path)
    assert {path: path.read_bytes() for path in first} == before
    assert draw_comparison(Comparison.of("tiny", []), [], tmp_path) == []
    half_known = [pair("flow", 1, 1, tags={"curve": "hbm", "bytes": 1}, paces=(Pace(1, 1), None))]
    assert len(draw_comparison(Comparison.of("tiny", []), half_known, tmp_path)) == 2
    unknown = [pair("flow", 1, 1, tags={"curve": "hbm", "bytes": 1})]
    assert draw_comparison(Comparison.of("tiny", []), unknown, tmp_path) == []
