"""What tests share: the command line in this process, and small machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hoppersim.cli.app import main
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine

ROOT = Path(__file__).resolve().parents[1]


class Outcome(NamedTuple):
    """What a command left: exit code and both streams."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in an empty folder, with plain output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> Outcome:
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture(scope="session")
def tiny() -> Machine:
    """Load the small preset for tests."""
    return load_machine("tiny")
