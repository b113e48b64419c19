"""The cache of the compiled kernel notices an edit of any source that is compiled into it."""

from __future__ import annotations

import ast
import pickle
from importlib import import_module
from pathlib import Path

import numba
import pytest

from hoppersim.engine.compiled import fabric
from hoppersim.engine.compiled.fabric import CACHE_VARIABLE, INLINED_MODULES, cache_folder, source_key
from hoppersim.engine.tables import make_tables
from hoppersim.machine.loading import load_machine

COMPILED = ("arrivals", "calendar", "copies", "exits", "kernel", "misses", "requests")


def _source(module: str) -> Path:
    return Path(str(import_module(module).__file__))


@pytest.mark.parametrize("module", INLINED_MODULES)
def test_an_edit_of_an_inlined_source_changes_the_key(module: str, tmp_path: Path) -> None:
    copies = []
    for number, name in enumerate(INLINED_MODULES):
        copies.append(tmp_path / f"{number}.py")
        copies[-1].write_bytes(_source(name).read_bytes())
    before = source_key(copies)
    assert source_key(copies) == before
    edited = copies[INLINED_MODULES.index(module)]
    edited.write_text(edited.read_text().replace("return", "return  ", 1) + "\n")
    assert source_key(copies) != before


def test_every_module_that_the_kernel_imports_is_in_the_key() -> None:
    for part in COMPILED:
        tree = ast.parse(_source(f"hoppersim.engine.compiled.{part}").read_text())
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not str(node.module).startswith("hoppersim"):
                continue
            package = node.module == "hoppersim.engine.compiled"
            names = [f"{node.module}.{alias.name}" for alias in node.names] if package else [str(node.module)]
            assert set(names) <= set(INLINED_MODULES), f"{part}.py inlines {names}"


def test_the_folder_is_named_by_the_key_of_the_present_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    folder = cache_folder()
    assert folder == tmp_path / "hoppersim" / source_key([_source(name) for name in INLINED_MODULES])
    monkeypatch.setattr(fabric, "INLINED_MODULES", INLINED_MODULES[1:])
    assert cache_folder() != folder


def test_another_numba_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = source_key([])
    monkeypatch.setattr(fabric.numba, "__version__", "0.0.0")
    assert source_key([]) != before


def test_a_machine_from_another_process_needs_no_kernel_of_its_own() -> None:
    here = load_machine("tiny")
    tables = make_tables(here)
    there = pickle.loads(pickle.dumps(here))
    assert numba.typeof(here.gpc_of) != numba.typeof(there.gpc_of)  # arrays that are sent lose a flag
    assert numba.typeof(tables) == numba.typeof(make_tables(there))
