"""What the command ``calibrate`` does, once its options are read."""

from __future__ import annotations

import json as text_of
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import typer

from hoppersim.dataset import load_dataset
from hoppersim.errors import InputError
from hoppersim.pool import MachineRequest, usable_cores
from hoppersim.result.files import write_text
from hw_validate.bench import Bench, OnPoint, cache_folder
from hw_validate.fit import report
from hw_validate.fit.calibration import calibrate as work_out
from hw_validate.fit.floorplan import floorplan_text, read_probe
from hw_validate.fit.outcome import Context, Step
from hw_validate.fit.steps import STEPS, chosen_steps
from hw_validate.fit.training import Training
from hw_validate.fit.writing import check_name, write_machine

EXIT_INTERRUPTED = 130


@dataclass(frozen=True)
class Wanted:
    """Machine to start from, dataset, steps (none: all), processes (None: one a core)."""

    request: MachineRequest
    dataset: str = "h200"
    steps: tuple[str, ...] = ()
    jobs: int | None = None


def list_steps() -> None:
    """Print the steps in their order."""
    from rich.console import Console

    report.show_steps(Console(highlight=False), STEPS)


def calibrate(wanted: Wanted, write: Path | None, *, json: bool = False) -> None:
    """Calibrate, print what was found, and write the machine.

    Raises
    ------
    InputError
        If an option names nothing, or SciPy is missing.
    """
    steps = chosen_steps(wanted.steps)
    if write is not None:
        check_name(write)
    _require_scipy()
    training = Training(load_dataset(wanted.dataset), wanted.dataset)
    with Bench(wanted.jobs if wanted.jobs is not None else usable_cores()) as bench, _Progress() as progress:
        folder = cache_folder().with_name("calibrate")
        context = Context(training, wanted.request, bench, folder, progress.point)
        found = work_out(steps, context, progress.step)
    if json:
        typer.echo(text_of.dumps(report.document(found), indent=1))
    else:
        from rich.console import Console

        screen = Console(highlight=False)
        report.show(screen if screen.is_terminal else Console(highlight=False, width=130), found)
    if found.todo:
        typer.echo(f"interrupted; the same command goes on with: {', '.join(found.todo)}", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)
    if write is not None:
        for path in write_machine(found, write):
            typer.echo(f"{path} written", err=True)


def make_floorplan(rows: Path, run: str, write: Path | None) -> None:
    """Make a floorplan of what a probe found, and print or write it.

    Raises
    ------
    InputError
        If the file holds no floorplan, or several and no run is named.
    """
    probe = read_probe(rows, run)
    text, notes = floorplan_text(probe)
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    if write is None:
        typer.echo(text, nl=False)
        return
    check_name(write)
    write_text(write, text)
    typer.echo(f"{write} written; use it with: hoppersim run multicast --floorplan {write}", err=True)


def _require_scipy() -> None:
    try:
        import scipy  # type: ignore[import-untyped]  # noqa: F401
    except ImportError as error:
        rule = "calibrating needs it: pip install 'hoppersim[calibrate]'"
        raise InputError("scipy", "missing", rule) from error


class _Progress(AbstractContextManager["_Progress"]):
    """Progress on the standard error stream: the step, and how many simulations it has asked for."""

    def __init__(self) -> None:
        from rich.console import Console

        self._screen = Console(stderr=True, highlight=False)
        self._status = self._screen.status("") if self._screen.is_terminal else None
        self._step, self._count = "", 0
        self.point: OnPoint = self._point

    def __enter__(self) -> _Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def step(self, step: Step) -> None:
        """Begin a step."""
        self._step, self._count = step.name, 0
        if self._status is None:
            print(f"step {step.name}: {step.about}", file=sys.stderr, flush=True)
        else:
            self._status.update(f"{step.name}: {step.about}")

    def _point(self, label: str) -> None:
        self._count += 1
        if self._status is not None:
            self._status.update(f"{self._step}: {self._count} simulations, {label}")
