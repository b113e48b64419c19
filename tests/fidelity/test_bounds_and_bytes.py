"""No run beats its bound, and every byte that goes in comes out: over a grid on the H200, and at random."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hoppersim.errors import InputError
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.cases import MODES, Case, Mode, build_case
from hoppersim.result.api import IllegalWorkError, simulate

SHAPES = (("hot", "l2"), ("sweep", "l2"), ("one", "l2"), ("sweep", "hbm"))
KINDS = [
    (mode, *shape) for mode in MODES for shape in SHAPES if (mode, shape[0]) != ("unicast_distinct", "one")
]
ROUNDING = 1e-3
"""Services are rounded to whole fractions of a tick, so a long run may lead by parts in 10,000."""


@pytest.fixture(scope="module")
def h200() -> Machine:
    return load_machine("h200_sxm")


def _check(machine: Machine, case: Case) -> None:
    result = simulate(machine, build_case(case))
    assert not result.hung
    assert result.hazards == ()
    assert result.bounds is not None
    assert result.window_cycles >= result.bounds.merged_cycles * (1 - ROUNDING) - 1
    assert result.bounds.unmerged_cycles >= result.bounds.merged_cycles
    assert result.delivered_bytes == result.ctas * case.bytes_per_cta
    assert {figures.bytes / figures.ctas for figures in result.per_sm} == {case.bytes_per_cta}
    assert sum(figures.delivered_bytes for figures in result.per_gpc) >= result.delivered_bytes


@pytest.mark.parametrize("cluster", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(("mode", "pattern", "memory"), KINDS)
def test_a_small_case_on_the_h200_keeps_to_its_bound(
    h200: Machine, mode: Mode, pattern: str, memory: str, cluster: int
) -> None:
    case = Case(mode, cluster, rows=64, iterations=6, pattern=pattern, memory=memory)  # type: ignore[arg-type]
    _check(h200, case)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Cases that fit on the small machine."""
    mode, pattern, memory = draw(st.sampled_from(KINDS))
    cluster = draw(st.sampled_from([1, 2, 4]))
    row_bytes = 128 if mode == "multicast_slices" else draw(st.sampled_from([16, 48, 128, 208, 256]))
    return Case(
        mode,
        cluster,
        rows=draw(st.integers(1, 8)) * cluster,
        row_bytes=row_bytes,
        boxes=draw(st.integers(1, 2)),
        stages=draw(st.integers(1, 4)),
        iterations=draw(st.integers(1, 12)),
        pattern=pattern,  # type: ignore[arg-type]
        memory=memory,  # type: ignore[arg-type]
        footprint=draw(st.sampled_from([0, 16384, 262144])),
        compute=draw(st.sampled_from([0, 300])),
    )


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_a_random_case_keeps_to_its_bound(tiny: Machine, case: Case) -> None:
    try:
        _check(tiny, case)
    except (InputError, IllegalWorkError):
        assume(False)
