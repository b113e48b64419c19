"""What the shipped dataset measured on silicon for a work, where it has the work."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import hoppersim.dataset


@cache
def _measured() -> Mapping[str, float]:
    # A package without a dataset is complete: studies then show simulated figures only.
    reader = getattr(hoppersim.dataset, "measured_cycles", None)
    return reader() if reader is not None else {}


def silicon_cycles(work_hash: str) -> float | None:
    """Give the measured time of a work [cycle]; None where it was not measured."""
    return _measured().get(work_hash)
