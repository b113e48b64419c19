"""Source that stands alone: short, named, and it builds with the line at its head."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from test_hw_programs import program_of, work_of

from hoppersim.errors import InputError
from hoppersim.program.cases import Case, build_case
from hoppersim.program.operations import Wait
from hoppersim.program.work import SmSet, Work
from hw_validate.emit import BUILD_LINE, emit

CASES = [
    Case(mode, cluster=cluster, rows=rows, memory=memory, pattern=pattern, consumer=consumer)  # type: ignore[arg-type]
    for mode in ("unicast", "unicast_distinct", "multicast", "multicast_slices")
    for cluster, rows in ((1, 64), (2, 128), (16, 256))
    for memory, pattern in (("l2", "hot"), ("hbm", "sweep"))
    for consumer in ("lane", "warp")
]
MOST_LINES = 150


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.label}-{case.consumer}")
def test_emitted_source_is_short_and_names_its_build_line(case: Case) -> None:
    lines = emit(build_case(case)).splitlines()
    assert len(lines) < MOST_LINES
    assert lines[1] == f"// {BUILD_LINE}"
    assert max(map(len, lines)) <= 150


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH")
@pytest.mark.parametrize("case", [CASES[0], CASES[15], CASES[23]], ids=lambda case: case.label)
def test_emitted_source_builds_with_its_line(case: Case, tmp_path: Path) -> None:
    (tmp_path / "flow.cu").write_text(emit(build_case(case)), encoding="utf-8")
    done = subprocess.run(BUILD_LINE.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


def test_several_flows_and_sets_of_sms_are_refused() -> None:
    work = build_case(Case("unicast"))
    with pytest.raises(InputError, match="one flow"):
        emit(Work((*work.flows, *work.flows)))
    with pytest.raises(InputError, match="all SMs"):
        emit(work_of(program_of((Wait("free", "free"),)), sms=SmSet(gpcs=(1,))))
