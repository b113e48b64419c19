"""Intervals and correlations of fitted numbers, from residuals and their derivatives."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
ALIKE = 0.9
"""Correlation of two numbers from which on the points hardly tell them apart."""
DEAF = 1e-3
"""Change of the residuals for a factor of e, below which the points do not react to a number."""
CONFIDENCE = 0.975


class Spread(NamedTuple):
    """What residuals and their derivatives say about the numbers.

    Parameters
    ----------
    half_widths
        Halves of the 95 % intervals of the factors; infinite where nothing reacts.
    correlation
        Correlation of each two factors.
    deaf
        Numbers of the factors that no residual reacts to.
    """

    half_widths: list[float]
    correlation: Vector
    deaf: list[int]

    @classmethod
    def of(cls, jacobian: Vector, residuals: Vector) -> Spread:
        """Work intervals and correlations out, as if what is left over were chance."""
        from scipy.stats import t as student  # type: ignore[import-untyped]

        points, count = jacobian.shape
        deaf = np.flatnonzero(np.linalg.norm(jacobian, axis=0) < DEAF).tolist()
        heard = [number for number in range(count) if number not in deaf]
        freedom = max(1, points - len(heard))
        some = jacobian[:, heard]
        covariance = np.linalg.pinv(some.T @ some) * float(residuals @ residuals) / freedom
        deviations = np.sqrt(np.diag(covariance))
        half_widths = np.full(count, math.inf)
        half_widths[heard] = deviations * float(student.ppf(CONFIDENCE, freedom))
        correlation = np.eye(count)
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation[np.ix_(heard, heard)] = covariance / np.outer(deviations, deviations)
        return cls(half_widths.tolist(), np.nan_to_num(correlation), deaf)

    def alike(self) -> list[tuple[int, int, float]]:
        """List the pairs of factors that are hardly told apart, with their correlation."""
        count = len(self.correlation)
        return [
            (one, other, round(float(self.correlation[one, other]), 3))
            for one in range(count)
            for other in range(one + 1, count)
            if abs(self.correlation[one, other]) > ALIKE
        ]
