"""What is kept of a run is whole lines: torn and foreign ones are left aside, two runs never mix."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from hoppersim.errors import InputError
from hoppersim.machine.loading import load_machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.sweep import keys
from hoppersim.sweep.journal import JOURNAL, Journal, Outcome

FIRST = Outcome("ok", {"cycles": 0.1 + 0.2, "ctas": 4, "limiter": "HBM", "bound_cycles": None})
SECOND = Outcome("failed", reason="an ä and\na line break")


def test_outcomes_survive_their_file_exactly(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add("a", FIRST)
        journal.add("b", SECOND)
    with Journal(tmp_path) as journal:
        assert journal.known == {"a": FIRST, "b": SECOND}


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_a_torn_last_line_is_cut_off_and_its_point_forgotten(cut: int, tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add("a", FIRST)
        journal.add("b", SECOND)
    file = tmp_path / JOURNAL
    file.write_bytes(file.read_bytes()[:-cut])
    with Journal(tmp_path) as journal:
        assert journal.known == {"a": FIRST}
        journal.add("b", SECOND)
    with Journal(tmp_path) as journal:
        assert journal.known == {"a": FIRST, "b": SECOND}


def test_lines_that_are_not_ours_are_left_aside(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(b'{"key": 1}\n\xff\xfe\n[]\n')
    with Journal(tmp_path) as journal:
        journal.add("a", FIRST)
    with Journal(tmp_path) as journal:
        assert journal.known == {"a": FIRST}


def test_a_second_run_in_the_same_folder_is_refused_while_the_first_goes_on(tmp_path: Path) -> None:
    with Journal(tmp_path), pytest.raises(InputError, match="another run"), Journal(tmp_path):
        pass
    with Journal(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="can be written"):
        Journal(tmp_path / "file")


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Journal(None) as journal:
        journal.add("a", FIRST)
    assert list(tmp_path.iterdir()) == []


def test_the_key_tells_apart_what_can_change_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(case: Case, seed: int = 0, overrides: tuple[str, ...] = (), max_cycles: int | None = None) -> str:
        (flow,) = build_case(case).flows
        flow = replace(flow, launch=replace(flow.launch, seed=seed))
        work = replace(build_case(case), flows=(flow,))
        return keys.point_key(load_machine("tiny", overrides).hash, work, max_cycles)

    base = key(Case("unicast"))
    assert key(Case("unicast")) == base
    others = {
        key(Case("unicast", stages=2)),
        key(Case("unicast"), seed=1),
        key(Case("unicast"), overrides=("lrc.enabled=0",)),
        key(Case("unicast"), max_cycles=1000),
    }
    monkeypatch.setattr(keys, "model_hash", lambda: "another model")
    others.add(key(Case("unicast")))
    assert len(others | {base}) == 6


def test_the_model_hash_covers_every_source_that_a_simulation_loads() -> None:
    code = """
import sys
from hoppersim.machine.loading import load_machine
from hoppersim.program.cases import Case, build_case
from hoppersim.result.api import simulate
simulate(load_machine("tiny"), build_case(Case("unicast", grid=1, rows=8, iterations=2)))
print(*(name for name in sys.modules if name.startswith("hoppersim.")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in done.stdout.split()}
    assert rooms - {"errors"} <= {part.removesuffix(".py") for part in keys.MODEL_PARTS}
