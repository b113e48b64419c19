"""Which points a study has: grids, linked groups, random samples, and the Pareto set among them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hoppersim.errors import InputError
from hoppersim.machine.loading import load_machine
from hoppersim.program.case_spec import Case
from hoppersim.sweep.axes import factors, settings_of_points
from hoppersim.sweep.files import plain_sweep
from hoppersim.sweep.parameters import Parameters
from hoppersim.sweep.pareto import pareto_set
from hoppersim.sweep.study import Sweep

PARAMETERS = Parameters(load_machine("tiny"), flow=False)
PORT, INTERVAL = "xbar.gpc_bytes_per_cycle", "tma.line_interval"


def points(**fields):
    """List the settings of every point of a study."""
    sweep = plain_sweep(Sweep("study", case=Case("unicast"), **fields))
    return list(settings_of_points(factors(sweep, PARAMETERS)))


def column(name, **fields):
    return [point[name] for point in points(**fields)]


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ([4, 1], [4, 1]),
        (range(1, 4), [1, 2, 3]),
        ({"from": 1, "to": 4}, [1, 2, 3, 4]),
        ({"from": 1, "to": 6, "step": 2}, [1, 3, 5]),
        ({"from": 1, "to": 8, "factor": 2}, [1, 2, 4, 8]),
        ({"from": 1, "to": 9, "factor": 2}, [1, 2, 4, 8]),
        ({"from": 1, "to": 7, "count": 3}, [1, 4, 7]),
        ({"from": 5, "to": 5, "count": 1}, [5]),
    ],
)
def test_an_axis_lists_its_values(axis, values):
    assert column("stages", axes={"stages": axis}) == values


@pytest.mark.parametrize("end", [float("inf"), float("nan")])
def test_an_axis_without_an_end_is_refused(end):
    with pytest.raises(InputError, match="finite"):
        column(INTERVAL, axes={INTERVAL: {"from": 1, "to": end}})


def test_a_range_of_fractions_has_no_rounding_of_sums():
    assert column(INTERVAL, axes={INTERVAL: {"from": 0.1, "to": 0.5, "step": 0.1}}) == [
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
    ]


def test_the_first_axis_varies_slowest_and_every_value_meets_every_other():
    found = points(axes={"cluster": [1, 2], "stages": [3, 4]})
    assert [tuple(point.values()) for point in found] == [(1, 3), (1, 4), (2, 3), (2, 4)]


def test_linked_parameters_change_together():
    found = points(linked=[{"rows": [8, 16], "stages": [4, 2]}], axes={"cluster": [1, 2]})
    assert [(point["rows"], point["stages"]) for point in found] == [(8, 4), (8, 4), (16, 2), (16, 2)]


def test_sizes_may_have_a_suffix_and_flags_may_be_true():
    assert column("footprint", axes={"footprint": ["1KB", 4096]}) == [1024, 4096]
    assert column("lrc.enabled", axes={"lrc.enabled": [True, False]}) == [1, 0]


def draws(count=50, seed=1, **axes):
    return points(random={"count": count, "seed": seed, "axes": axes})


def test_the_same_seed_gives_the_same_samples_and_another_one_others():
    axes = {PORT: {"uniform": [100, 900]}, "stages": {"choice": [1, 2, 4]}}
    assert draws(**axes) == draws(**axes)
    assert draws(**axes) != draws(seed=2, **axes)


def test_more_samples_or_another_parameter_leave_the_samples_that_there_were():
    one = draws(count=5, **{PORT: {"log": [100, 900]}})
    assert draws(count=9, **{PORT: {"log": [100, 900]}})[:5] == one
    two = draws(count=5, stages={"uniform": [1, 8]}, **{PORT: {"log": [100, 900]}})
    assert [point[PORT] for point in two] == [point[PORT] for point in one]


def test_every_sample_meets_the_whole_grid():
    found = points(random={"count": 3, "axes": {PORT: {"uniform": [1, 9]}}}, axes={"cluster": [1, 2]})
    assert [point["cluster"] for point in found] == [1, 2] * 3
    assert [point[PORT] for point in found][::2] == [point[PORT] for point in found][1::2]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["uniform", "log"]),
    st.integers(1, 40),
    st.integers(0, 60),
    st.sampled_from([None, 1, 3, 8]),
    st.integers(0, 5),
)
def test_samples_are_whole_in_range_and_on_their_steps(kind, low, width, step, seed):
    draw = {kind: [low, low + width]} | ({"step": step} if step else {})
    values = [point["stages"] for point in draws(count=30, seed=seed, stages=draw)]
    assert all(isinstance(value, int) and low <= value <= low + width for value in values)
    assert all((value - low) % (step or 1) == 0 for value in values)


def test_uniform_samples_reach_both_ends_and_log_samples_spread_over_orders_of_magnitude():
    values = [point["stages"] for point in draws(count=200, stages={"uniform": [1, 4]})]
    assert set(values) == {1, 2, 3, 4}
    rates = [point[PORT] for point in draws(count=400, **{PORT: {"log": [1, 10_000]}})]
    assert 120 < sum(rate < 100 for rate in rates) < 280


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_pareto_set_is_what_comparing_all_pairs_gives(data):
    aims = data.draw(st.lists(st.sampled_from(["min", "max"]), min_size=1, max_size=3))
    numbers = st.integers(0, 4).map(float)
    found = data.draw(st.lists(st.tuples(*[numbers] * len(aims)), max_size=12))
    signs = [1 if aim == "min" else -1 for aim in aims]

    def dominates(one, other):
        pairs = [(a * sign, b * sign) for a, b, sign in zip(one, other, signs, strict=True)]
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    expected = [not any(dominates(other, point) for other in found) for point in found]
    assert pareto_set(found, aims) == expected
