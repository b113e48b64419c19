"""What is generated from kept scores: rows of new plans in the README, and blocks of the docs."""

from __future__ import annotations

from typing import Any

import pytest

from hoppersim.dataset import ErrorSummary, load_dataset
from hw_validate import compare_score as scoring
from hw_validate import compare_store as store
from hw_validate.compare import Pair
from hw_validate.compare_readme import measured_block
from hw_validate.compare_result import Comparison

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
    pair("fresh", 101, tags={"case": CASE}),
    pair("race", 102, tags={"case": CASE}),
    pair("fresh", 110, tags={"kind": "stores"}),
    pair("dataset", 105, tags={"case": CASE}),
]


def test_points_of_new_plans_are_scored_by_kind_and_apart_from_the_earlier_ones() -> None:
    training = pair("fresh", 300, tags={"kind": "stores"}, set_aside="")
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


@pytest.mark.parametrize("plan", ["fresh", "races"])
def test_every_point_set_aside_in_a_new_plan_has_a_kind_and_no_other_has(plan: str) -> None:
    points = [point for point in load_dataset().points if point.set_aside]
    pairs = [Pair("", "", 1.0, 1.0, 0.0, point.tags, set_aside=point.set_aside) for point in points]
    kinds = [
        scoring.kind_in_new_plans(one) for one, point in zip(pairs, points, strict=True) if point.plan == plan
    ]
    assert kinds
    assert set(kinds) <= set(scoring.KINDS)
    named = [bool(scoring.kind_in_new_plans(one)) for one in pairs]
    assert named == [point.plan in ("fresh", "races") for point in points]
