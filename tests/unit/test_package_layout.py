"""Rules that the source itself must satisfy."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import hoppersim

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 400
PARTS = ("hoppersim", "hw_validate", "tests", "benchmarks", "experiments", "tools")
SOURCES = sorted(file for part in PARTS for file in (ROOT / part).rglob("*.py"))


def test_no_source_file_is_longer_than_400_lines() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in SOURCES}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_version_is_the_same_in_package_and_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == hoppersim.__version__


@pytest.mark.parametrize("name", hoppersim.__all__)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    value = getattr(hoppersim, name)
    assert name == "__version__" or value.__doc__


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hoppersim.nothing  # noqa: B018


def test_package_ships_its_type_marker() -> None:
    for package in ("hoppersim", "hw_validate"):
        assert (ROOT / package / "py.typed").is_file()
