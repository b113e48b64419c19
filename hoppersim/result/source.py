"""Work and machine as a Result keeps them, complete, so that a stored Result can be run again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from hoppersim.errors import InputError
from hoppersim.machine.describe import configuration_toml
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.work import Work
from hoppersim.result.schema import Result, Source


def make_source(machine: Machine, work: Work) -> Source:
    """Put a work and its machine down as data."""
    return Source(work=work, machine=_text(machine))


def machine_from_text(text: str, overrides: Iterable[str] = ()) -> Machine:
    """Load a machine from the text of its file.

    Parameters
    ----------
    text
        TOML, as `hoppersim.machine.describe.configuration_toml` writes it.
    overrides
        Changes as ``path=value``.

    Raises
    ------
    InputError
        If the text describes no machine, or a table that it names is not what it was.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "machine.toml"
        file.write_text(text, encoding="utf-8")
        return load_machine(file, overrides)


def relaxed_machine(machine: Machine, overrides: Iterable[str]) -> Machine:
    """Change some numbers of a machine; it stays as it is."""
    return machine_from_text(_text(machine), overrides)


def reopen(result: Result) -> tuple[Machine, Work]:
    """Give machine and work of a Result, to run it again.

    Raises
    ------
    InputError
        If the Result does not hold them, or a machine as another version of the model described it.
    """
    if result.source is None:
        raise InputError("result.source", None, "must hold work and machine; simulate the work again")
    try:
        return machine_from_text(result.source.machine), result.source.work
    except InputError as error:
        rule = f"must be a machine of this version of the model ({error}); simulate the work again"
        raise InputError("result.source.machine", result.machine, rule) from error


@lru_cache(maxsize=8)
def _text(machine: Machine) -> str:
    """Write a machine down; machines never change, and several Results share one."""
    return configuration_toml(machine)
