"""A run that is to end within so many cycles ends there, whatever goes on inside the fabric."""

from __future__ import annotations

import pytest

from hoppersim.engine.simulate import RunTooLongError, make_fabric, simulate_raw
from hoppersim.machine.loading import load_machine
from hoppersim.program.cases import Case, build_case
from hoppersim.units import TICKS_PER_CYCLE


@pytest.mark.parametrize("fabric", ["compiled", "reference"])
def test_a_fabric_never_advances_far_beyond_the_limit(fabric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine("tiny", ["xbar.gpc_bytes_per_cycle=0.1"])
    carriers = []

    def kept(*arguments: object) -> object:
        carriers.append(make_fabric(*arguments))  # type: ignore[arg-type]
        return carriers[-1]

    monkeypatch.setattr("hoppersim.engine.simulate.make_fabric", kept)
    with pytest.raises(RunTooLongError, match="max_cycles = 5000"):
        simulate_raw(machine, build_case(Case("unicast", iterations=4)), fabric, max_cycles=5000)
    assert carriers[0].frontier <= 5001 * TICKS_PER_CYCLE


@pytest.mark.parametrize("fabric", ["compiled", "reference"])
def test_a_limit_that_is_not_reached_changes_nothing(fabric: str) -> None:
    machine, work = load_machine("tiny"), build_case(Case("multicast", 2, iterations=6))
    free = simulate_raw(machine, work, fabric)
    limited = simulate_raw(machine, work, fabric, max_cycles=-(-free.ticks // TICKS_PER_CYCLE))
    assert limited.ticks == free.ticks
    assert {name: row.tolist() for name, row in limited.counters.items()} == {
        name: row.tolist() for name, row in free.counters.items()
    }
