from __future__ import annotations

import json

import msgspec
import pytest

from hoppersim.program import (
    Affine,
    Arrive,
    Barrier,
    For,
    Launch,
    Role,
    Stamp,
    TmaLoad,
    Wait,
    Work,
    make_work,
)
from hoppersim.program.canonical import LANGUAGE_VERSION, canonical_json, work_hash
from hoppersim.program.cases import Case, build_case
from hoppersim.program.files import format_file, parse_work

replace = msgspec.structs.replace
CASE = Case("multicast", 2, pattern="sweep")


def renamed(work: Work) -> Work:
    """Rename everything through the text of the file."""
    text = format_file(work)
    for old in ("tiles", "tile", "full", "free", "data", "leader", "arm", "consumer", "padding"):
        for left, right in (('"', '"'), ("{", " ="), (" ", " = 64,")):
            text = text.replace(f"{left}{old}{right}", f"{left}new_{old}{right}")
    return parse_work(text.replace('phase = "new_free"', 'phase = "free"'))


def test_names_do_not_change_the_hash() -> None:
    work = build_case(CASE)
    other = renamed(work)
    assert other != work
    assert work_hash(other) == work_hash(work)


def test_the_seed_does_not_change_the_hash() -> None:
    work = build_case(CASE)
    flow = work.flows[0]
    assert work_hash(Work((replace(flow, launch=replace(flow.launch, seed=7)),))) == work_hash(work)


@pytest.mark.parametrize(
    "change",
    [
        {"cluster": 4},
        {"rows": 32},
        {"stages": 3},
        {"iterations": 65},
        {"mode": "unicast"},
        {"pattern": "hot"},
        {"compute": 1},
        {"grid": 64},
        {"warm": 2},
        {"boxes": 2},
        {"consumer": "warp"},
        {"footprint": 2**20},
        {"shared_bytes": 0},
    ],
)
def test_any_change_of_meaning_changes_the_hash(change: dict[str, object]) -> None:
    assert work_hash(build_case(replace(CASE, **change))) != work_hash(build_case(CASE))


def body_hash(*body: object) -> str:
    barriers = (Barrier("a", 1), Barrier("b", 1))
    return work_hash(make_work("p", (Role("r", tuple(body)),), barriers=barriers))  # type: ignore[arg-type]


def test_another_barrier_of_the_same_kind_changes_the_hash() -> None:
    assert body_hash(Wait("a")) != body_hash(Wait("b"))


def test_loop_names_count_only_as_places() -> None:
    def nested(outer: str, inner: str, used: str) -> str:
        load = Arrive("a", to=Affine(base=1, loops={used: 1}))
        return body_hash(For(3, (For(4, (load,), name=inner),), name=outer))

    assert nested("i", "j", "j") == nested("x", "y", "y") == nested("x", "x", "x")
    assert nested("i", "j", "j") != nested("i", "j", "i")


def test_stamps_are_numbered_by_their_first_use() -> None:
    assert body_hash(Stamp("x"), Stamp("y"), Stamp("x")) == body_hash(Stamp("b"), Stamp("a"), Stamp("b"))
    assert body_hash(Stamp("x"), Stamp("y")) != body_hash(Stamp("x"), Stamp("x"))


def test_written_defaults_do_not_change_the_hash() -> None:
    assert body_hash(Wait("a", "full", "try")) == body_hash(Wait("a"))
    assert work_hash(make_work("p", (Role("r", ()),), launch=Launch(cluster=(1, 1, 1)))) == work_hash(
        make_work("p", (Role("r", ()),))
    )
    load = TmaLoad("m", (0,), "b", "a")
    assert body_hash(replace(load, offset=Affine())) == body_hash(load)


def test_the_canonical_text_is_versioned_and_free_of_names() -> None:
    text = canonical_json(build_case(CASE))
    assert json.loads(text)["language"] == LANGUAGE_VERSION
    assert "tile" not in text
    assert "seed" not in text


def test_the_hash_of_a_known_program_stays() -> None:
    work = make_work("p", (Role("r", (Arrive("b"),)),), barriers=(Barrier("b", 1),))
    assert canonical_json(work) == (
        '{"flows":[{"launch":{"allocations":[],"skew":0},"program":{"barriers":[{"count":1}],"buffers":[],'
        '"maps":[],"roles":[{"body":[{"barrier":0,"op":"arrive"}]}],"without":[]}}],"language":1}'
    )
