"""Which known deviation a point falls under, by what it runs: the numbers of docs/deviations.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Tags = Mapping[str, Any]
SMALL_BOX, SMALL_COPY = 2048, 2048
"""Bytes of a box, and of a pushed copy, up to which those deviations are known."""


def _small_boxes_by_a_leader(tags: Tags) -> bool:
    case = tags.get("case", {})
    return bool(case.get("mode") == "multicast" and case["cluster"] == 16 and _box(case) <= SMALL_BOX)


def _box(case: Tags) -> int:
    return int(case["rows"] * case.get("row_bytes", 128))


def _one_tile_for_all(tags: Tags) -> bool:
    case = tags.get("case", {})
    return bool(case.get("pattern") == "one" and case.get("memory") != "hbm" and case["cluster"] > 1)


KNOWN: dict[str, Callable[[Tags], bool]] = {
    "D25": lambda tags: tags.get("promotion") == 256,
    "D26": lambda tags: tags.get("kind") == "off the grid" and tags["shift"] > 0,
    "D24": _one_tile_for_all,
    "D23": _small_boxes_by_a_leader,
    "D11": lambda tags: tags.get("kind") == "loads and push" and tags["pushed"] <= SMALL_COPY,
    "D4": lambda tags: "article" in tags and tags.get("pattern") == "hot",
    "D33": lambda tags: "article" in tags and tags.get("pattern") == "stream" and tags["cluster"] == 8,
}
"""Deviations by their number: whether a point with these tags is of the kind that the number describes."""


def known_deviation(tags: Tags) -> str:
    """Give the number of the deviation that a point falls under; "" where none is known."""
    return next((number for number, applies in KNOWN.items() if applies(tags)), "")
