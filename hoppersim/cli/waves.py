"""What to say of a run whose CTAs do not all fit on the chip at once: its figures are those of one CTA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoppersim.result.schema import Result

LONGER = 1.2
"""CTAs waited for SMs if the whole takes so many times as long as its longest CTA."""


def in_waves(result: Result) -> bool:
    """Say whether CTAs of a run followed each other on their SMs."""
    return not result.hung and result.ctas > result.sms_used and result.window_cycles > LONGER * result.cycles


def wave_lines(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """Say for each run in waves how long the whole takes, and what the time above is of."""
    return [
        f"{name}: not all of its CTAs fit at once. The whole takes {result.window_cycles:,.0f} cycles "
        "from the first start to the last end. The time above is that of the longest CTA, and the rates, "
        "the bytes of all CTAs in that time, are too high."
        for name, result in zip(names, results, strict=True)
        if in_waves(result)
    ]


def whole_time(results: Sequence[Result], names: Sequence[str]) -> str:
    """Compare two runs by the whole time per delivered byte."""
    first, second = (result.window_cycles / max(1, result.delivered_bytes) for result in results)
    faster, slower = names if first <= second else reversed(names)
    ratio = max(first, second) / min(first, second)
    whole = f"By the whole time, {faster} is {ratio:.2f}x as fast as {slower} per byte."
    return f"No verdict where CTAs wait for SMs. {whole}"
