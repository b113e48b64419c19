"""Statistics of a comparison, what it keeps, and the table that it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import hw_validate.bench as running
from hoppersim.dataset import ErrorSummary, load_dataset
from hoppersim.errors import InputError
from hoppersim.pool import MachineRequest
from hoppersim.program.cases import Case, build_case
from hw_validate import compare_score as scoring
from hw_validate import compare_store as store
from hw_validate.bench import Bench, Kept, Simulated, Task
from hw_validate.cli import main
from hw_validate.compare import Item, Pair, relative
from hw_validate.compare_items import dataset_items
from hw_validate.compare_races import race_counts, races, wrong
from hw_validate.compare_readme import measured_block
from hw_validate.compare_result import Comparison, document, to_csv
from hw_validate.compare_run import simulate_items

KEY = ("h200_sxm", "machine", "model")
TINY = MachineRequest("tiny")


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
    fields: dict[str, Any] = {"spread": 0.01, "tags": {"case": case | changes.pop("case", {})}, "bound": 50.0}
    return Pair(mode, mode, measured, simulated, **fields | changes)


def test_errors_are_relative_to_the_smaller_and_infinite_where_one_is_none() -> None:
    assert relative(150, 100) == 0.5
    assert relative(0, 0) == 0
    assert relative(1, 0) == float("inf")


def test_points_are_grouped_by_portion_mode_and_memory() -> None:
    found = [
        pair("multicast", 100, 110),
        pair("unicast", 100, 90, set_aside="random"),
        pair("unicast", 100, 130, set_aside="family: 48 rows", case={"rows": 8}),
        pair("unicast", 100, 900, spread=0.06),
    ]
    grouped = {name: len(members) for name, members in scoring.groups(found).items()}
    assert next(iter(grouped)) == "set aside"
    assert grouped["set aside, random"] == grouped["set aside, families"] == grouped["training"] == 1
    assert grouped["set aside: family: 48 rows"] == 1
    assert grouped["set aside: mode unicast"] == grouped["set aside: memory sweep"] == 2
    assert grouped["set aside, hardware-bound"] == grouped["training, hardware-bound"] == 1
    closed = scoring.scores(scoring.groups(scoring.as_closed_form(found)))
    assert closed["training"]["median"] == 1.0
    assert [item.simulated for item in scoring.worst(found, 1)] == [130]
    assert [item.simulated for item in scoring.unstable(found)] == [900]


def test_kinds_without_a_case_have_names() -> None:
    slope = Pair("a", "a", 1, 1, 0, {"kind": "slope"})
    push = Pair("b", "b", 1, 1, 0, {"dsmem": "push", "tile": 2**14, "stages": 4})
    assert (slope.mode, push.mode, slope.memory) == ("slope", "dsmem push", "none")
    assert "training, all software" in scoring.groups([slope])
    assert "training, hardware-bound" in scoring.groups([push])


def test_a_race_needs_a_difference_beyond_the_spread_and_equal_fields() -> None:
    quick, slow = pair("multicast", 100, 120), pair("unicast", 150, 110)
    (race,) = races([quick, slow])
    assert (race.ways, race.decided, race.agrees) == (("multicast", "unicast"), True, False)
    assert (race.measured, race.simulated) == (pytest.approx(100 / 150), pytest.approx(120 / 110))
    assert race.spread == pytest.approx(0.01)
    assert race.margin == pytest.approx(120 / 110 - 1)
    assert race_counts([race])["training"] == {"pairs": 1, "agree": 0, "within_spread": 0}
    assert wrong([race]) == [race]
    (close,) = races([quick, pair("unicast", 100.5, 110)])
    assert not close.decided
    assert race_counts([close])["training"] == {"pairs": 0, "agree": 0, "within_spread": 1}
    assert wrong([close]) == []
    assert races([quick, pair("unicast", 150, 110, case={"cluster": 4})]) == []
    assert races([quick, pair("unicast", 150, 110, spread=0.06)]) == []
    assert races([pair("unicast", 100, 100), pair("unicast_distinct", 200, 200)]) == []


def test_races_are_told_by_all_that_ran_and_by_nothing_else() -> None:
    here, there = ({"sms": {"gpcs": gpcs, "per_gpc": 0}} for gpcs in ([], [1]))
    found = races([
        pair("multicast", 100, 100, case=here), pair("unicast", 150, 150, case=here),
        pair("multicast", 90, 90, case=there), pair("multicast_slices", 60, 60, case=there),
    ])  # fmt: skip
    assert [(race.ways, race.measured) for race in found] == [
        (("multicast", "unicast"), pytest.approx(2 / 3)),
        (("multicast", "multicast_slices"), 1.5),
    ]


@pytest.mark.parametrize(
    ("name", "rest"),
    [("mode", {"kind": "fan_out", "cluster": 2, "rows": 8}), ("article", {"pattern": "hot", "cluster": 2})],
)
def test_points_that_are_no_case_race_too(name: str, rest: dict[str, Any]) -> None:
    def point(mode: str, measured: float, **other: Any) -> Pair:
        return Pair(mode, mode, measured, measured, 0.01, {name: mode, **rest, **other})

    (race,) = races([point("multicast", 10, counted=True), point("unicast", 20, set_aside="random")])
    assert (race.ways, race.measured) == (("multicast", "unicast"), 0.5)
    assert races([point("multicast", 10), point("unicast", 20, cluster=4)]) == []


def test_every_planned_pair_that_differs_in_the_mode_only_is_a_race() -> None:
    dataset = load_dataset()
    pairs = [
        Pair(point.id, point.label, 1.0, 1.0, 0.0, point.tags)
        for point in dataset.points
        if not point.set_aside
    ]
    found = races(pairs)
    modes = {race.ways for race in found}
    assert ("multicast", "unicast") in modes
    assert ("multicast_slices", "unicast") in modes
    assert len(found) > 100


def test_inside_the_range_of_the_repeats() -> None:
    assert scoring.inside_range(pair("unicast", 100, 105, repeats=(90, 110)))
    assert not scoring.inside_range(pair("unicast", 100, 111, repeats=(90, 110)))


def items() -> list[Item]:
    works = [build_case(Case("unicast", grid=1, rows=8, iterations=n)) for n in (2, 3, 4)]
    return [Item(str(n), f"p{n}", str(n), work, 1000, (1000,), 0, {}) for n, work in enumerate(works)]


def test_simulations_are_kept_and_do_not_depend_on_the_processes(tmp_path: Path, monkeypatch) -> None:
    seen: list[str] = []
    first = simulate_items(items(), TINY, 2, seen.append, tmp_path)
    assert sorted(seen) == ["p0", "p1", "p2"]
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text() + '{"hash": "x", "simul')
    monkeypatch.setattr(running, "simulate_one", lambda *_: pytest.fail("simulated again"))
    assert simulate_items(items(), TINY, 1, None, tmp_path) == first
    monkeypatch.undo()
    assert simulate_items(items(), TINY, 1, None, tmp_path / "other") == first


def test_what_is_kept_is_not_missing_and_equal_works_are_missing_once(tmp_path: Path) -> None:
    tasks = [Task(item, TINY) for item in items()]
    simulate_items(items()[:1], TINY, 1, None, tmp_path)
    with Bench(1, tmp_path) as bench:
        assert bench.missing([*tasks, *tasks]) == 2
        bench.run(tasks)
        assert bench.missing(tasks) == 0


def test_a_long_comparison_says_first_how_many_works_there_are_and_how_to_do_less(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise InputError("bench", "stopped", "must not run here")

    monkeypatch.setattr(Bench, "missing", lambda *_: 2369)
    monkeypatch.setattr("hw_validate.compare_command.pair_items", stop)
    assert main(["compare", "--points", "scaling", "-j", "2"]) == 2
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("2,369 works to simulate, about 30 min with 2 processes; less: --sample 100")


def test_a_sample_is_of_all_kinds_and_no_larger_than_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Item] = []

    def stop(_: object, some: list[Item], *__: object) -> None:
        seen.extend(some)
        raise InputError("bench", "stopped", "must not run here")

    monkeypatch.setattr("hw_validate.compare_command.pair_items", stop)
    assert main(["compare", "--points", "scaling", "--sample", "9", "-j", "1"]) == 2
    assert capsys.readouterr().err.startswith("error: bench")
    assert len(seen) == 9
    assert len({item.tags["case"]["mode"] for item in seen}) == 4


def test_a_changed_number_of_the_machine_is_simulated_anew(tmp_path: Path) -> None:
    changed = MachineRequest("tiny", ("lrc.enabled=0",))
    states = {running.state_of(request) for request in (TINY, changed)}
    assert len(states) == 2
    kept = Kept("state", tmp_path)
    kept.add("a", Simulated(1.0))
    assert Kept("state", tmp_path).known == {"a": Simulated(1.0)}
    assert Kept("other", tmp_path).known == {}


def test_a_point_that_cannot_run_gives_its_reason(tmp_path: Path) -> None:
    work = build_case(Case("unicast", cluster=16, rows=8, iterations=2))
    (found,) = simulate_items([Item("a", "large", "a", work, 1, (), 0, {})], TINY, 1, None, tmp_path)
    assert isinstance(found, str)
    assert found.startswith("large: ")
    assert document(Comparison.of("tiny", [found]))["failures"] == [found]


def test_a_process_that_began_with_other_sources_refuses() -> None:
    asked = running.Parcel(running.machine_for(TINY), items()[0].work, running.sources_hash())
    assert running.simulate_parcel(asked).cycles
    with pytest.raises(InputError, match="run again"):
        running.simulate_parcel(asked._replace(sources="other sources"))


def test_selections_of_the_dataset() -> None:
    dataset = load_dataset()
    counts = {name: len(dataset_items(dataset, name)) for name in ("set-aside", "training", "scaling", "all")}
    assert counts["set-aside"] + counts["training"] == counts["all"]
    assert 0 < counts["scaling"] < counts["training"]
    hashes = {item.hash for item in dataset_items(dataset, "scaling")}
    assert {row["hash"] for row in store.scaling_rows(dataset, {})} <= hashes
    assert any(item.counters for item in dataset_items(dataset, "training"))
    for arguments in (("nothing",), ("all", "no run")):
        with pytest.raises(InputError):
            dataset_items(dataset, *arguments)


def test_looks_are_logged_once_for_each_state() -> None:
    found = [pair("unicast", 100, 110, set_aside="random")]
    once = store.log_look(ErrorSummary(), found, KEY)
    assert [(look.points, look.median) for look in once.looks] == [(1, 0.1)]
    assert store.log_look(once, found, KEY) == once
    assert len(store.log_look(once, found, ("h200_sxm", "other", "model")).looks) == 2
    assert store.log_look(ErrorSummary(), [pair("unicast", 100, 110)], KEY).looks == []


def test_scores_of_another_model_are_dropped_and_looks_never() -> None:
    dataset = load_dataset()
    aside = [pair("unicast", 100, 110, set_aside="random")]
    looked = store.log_look(ErrorSummary(), aside, KEY)
    old = store.summarise(dataset, Comparison.of("h200_sxm", aside), {}, KEY, looked)
    training = Comparison.of("h200_sxm", [pair("unicast", 100, 105)])
    both = store.summarise(dataset, training, {}, KEY, old)
    assert {"set aside", "training"} <= set(both.groups)
    fresh = store.summarise(dataset, training, {}, ("h200_sxm", "b", "c"), both)
    assert "set aside" not in fresh.groups
    assert fresh.looks == old.looks


def test_the_table_has_both_times_of_each_point() -> None:
    dataset = load_dataset()
    rows = store.scaling_rows(dataset, {})
    assert len(rows) >= 25
    simulated = {rows[0]["hash"]: rows[0]["measured"] * 128 * 1.1}
    summary = replace(ErrorSummary(), scaling=store.scaling_rows(dataset, simulated))
    block = measured_block(dataset, summary)
    assert "+10.0%" in block


def test_csv_has_a_line_for_each_point() -> None:
    lines = to_csv(Comparison.of("tiny", [pair("unicast", 100, 110)])).splitlines()
    assert lines[0].startswith("id,label,mode")
    assert len(lines) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["--points", "none"],
        ["--only", "no such label"],
        ["--only", "("],
        ["--write", "--only", "x"],
        ["--write", "--sample", "1"],
        ["--sample", "-1"],
        ["--jobs", "0", "--only", "^latency_1_l2$"],
        ["missing.jsonl"],
        ["missing.jsonl", "--write"],
    ],
)
def test_bad_options_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *arguments]) == 2
    assert capsys.readouterr().err.startswith("error: ")
