"""What a step of a calibration finds: values with intervals, and what they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hoppersim.machine.machine import Machine
from hoppersim.pool import MachineRequest
from hw_validate.bench import Bench, OnPoint
from hw_validate.fit.training import Training


@dataclass(frozen=True)
class Estimate:
    """One fitted number.

    Parameters
    ----------
    name
        Its path, or a pattern of paths that share the value.
    paths
        The machine's parameters that take it.
    value, before
        Fitted value, and the one that the machine had (median where they differ) [unit].
    half_width
        Half of the 95 % interval [unit]; infinite where the points do not react to the number, not a number
        where values were tried one by one.
    unit
        Unit of the parameters.
    table
        A table of numbers in place of one value: its file.
    """

    name: str
    paths: tuple[str, ...]
    value: float
    before: float
    half_width: float
    unit: str
    table: Path | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """The changes of the machine, as ``path=value``."""
        value = str(self.table) if self.table is not None else f"{self.value:.6g}"
        return tuple(f"{path}={value}" for path in self.paths)


@dataclass(frozen=True)
class Outcome:
    """What one step found.

    Parameters
    ----------
    step
        Name of the step.
    estimates
        The numbers; none if the step could not be done, and `notes` say why.
    runs, points
        Runs and labels of the points that were read.
    error_before, error_after
        Root of the mean squared error of the points [ratio]; None where nothing is simulated.
    correlations
        Pairs of numbers that the points hardly tell apart, with their correlation.
    notes
        What the data cannot tell, in sentences.
    """

    step: str
    estimates: tuple[Estimate, ...] = ()
    runs: str = ""
    points: tuple[str, ...] = ()
    error_before: float | None = None
    error_after: float | None = None
    correlations: tuple[tuple[str, str, float], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Context:
    """What a step works with.

    Parameters
    ----------
    training
        The points that it may read.
    request
        The machine so far, with what the steps before found.
    bench
        Where works are simulated.
    folder
        Where tables that a step finds are kept.
    on_point
        Called with the label of each point that is simulated.
    """

    training: Training
    request: MachineRequest
    bench: Bench
    folder: Path
    on_point: OnPoint | None = None


class Step(Protocol):
    """One step of a calibration."""

    @property
    def name(self) -> str:
        """What ``--only`` calls it."""

    @property
    def about(self) -> str:
        """What it fits and from which points, in a sentence."""

    def paths(self, machine: Machine) -> tuple[str, ...]:
        """List the machine's parameters that the step finds."""

    def run(self, context: Context) -> Outcome:
        """Work the step out."""


__all__ = ["Context", "Estimate", "Outcome", "Step"]
