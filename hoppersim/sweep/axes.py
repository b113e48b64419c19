"""The points of a study: every value of the grid with every other, and with every random sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random as Generator
from typing import Any, TypeVar

import msgspec

from hoppersim.errors import InputError
from hoppersim.sweep.parameters import Parameters
from hoppersim.sweep.study import Draw, Random, Range, Settings, Sweep

MOST_POINTS = 100_000
_SLACK = 1e-9
"""Share of a step by which rounding may carry a range beyond its end."""

Factor = list[Settings]
"""Settings of which each point has one: an axis, a linked group, or the random samples."""
Struct = TypeVar("Struct", bound=msgspec.Struct)


def factors(sweep: Sweep, parameters: Parameters) -> list[Factor]:
    """List what a study varies: random samples, linked groups, axes; the first varies slowest.

    Raises
    ------
    InputError
        If a parameter is unknown or varied twice, a value is illegal by itself, or there is nothing to vary.
    """
    found: list[Factor] = []
    if sweep.random is not None:
        found.append(_samples(sweep.random, parameters))
    found += [_linked(f"linked[{number}]", group, parameters) for number, group in enumerate(sweep.linked)]
    for name, axis in sweep.axes.items():
        found.append([{name: value} for value in _values("axes", name, axis, parameters)])
    if not found:
        raise InputError("axes", {}, "a study varies at least one parameter", "axes, linked or random")
    names = [name for factor in found for name in factor[0]]
    for name in names:
        if names.count(name) > 1:
            raise InputError("axes", name, "a parameter is varied once: in axes, in linked, or at random")
    count = math.prod(map(len, found))
    if count > MOST_POINTS:
        raise InputError("axes", f"{count:,} points", "has too many points to try", f"{MOST_POINTS:,} points")
    return found


def settings_of_points(found: list[Factor]) -> Iterator[Settings]:
    """Give the settings of every point, in the order of its rows."""
    for parts in product(*found):
        yield {name: value for part in parts for name, value in part.items()}


def _values(where: str, name: str, axis: Any, parameters: Parameters) -> list[Any]:
    """List the checked values of an axis."""
    parameters.require(where, name)
    field = f"{where}.{name}"
    if isinstance(axis, dict):
        listed = _spread(field, _struct(field, axis, Range), whole=parameters.is_whole(name))
    elif isinstance(axis, list | tuple):
        listed = list(axis)
    else:
        raise InputError(field, axis, "must be a list of values, or a range {from, to}", f"[{axis}]")
    values = [parameters.check(where, name, value) for value in listed]
    if not values:
        raise InputError(field, axis, "must have at least one value")
    repeated = [text for text, count in Counter(map(str, values)).items() if count > 1]
    if repeated:
        raise InputError(field, repeated[0], "must not have a value twice")
    return values


def _struct(field: str, value: Any, kind: type[Struct]) -> Struct:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        fields = ", ".join(item.encode_name for item in msgspec.structs.fields(kind))
        rule = f"must have the shape of a {kind.__name__.lower()}, of {fields} ({error})"
        raise InputError(field, value, rule.replace("`", "")) from None


def _linked(where: str, group: dict[str, Any], parameters: Parameters) -> Factor:
    columns = {name: _values(where, name, axis, parameters) for name, axis in group.items()}
    if not columns:
        raise InputError(where, group, "links at least one parameter")
    lengths = {name: len(values) for name, values in columns.items()}
    first = next(iter(lengths))
    for name, length in lengths.items():
        if length != lengths[first]:
            rule = f"needs as many values as {first}, which it is linked with"
            raise InputError(f"{where}.{name}", length, rule, lengths[first])
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _spread(field: str, spread: Range, *, whole: bool) -> list[Any]:
    """List the values of a range."""
    paces = [name for name in ("step", "factor", "count") if getattr(spread, name) is not None]
    if len(paces) > 1:
        raise InputError(field, ", ".join(paces), "has one pace: step, factor or count", paces[0])
    start, end = spread.start, spread.end
    for name, value in (("from", start), ("to", end)):
        if not math.isfinite(value):
            raise InputError(f"{field}.{name}", value, "must be a finite number", 1)
    if end < start:
        raise InputError(f"{field}.to", end, "must not lie below from", start)
    if spread.count is not None:
        if not 1 <= spread.count <= MOST_POINTS:
            raise InputError(f"{field}.count", spread.count, f"must lie from 1 to {MOST_POINTS}", 1)
        gaps = max(1, spread.count - 1)
        return [_number(start + (end - start) * place / gaps, whole) for place in range(spread.count)]
    if spread.factor is not None:
        if spread.factor <= 1 or start <= 0:
            raise InputError(f"{field}.factor", spread.factor, "must be above 1, and from above 0", 2)
        count = math.floor(math.log(end / start, spread.factor) + _SLACK) + 1
        steps = (start * spread.factor**place for place in range(_counted(field, count)))
        return [_number(value, whole) for value in steps]
    step = 1.0 if spread.step is None else spread.step
    if step <= 0:
        raise InputError(f"{field}.step", step, "must be above 0", 1)
    count = math.floor((end - start) / step + _SLACK) + 1
    return [_number(start + step * place, whole) for place in range(_counted(field, count))]


def _counted(field: str, count: int) -> int:
    if count > MOST_POINTS:
        raise InputError(field, f"{count:,} values", "has too many values to try", f"{MOST_POINTS:,} values")
    return count


def _number(value: float, whole: bool) -> int | float:
    """Give a whole number as one; 12 digits are free of the rounding of sums."""
    rounded = float(f"{value:.12g}")
    return int(rounded) if whole and rounded.is_integer() else rounded


def _samples(random: Random, parameters: Parameters) -> Factor:
    """Draw all samples; each parameter has a generator of its own."""
    if not 1 <= random.count <= MOST_POINTS:
        nearest = min(max(random.count, 1), MOST_POINTS)
        raise InputError("random.count", random.count, f"must lie from 1 to {MOST_POINTS}", nearest)
    if not random.axes:
        raise InputError("random.axes", {}, "draws at least one parameter")
    columns = {name: _drawn(random, name, draw, parameters) for name, draw in random.axes.items()}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _drawn(random: Random, name: str, axis: Any, parameters: Parameters) -> list[Any]:
    where = "random.axes"
    parameters.require(where, name)
    field = f"{where}.{name}"
    draw = _struct(field, axis, Draw)
    kinds = [kind for kind in ("uniform", "log", "choice") if getattr(draw, kind) is not None]
    if len(kinds) != 1:
        raise InputError(field, axis, "draws in one way: uniform, log or choice", "uniform = [low, high]")
    # Only random() is promised to stay the same through versions of Python.
    generator = Generator(f"{random.seed}:{name}")
    shares = [generator.random() for _ in range(random.count)]
    if draw.choice is not None:
        listed = _values(where, name, draw.choice, parameters)
        return [listed[int(share * len(listed))] for share in shares]
    low, high = draw.uniform or draw.log or (0.0, 0.0)
    if high < low or (draw.log is not None and low <= 0):
        rule = "must be [low, high]" + (" with low above 0" if draw.log is not None else "")
        raise InputError(field, [low, high], rule, [high, low] if high < low else None)
    whole = parameters.is_whole(name)
    for value in (low, high):
        parameters.check(where, name, _number(value, whole))
    step = draw.step if draw.step is not None else 1.0 if whole else None
    if step is not None and step <= 0:
        raise InputError(f"{field}.step", step, "must be above 0", 1)
    drawn = (_place(low, high, share, step, log=draw.log is not None) for share in shares)
    return [parameters.check(where, name, _number(value, whole)) for value in drawn]


def _place(low: float, high: float, share: float, step: float | None, *, log: bool) -> float:
    """Give the value at a share [0..1) of the way; each step of a uniform draw is equally likely."""
    if step is None:
        return float(low * (high / low) ** share) if log else low + (high - low) * share
    steps = math.floor((high - low) / step + _SLACK)
    place = round((low * (high / low) ** share - low) / step) if log else int(share * (steps + 1))
    return low + step * min(steps, place)
