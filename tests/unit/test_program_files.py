from __future__ import annotations

from pathlib import Path

import pytest

from hoppersim.errors import InputError
from hoppersim.program.builders import BUILDERS
from hoppersim.program.cases import MODES, Case, build_case
from hoppersim.program.files import format_file, load_work, parse_work, save_work
from hoppersim.program.rules import check

TEXT = format_file(build_case(Case("multicast", 4, pattern="sweep")))


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize("name", BUILDERS)
def test_a_saved_work_loads_as_the_same_work(name: str, suffix: str, tmp_path: Path) -> None:
    work, path = BUILDERS[name](), tmp_path / f"flow{suffix}"
    save_work(work, path)
    assert load_work(path) == work


@pytest.mark.parametrize("mode", MODES)
def test_a_case_survives_its_file(mode: str) -> None:
    work = build_case(Case(mode, 4, boxes=2, reads=1, consumer="warp"))  # type: ignore[arg-type]
    assert parse_work(format_file(work)) == work


def test_a_file_has_one_operation_a_line() -> None:
    lines = [line.strip() for line in TEXT.splitlines()]
    assert '{op = "wait", barrier = "free", phase = "free"},' in lines
    assert '{op = "expect_tx", barrier = "full", bytes = 8192},' in lines


def test_nothing_but_the_file_is_left_behind(tmp_path: Path) -> None:
    save_work(build_case(Case("unicast")), tmp_path / "flow.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["flow.toml"]


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "flow.toml"
    target.mkdir()
    with pytest.raises(InputError, match="writable"):
        save_work(build_case(Case("unicast")), target)
    assert [path.name for path in tmp_path.iterdir()] == ["flow.toml"]


@pytest.mark.parametrize(
    ("old", "new", "field", "nearest"),
    [
        ('op = "wait"', 'op = "wat"', "flows[0].program.roles[0].body[0].body[0].op", "wait"),
        ('op = "tma_load"', 'op = "tmaload"', "flows[0].program.roles[0].body[0].body[2].op", "tma_load"),
        ("barrier =", "barier =", "flows[0].program.roles[0].body[0].body[0].barier", "barrier"),
        ('phase = "free"', 'phase = "fre"', "flows[0].program.roles[0].body[0].body[0].phase", "free"),
        ("wrap =", "warp =", "flows[0].program.roles[0].body[0].body[2].coordinates[1].warp", "wrap"),
        ("[flows.launch]", "[flows.lunch]", "flows[0].lunch", "launch"),
        ("language = 1", "language = 9", "language", 1),
        ("language = 1", "language = true", "language", 1),
        ("bytes = 8192", 'bytes = "8K"', "flows[0].program.buffers[0].bytes", None),
        ("ranks = [0]", 'width = "lanes"', "flows[0].program.roles[0].width", "lane"),
        ("cluster = [4, 1, 1]", "cluster = [4, 1]", "flows[0].launch.cluster", None),
        ("cluster = [4, 1, 1]", "clusters = [4, 1, 1]", "flows[0].launch.clusters", "cluster"),
        ('name = "tiles", ', "", "flows[0].program.maps[0].name", None),
    ],
)
def test_a_mistake_is_named_by_file_field_and_nearest(
    old: str, new: str, field: str, nearest: object, tmp_path: Path
) -> None:
    assert old in TEXT
    path = tmp_path / "flow.toml"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_work(path)
    assert caught.value.field == f"{path}: {field}"
    assert caught.value.nearest == nearest


@pytest.mark.parametrize(
    ("text", "rule"), [("a = = 1", "valid TOML"), ("x = 1", "has the fields flows"), ("", "required")]
)
def test_text_that_is_no_work_is_an_input_error(text: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        parse_work(text)


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize(
    ("value", "rule"),
    [("9" * 5000, "must be valid"), ("[" * 20_000 + "]" * 20_000, "must not lie in each other so deep")],
)
def test_numbers_of_thousands_of_digits_and_endless_nesting_are_input_errors(
    suffix: str, value: str, rule: str
) -> None:
    text = f"about = {value}" if suffix == ".toml" else f'{{"about": {value}}}'
    with pytest.raises(InputError, match=rule) as caught:
        parse_work(text, suffix)
    assert len(str(caught.value)) < 300


def test_operations_that_lie_in_each_other_too_deep_for_the_decoder_are_an_input_error() -> None:
    body = '{"op": "for", "n": 1, "body": [' * 300 + "]}" * 300
    role = f'{{"name": "r", "body": [{body}]}}'
    text = f'{{"flows": [{{"program": {{"name": "p", "roles": [{role}]}}, "launch": {{}}}}]}}'
    with pytest.raises(InputError):
        check(parse_work(text, ".json"))


@pytest.mark.parametrize("number", [2**53 + 1, -(2**62), 2**63, 10**30])
def test_numbers_that_json_cannot_hold_exactly_are_named(number: int) -> None:
    text = TEXT.replace("cluster = [4, 1, 1]", f"cluster = [4, 1, 1]\nseed = {number}\ngrid = {number}")
    with pytest.raises(InputError) as caught:
        parse_work(text)
    assert caught.value.field in {"flows[0].launch.grid", "flows[0].launch.seed"}
    assert caught.value.value == number
    assert str(2**53) in caught.value.rule


def test_a_file_without_flows_holds_no_work() -> None:
    with pytest.raises(InputError, match="a work has at least one flow"):
        parse_work("flows = []")


@pytest.mark.parametrize("text", ["[]", "{", "3"])
def test_json_that_is_no_work_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        parse_work(text, ".json")


def test_a_missing_file_is_answered_with_one_of_a_near_name(tmp_path: Path) -> None:
    save_work(build_case(Case("unicast")), tmp_path / "unicast.toml")
    with pytest.raises(InputError) as caught:
        load_work(tmp_path / "unicst.toml")
    assert caught.value.nearest == str(tmp_path / "unicast.toml")


@pytest.mark.parametrize("name", ["flow.yaml", "flow"])
def test_another_suffix_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.toml or \.json"):
        load_work(tmp_path / name)


def test_a_file_that_is_no_text_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "flow.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="readable"):
        load_work(path)
