"""Marks for what the presets miss today."""

from __future__ import annotations

import pytest


def deviates(number: str, what: str, *values: object) -> object:
    """Give the values of a case that fails today, with its number in docs/deviations.md."""
    mark = pytest.mark.xfail(strict=True, raises=AssertionError, reason=f"{number}: {what}")
    return pytest.param(*values, marks=mark)
