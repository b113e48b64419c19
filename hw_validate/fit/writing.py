"""Writes a calibrated machine as a preset file: every fitted number with its run, points and interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from msgspec.structs import replace as with_fields

from hoppersim.errors import InputError
from hoppersim.machine.describe import configuration_toml
from hoppersim.machine.machine import Machine
from hoppersim.machine.provenance import Origin
from hoppersim.pool import machine_for
from hoppersim.result.files import require_place, write_text
from hw_validate.fit.calibration import Calibration
from hw_validate.fit.outcome import Estimate, Outcome


def fitted_machine(found: Calibration) -> Machine:
    """Give the machine that a calibration left, with the origins of its numbers."""
    machine = machine_for(found.request)
    provenance = dict(machine.provenance)
    for outcome in found.outcomes:
        for estimate in outcome.estimates:
            for path in estimate.paths:
                provenance[path] = provenance[path]._replace(origin=origin_of(outcome, estimate))
    return replace(machine, provenance=provenance)


def origin_of(outcome: Outcome, estimate: Estimate) -> str:
    """Say where a fitted number comes from."""
    half = f"± {estimate.half_width:.3g}" if math.isfinite(estimate.half_width) else "no interval"
    if math.isnan(estimate.half_width):
        half = f"best of the values tried, error {outcome.error_after or 0:.1%}"
    evidence = f"{len(outcome.points)} points" if len(outcome.points) > 1 else "".join(outcome.points)
    return f"fitted: {outcome.runs}, step {outcome.step} of calibrate, {evidence}, {half}"


def write_machine(found: Calibration, path: Path) -> list[Path]:
    """Write a machine as TOML that `hoppersim.load_machine` reads; fitted tables go beside it as CSV.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        If the name does not end in ``.toml``, or the file cannot be written.
    """
    check_name(path)
    machine = fitted_machine(found)
    provenance, written = dict(machine.provenance), [path]
    for table in _tables(found.outcomes):
        assert table.table is not None
        for name in table.paths:
            file = path.with_name(f"{path.stem}.{name.partition('.')[2]}.csv")
            write_text(file, table.table.read_text(encoding="utf-8"))
            known = provenance[name]
            provenance[name] = Origin(file.name, known.unit, known.origin)
            written.append(file)
    spec = with_fields(machine.spec, name=path.stem)
    write_text(path, configuration_toml(replace(machine, spec=spec, provenance=provenance)))
    return written


def check_name(path: Path) -> None:
    """Refuse a file that could not be loaded as a machine.

    Raises
    ------
    InputError
        If the name does not end in ``.toml``, or the file could not be written.
    """
    if path.suffix != ".toml":
        raise InputError("--write", str(path), "must end in .toml", path.with_suffix(".toml").name)
    require_place("--write", path)


def provisional_left(found: Calibration) -> list[str]:
    """List the parameters that still wait for a measurement."""
    return [path for path, origin in fitted_machine(found).provenance.items() if origin.provisional]


def _tables(outcomes: Iterable[Outcome]) -> list[Estimate]:
    return [item for outcome in outcomes for item in outcome.estimates if item.table is not None]
