"""A user's own processes: monitors change nothing, traffic counts, and the documented example works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hoppersim.engine.guests import Guest
from hoppersim.engine.simulate import simulate_raw
from hoppersim.errors import InputError
from hoppersim.machine.machine import Machine
from hoppersim.program import Barrier, Role, Wait, make_work
from hoppersim.program.cases import Case, build_case
from hoppersim.result.api import simulate

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"
WORK = build_case(Case("multicast", cluster=2, rows=16, iterations=8))


def test_the_documented_example_runs_as_written(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", EXAMPLE.read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    *samples, last = done.stdout.splitlines()
    passed = [int(line.split(":")[1].split()[0].replace(",", "")) for line in samples]
    assert passed == sorted(passed)
    assert passed[-1] > 0
    alone, beside = (int(figure.replace(",", "")) for figure in re.findall(r"[\d,]*\d", last))
    assert beside > alone


@pytest.mark.parametrize("fabric", ["compiled", "reference"])
def test_a_monitor_changes_no_result(tiny: Machine, fabric: str) -> None:
    seen: list[float] = []
    plain = simulate_raw(tiny, WORK, fabric)
    watched = simulate_raw(
        tiny, WORK, fabric, extras=(lambda guest: guest.every(7, lambda: seen.append(guest.cycles)),)
    )
    assert watched.ctas == plain.ctas
    assert {name: value.tolist() for name, value in watched.counters.items()} == {
        name: value.tolist() for name, value in plain.counters.items()
    }
    assert seen[:3] == [7, 14, 21]


def test_monitors_hide_no_hang(tiny: Machine) -> None:
    work = make_work("stuck", roles=(Role("a", (Wait("full"),)),), barriers=(Barrier("full", 1),))

    def two(guest: Guest) -> None:
        guest.every(100, lambda: None)
        guest.every(130, lambda: None)

    assert simulate_raw(tiny, work, extras=(two,), max_cycles=10_000).hung


def test_added_traffic_is_counted_and_conserved(tiny: Machine) -> None:
    arrived: list[float] = []

    def neighbour(guest: Guest) -> None:
        def read() -> object:
            yield guest.load(7, "0:data", 0, 4096)
            arrived.append(guest.cycles)

        guest.env.process(read())

    alone, beside = simulate(tiny, WORK), simulate(tiny, WORK, extras=(neighbour,))
    assert beside.delivered_bytes == alone.delivered_bytes + 4096
    assert 200 < arrived[0] < 2000


@pytest.mark.parametrize(
    ("arguments", "field", "nearest"),
    [
        ((8, "0:data", 0, 128), "sm", 7),
        ((0, "data", 0, 128), "allocation", "0:data"),
        ((0, "0:data", 0, 0), "size", 128),
        ((0, "0:data", 1 << 30, 128), "allocation.0:data", None),
    ],
)
def test_a_load_that_cannot_be_is_refused(
    tiny: Machine, arguments: tuple[int, str, int, int], field: str, nearest: object
) -> None:
    with pytest.raises(InputError) as caught:
        simulate_raw(tiny, WORK, extras=(lambda guest: guest.load(*arguments),))
    assert caught.value.field == field
    if nearest is not None:
        assert caught.value.nearest == nearest
