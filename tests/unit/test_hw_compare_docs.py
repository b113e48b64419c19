"""What is generated from kept scores: rows of new plans in the README, and blocks of the docs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from hoppersim.dataset import ErrorSummary, load_dataset
from hoppersim.errors import InputError
from hoppersim.program.cases import Case, build_case
from hw_validate import compare_command as command
from hw_validate import compare_score as scoring
from hw_validate import compare_store as store
from hw_validate.cli import main
from hw_validate.compare import Item, Pair
from hw_validate.compare_blocks import BLOCKS, present_blocks, rewrite_blocks
from hw_validate.compare_docs import NO_ABLATIONS, NO_WORST, ablation_block, worst_block
from hw_validate.compare_known import known_deviation
from hw_validate.compare_readme import measured_block
from hw_validate.compare_result import Comparison, document
from hw_validate.compare_targets import COMPLETE

KEY = ("h200_sxm", "machine", "model")
CASE = {"mode": "multicast", "cluster": 2, "rows": 128, "stages": 4, "memory": "l2", "pattern": "sweep"}


def pair(experiment: str, simulated: float, **changes: Any) -> Pair:
    """Make a point that took 100 cycles and was set aside at random."""
    tags = {"experiment": experiment, **changes.pop("tags", {})}
    fields: dict[str, Any] = {"bound": 80.0, "set_aside": "random", "spread": 0.01, "limiter": "slices"}
    return Pair(experiment, f"{experiment}_point", 100.0, simulated, tags=tags, **fields | changes)


def kept(pairs: list[Pair], old: ErrorSummary | None = None, **others: Any) -> ErrorSummary:
    """Keep a comparison as the command does."""
    found = Comparison.of("h200_sxm", pairs, **others)
    return store.summarise(load_dataset(), found, {}, KEY, store.log_look(old or ErrorSummary(), pairs, KEY))


NEW = [
    pair("unseen", 101, tags={"case": CASE}),
    pair("unseen", 102, tags={"case": CASE, "race": 1}),
    pair("unseen", 110, tags={"kind": "stores"}),
    pair("dataset", 105, tags={"case": CASE}),
]


def test_points_of_new_plans_are_scored_by_kind_and_apart_from_the_earlier_ones() -> None:
    training = pair("unseen", 300, tags={"kind": "stores"}, set_aside="")
    grouped = scoring.groups([*NEW, training])
    assert [item.simulated for item in grouped[scoring.NEW_PLANS]] == [101, 102, 110]
    assert [item.simulated for item in grouped[scoring.EARLIER_PLANS]] == [105]
    kinds = [grouped[f"{scoring.NEW_PLANS}, {kind}"] for kind in scoring.KINDS]
    assert [[item.simulated for item in members] for members in kinds] == [[101], [102], [110]]


def test_the_readme_shows_new_plans_by_kind_and_how_often_they_were_looked_at() -> None:
    dataset, earlier = load_dataset(), kept([NEW[3]])
    block = measured_block(dataset, earlier)
    assert "planned for this score alone" not in block
    summary = kept(NEW, earlier)
    assert [look.new for look in summary.looks] == [0, 3]
    block = measured_block(dataset, summary)
    assert "score was looked at 2 times" in block
    assert "looked at once, and the others" in block
    for row in (
        "| ordinary loops | 1 | 1.0% / 1.0% | 25.0% / 25.0% |",
        "| races of multicast against unicast | 1 | 2.0% / 2.0% | 25.0% / 25.0% |",
        "| rarer kinds | 1 | 10.0% / 10.0% | 25.0% / 25.0% |",
        "| all of these | 3 | 2.0% / 10.0% | 25.0% / 25.0% |",
        "| points of earlier plans | 1 | 5.0% / 5.0% | 25.0% / 25.0% |",
    ):
        assert row in block


def test_every_point_of_the_new_plan_has_a_kind_and_no_other_has() -> None:
    points = [point for point in load_dataset().points if point.set_aside]
    pairs = [Pair("", "", 1.0, 1.0, 0.0, point.tags, set_aside=point.set_aside) for point in points]
    kinds = [scoring.kind_in_new_plans(one) for one in pairs]
    assert set(kinds) == {*scoring.KINDS, ""}
    assert [bool(kind) for kind in kinds] == [point.plan == "unseen" for point in points]


def ablated(**simulated: float) -> dict[str, list[Pair]]:
    """Give one training point on machines without some blocks."""
    return {
        name.replace("_", " "): [pair("dataset", time, tags={"case": CASE}, set_aside="")]
        for name, time in simulated.items()
    }


def test_ablations_are_kept_and_shown_with_a_verdict() -> None:
    training = [pair("dataset", 104, tags={"case": CASE}, set_aside="")]
    assert NO_ABLATIONS in ablation_block(load_dataset(), kept(training))
    summary = kept(training, ablations=ablated(complete=104, no_LRC=300, one_clock=104))
    block = ablation_block(load_dataset(), summary)
    assert "Of 1 training points" in block
    assert "| complete | 4.0% / 4.0% | 4.0% / 4.0% | all blocks |" in block
    assert "| no LRC | 200.0% / 200.0% | 200.0% / 200.0% | earns its place |" in block
    assert "| one clock | 4.0% / 4.0% | 4.0% / 4.0% | **earns nothing here** |" in block
    assert "What each block" not in measured_block(load_dataset(), summary)


def test_new_ablations_replace_those_of_another_sample_and_nothing_else_drops_them() -> None:
    training = [pair("dataset", 104, tags={"case": CASE}, set_aside="")]
    first = kept(training, ablations=ablated(complete=104, no_skew=200))
    again = kept(NEW, first)
    assert ablation_block(load_dataset(), again) == ablation_block(load_dataset(), first)
    second = kept(training, again, ablations=ablated(complete=104, no_LRC=300))
    assert not [name for name in (*second.baseline, *second.faster) if name.startswith("no skew")]
    assert "closed form / training" not in second.baseline
    assert second.baseline["training"] == first.baseline["training"]


def test_the_largest_errors_of_points_set_aside_are_kept_and_shown() -> None:
    promoted = pair("fresh", 40, tags={"kind": "promotion", "promotion": 256})
    training = pair("dataset", 900, tags={"case": CASE}, set_aside="")
    unstable = pair("fresh", 800, tags={"kind": "stores"}, spread=0.2)
    found = Comparison.of("h200_sxm", [*NEW, promoted, training, unstable])
    assert [item.simulated for item in found.worst] == [40, 110, 105, 102, 101]
    assert document(found)["worst"][0] == {
        "label": "fresh_point", "measured": 100.0, "simulated": 40, "error": -1.5, "limiter": "slices",
        "deviation": "D25",
    }  # fmt: skip
    assert NO_WORST in worst_block(load_dataset(), kept([training]))
    summary = kept(found.pairs)
    assert summary.worst == kept([training], summary).worst
    block = worst_block(load_dataset(), summary)
    assert "| `fresh_point` | 100 | 40 | -150% | slices | D25 |" in block
    assert "| `unseen_point` | 100 | 110 | +10% | slices | - |" in block
    assert msgspec.json.decode(msgspec.json.encode(summary), type=ErrorSummary) == summary


def test_a_known_deviation_is_told_by_what_a_point_runs_and_has_a_row_in_the_docs() -> None:
    tiny = CASE | {"cluster": 16, "rows": 16}
    named = {
        "D11": {"kind": "loads and push", "pushed": 2048},
        "D23": {"case": tiny},
        "D24": {"case": CASE | {"pattern": "one"}},
        "D25": {"kind": "promotion", "promotion": 256},
        "D26": {"kind": "off the grid", "shift": 16},
    }
    for number, tags in named.items():
        assert known_deviation(tags) == number
    for tags in ({"case": CASE}, {"case": tiny | {"mode": "unicast"}}, {"kind": "off the grid", "shift": 0}):
        assert known_deviation(tags) == ""
    text = (Path(__file__).resolve().parents[2] / "docs" / "deviations.md").read_text()
    assert all(f"\n| {number} |" in text for number in named)


def test_every_block_between_marks_is_rewritten_and_the_rest_stays(tmp_path: Path) -> None:
    dataset, summary = load_dataset(), kept(NEW)
    page = tmp_path / "page.md"
    marks = [f"<!-- BEGIN {name}: x -->\nold\n<!-- END {name} -->" for name in ("worst", "measured")]
    page.write_text("a\n" + "\nb\n".join(marks) + "\nc\n")
    assert sorted(rewrite_blocks(page, dataset, summary)) == ["measured", "worst"]
    assert present_blocks(page) == {name: BLOCKS[name](dataset, summary) for name in ("measured", "worst")}
    text = page.read_text()
    assert (text[:2], text[-3:]) == ("a\n", "\nc\n")
    assert "\n<!-- END worst -->\nb\n<!-- BEGIN measured: x -->\n" in text
    assert "old" not in text.split("\n")


@pytest.mark.parametrize(
    "text", ["nothing", "<!-- END worst -->\n<!-- BEGIN worst -->", "<!-- BEGIN measured -->\n"]
)
def test_a_file_without_whole_marks_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(InputError, match="must have"):
        rewrite_blocks(page, load_dataset(), ErrorSummary())
    assert page.read_text() == text


def summary_in(folder: Path) -> ErrorSummary:
    """Give the summary that a folder holds; an empty one if there is none."""
    path = folder / "errors.json"
    return msgspec.json.decode(path.read_bytes(), type=ErrorSummary) if path.exists() else ErrorSummary()


def test_the_command_keeps_ablations_and_rewrites_the_files_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    works = [build_case(Case("unicast", cluster=2, grid=2, rows=rows, iterations=2)) for rows in (8, 16)]
    items = [Item(f"p{n}", f"p{n}", f"p{n}", work, 1500, (1500,), 0.0, {}) for n, work in enumerate(works)]
    monkeypatch.setattr("hw_validate.bench.cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(command, "dataset_items", lambda *_: items)
    monkeypatch.setattr(command, "dataset_folder", lambda: tmp_path)
    monkeypatch.setattr(command, "error_summary", lambda: summary_in(tmp_path))
    pages = [tmp_path / name for name in ("a.md", "b.md")]
    for page in pages:
        page.write_text("<!-- BEGIN ablations -->\n<!-- END ablations -->\n")
    arguments = ["--preset", "tiny", "-j", "1", "--ablations", "2", "--write"]
    files = [part for page in pages for part in ("--readme", str(page))]
    assert main(["compare", *arguments, *files]) == 0
    assert "rewritten: ablations" in capsys.readouterr().out
    block = present_blocks(pages[1])["ablations"]
    assert "Of 2 training points, drawn evenly, on tiny" in block
    assert "| no operation costs |" in block
    assert COMPLETE in block
    assert pages[0].read_text() == pages[1].read_text()
