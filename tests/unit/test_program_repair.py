"""One wait too few, or for the wrong phase: the message names the operation that was edited, and the edit."""

from __future__ import annotations

import pytest

from hoppersim.program.files import parse_work
from hoppersim.program.rules import check

FREE = '{op = "wait", barrier = "free", phase = "free"}, '
FULL = '{op = "wait", barrier = "full"}, '
FLOW = f"""
[[flows]]
[flows.program]
name = "ring"
buffers = [{{name = "tile", bytes = 8192, stages = 2}}]
barriers = [{{name = "full", count = 1, stages = 2}}, {{name = "free", count = 2, stages = 2}}]
maps = [{{name = "map", allocation = "data", dims = [64, 1024], box = [64, 64]}}]
[[flows.program.roles]]
name = "leader"
ranks = [0]
body = [{{op = "for", n = 6, stages = 2, body = [
    {FREE}{{op = "expect_tx", barrier = "full", bytes = 8192, to = 3}},
    {{op = "tma_load", map = "map", coordinates = [0, 0], buffer = "tile", barrier = "full", mask = 3}}]}}]
[[flows.program.roles]]
name = "user"
body = [{{op = "for", n = 6, stages = 2, body = [
    {FULL}{{op = "compute", cycles = 10}}, {{op = "arrive", barrier = "free", to = 1}}]}}]
[flows.launch]
allocations = [{{name = "data", bytes = 131072}}]
grid = 2
cluster = [2, 1, 1]
"""
LEADER, USER = (f"flows[0].program.roles[{number}].body[0].body" for number in (0, 1))


def _found(old: str, new: str) -> list[tuple[str, object, str, object]]:
    assert FLOW.count(old) == 1
    return [tuple(item[1:]) for item in check(parse_work(FLOW.replace(old, new)))]


def test_the_flow_that_is_edited_here_is_legal() -> None:
    assert check(parse_work(FLOW)) == []


@pytest.mark.parametrize(
    ("old", "new", "field", "value", "words", "fix"),
    [
        (
            FREE,
            FREE.replace('"free"}', '"full"}'),
            f"{LEADER}[0].phase",
            "full",
            "operation 0 of loop i of role leader waits for the wrong phase of free",
            "free",
        ),
        (
            FULL,
            FULL.replace("}", ', phase = "free"}'),
            f"{USER}[0].phase",
            "free",
            "operation 0 of loop i of role user waits for the wrong phase of full",
            "full",
        ),
        (
            FREE,
            "",
            LEADER,
            "leader",
            "loop i of role leader never waits for free",
            '{op = "wait", barrier = "free", phase = "free"} as its first operation',
        ),
        (
            FULL,
            "",
            USER,
            "user",
            "loop i of role user never waits for full",
            '{op = "wait", barrier = "full", phase = "full"} as its first operation',
        ),
    ],
)
def test_a_wait_for_the_wrong_phase_or_none_is_named_by_role_and_operation_with_its_fix(
    old: str, new: str, field: str, value: str, words: str, fix: str
) -> None:
    found = _found(old, new)
    assert found
    for where, given, rule, nearest in found:
        assert (where, given, nearest) == (field, value, fix)
        assert rule.endswith(words)


def test_where_no_wait_mends_it_the_operations_that_wait_are_named() -> None:
    found = _found(', {op = "arrive", barrier = "free", to = 1}', "")
    assert [where for where, *_ in found] == ["flows[0].program.barriers[1].count"]
    assert found[0][2].endswith("; waiting for it: operation 0 of loop i of role leader")
