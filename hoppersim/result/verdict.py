"""Which of two runs is faster: as silicon says where both were measured, else if the model can tell."""

from __future__ import annotations

import msgspec

from hoppersim.errors import InputError
from hoppersim.result.schema import Measured, Result

UNCALIBRATED_ERROR = 0.10
"""Relative error that a comparison allows for while the machine has provisional numbers."""
CALIBRATED_ERROR = 0.05
"""Relative error that a comparison allows for on a machine without provisional numbers."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of two runs; by time if both deliver the same bytes, else by time per byte.

    Attributes
    ----------
    first_cycles, second_cycles
        Times of the slowest CTA; of both from first start to last end where CTAs of one wait for SMs [cycle].
    difference_cycles
        Time of the second less time of the first [cycle]; positive when the first is faster.
    speedup
        Time of the second over time of the first, or time per byte where `per_byte` is set.
    error
        Relative error allowed for.
    decided
        Whether the difference exceeds the error, or that on silicon its repeats.
    silicon_speedup
        The speedup on silicon, which decides then; None where the two were not measured alike.
    text
        The verdict in one sentence.
    """

    first: str
    second: str
    first_cycles: float
    second_cycles: float
    difference_cycles: float
    speedup: float
    per_byte: bool
    error: float
    decided: bool
    text: str
    silicon_speedup: float | None = None


def compare(first: Result, second: Result, names: tuple[str, str], error: float | None = None) -> Verdict:
    """Compare the times of two runs.

    Parameters
    ----------
    first, second
        The runs.
    names
        What to call them.
    error
        Relative error to allow for; None takes the one that fits the machine's numbers.

    Raises
    ------
    InputError
        If one of them takes no time at all, so that there is nothing to compare.
    """
    for result, name in zip((first, second), names, strict=True):
        if not result.cycles:
            rule = "a run is compared by its time, and this one does nothing that takes any"
            raise InputError(name, "0 cycles", rule, "a role with an operation")
    if error is None:
        error = UNCALIBRATED_ERROR if first.provisional or second.provisional else CALIBRATED_ERROR
    per_byte = 0 < first.delivered_bytes != second.delivered_bytes > 0
    share = first.delivered_bytes / second.delivered_bytes if per_byte else 1.0
    waves = max(first.waves, second.waves) > 1
    times = [result.window_cycles if waves else result.cycles for result in (first, second)]
    speedup, silicon_speedup = times[1] / times[0] * share, None
    decided, text = _judge(speedup, names, error, per_byte=per_byte)
    # Silicon's times are those of the slowest CTA.
    measured = None if waves else _measured_alike(first, second)
    if (first.work_hash, first.machine_hash, first.cycles) == (
        second.work_hash, second.machine_hash, second.cycles,
    ):  # fmt: skip
        text = "neither is faster: both are the same work"
    elif measured is not None:
        silicon_speedup = measured[1].cycles / measured[0].cycles * share
        spread = max(item.spread for item in measured)
        decided, found = _judge(silicon_speedup, names, spread, per_byte=per_byte)
        how = f" in proportion from {measured[0].of_trips} trips" if measured[0].of_trips else ""
        text = f"{found}, measured on an {measured[0].device}{how}; by simulation alone {text}"
    return Verdict(
        first=names[0],
        second=names[1],
        first_cycles=times[0],
        second_cycles=times[1],
        difference_cycles=times[1] - times[0],
        speedup=speedup,
        per_byte=per_byte,
        error=error,
        decided=decided,
        text=text,
        silicon_speedup=silicon_speedup,
    )


def _judge(speedup: float, names: tuple[str, str], error: float, *, per_byte: bool) -> tuple[bool, str]:
    """Tell whether a speedup exceeds an error, and say which run is faster."""
    ratio = max(speedup, 1 / speedup)
    winner, loser = names if speedup > 1 else names[::-1]
    if ratio - 1 > error:
        return True, f"{winner} is {ratio:.2f}x as fast as {loser}{' per byte' if per_byte else ''}"
    what = "times per byte" if per_byte else "times"
    return False, f"undecided within {error:.0%}: the {what} differ by {ratio - 1:.1%}"


def _measured_alike(first: Result, second: Result) -> tuple[Measured, Measured] | None:
    """Give what silicon took for both, if the same part ran both whole, or both with the same trips."""
    pair = first.measured, second.measured
    if pair[0] is None or pair[1] is None:
        return None
    alike = (pair[0].device, pair[0].of_trips) == (pair[1].device, pair[1].of_trips)
    return (pair[0], pair[1]) if alike else None
