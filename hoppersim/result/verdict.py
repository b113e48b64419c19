"""Which of two runs is faster, and whether the model can tell at all."""

from __future__ import annotations

import msgspec

from hoppersim.result.schema import Result

UNCALIBRATED_ERROR = 0.10
"""Relative error that a comparison allows for while the machine has provisional numbers."""
CALIBRATED_ERROR = 0.05
"""Relative error that a comparison allows for on a machine without provisional numbers."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of two runs; by time if both deliver the same bytes, else by time per byte.

    Attributes
    ----------
    difference_cycles
        Time of the second less time of the first [cycle]; positive when the first is faster.
    speedup
        Time of the second over time of the first, or time per byte where `per_byte` is set.
    error
        Relative error allowed for.
    decided
        Whether the difference exceeds the error.
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
    """
    if error is None:
        error = UNCALIBRATED_ERROR if first.provisional or second.provisional else CALIBRATED_ERROR
    per_byte = 0 < first.delivered_bytes != second.delivered_bytes > 0
    speedup = second.cycles / first.cycles
    if per_byte:
        speedup *= first.delivered_bytes / second.delivered_bytes
    ratio = max(speedup, 1 / speedup)
    decided = ratio - 1 > error
    winner, loser = names if speedup > 1 else names[::-1]
    if decided:
        text = f"{winner} is {ratio:.2f}x as fast as {loser}{' per byte' if per_byte else ''}"
    else:
        what = "times per byte" if per_byte else "times"
        text = f"undecided within {error:.0%}: the {what} differ by {ratio - 1:.1%}"
    return Verdict(
        first=names[0],
        second=names[1],
        first_cycles=first.cycles,
        second_cycles=second.cycles,
        difference_cycles=second.cycles - first.cycles,
        speedup=speedup,
        per_byte=per_byte,
        error=error,
        decided=decided,
        text=text,
    )
