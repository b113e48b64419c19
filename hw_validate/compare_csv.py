"""A user's own measurements as CSV: a line for each point, with what ran and how long it took.

Columns, in any order:

``cycles`` (or ``us`` with ``sm_ghz``)
    Time of the slowest CTA [SM cycle], or [us] and the SM clock [GHz].
``flow``
    A flow file (TOML), relative to the CSV; or
``mode`` and other fields of `hoppersim.Case`
    ``cluster``, ``rows``, ``stages``, ``iterations``, ``memory``, ``pattern`` and so on; what is empty takes
    the field's default. Sizes may have a suffix (``24MiB``).
``label``, ``spread``
    Name of the point; (greatest - least) / median of its repeats. Optional.
Names of Nsight Compute's metrics
    What was counted. Optional.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from hoppersim import build_case, load_work
from hoppersim.errors import HopperSimError, InputError
from hoppersim.machine.rules import closest
from hoppersim.program.canonical import work_hash
from hoppersim.program.case_spec import Case
from hoppersim.program.work import Work
from hoppersim.units import parse_bytes
from hw_validate.compare import Item
from hw_validate.counters import METRICS

TIMES = ("cycles", "us", "sm_ghz")
CASE_FIELDS = tuple(name for name in Case.__struct_fields__ if name != "sms")
COLUMNS = ("label", *TIMES, "spread", "flow", *CASE_FIELDS)
_CYCLES_PER_US = 1e3
"""SM cycles of a microsecond at 1 GHz."""
_SIZES = ("footprint", "shared_bytes")


def read_csv(path: Path) -> list[Item]:
    """Read a user's measurements.

    Raises
    ------
    InputError
        If the file cannot be read, a column is unknown or missing, or a field has no meaning; names the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            _check_columns(path, reader.fieldnames or ())
            return [_item(path, reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError("measurements", str(path), f"must be a readable CSV file ({error})") from error


def _check_columns(path: Path, names: Sequence[str]) -> None:
    known = (*COLUMNS, *METRICS)
    for name in names:
        if name not in known:
            raise InputError(f"{path.name}: column", name, "is no known column", closest(name, known))
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise InputError(f"{path.name}: column", twice[0], "must stand there once")
    if "cycles" not in names and not {"us", "sm_ghz"} <= set(names):
        raise InputError(f"{path.name}: columns", ", ".join(names), "must have a time", "cycles")
    if "mode" not in names and "flow" not in names:
        raise InputError(f"{path.name}: columns", ", ".join(names), "must say what ran", "mode")


def _item(path: Path, line: int, row: dict[str, Any]) -> Item:
    where = f"{path.name}:{line}"
    if None in row or None in row.values():
        raise InputError(where, len(row), "must have as many fields as there are columns")
    work, tags = _work(path, where, row)
    key = work_hash(work)
    cycles = _cycles(where, row)
    spread = _number(where, row, "spread") or 0.0
    counters = {name: _number(where, row, name) or 0.0 for name in METRICS if row.get(name)}
    label = row.get("label") or work.flows[0].program.name
    counted = (counters,) if counters else ()
    return Item(f"{line}", label, key, work, cycles, (), spread, tags, "", counters, counted)


def _work(path: Path, where: str, row: dict[str, Any]) -> tuple[Work, dict[str, Any]]:
    """Give what ran, from its flow file or the fields of a case; with it the tags of the point."""
    try:
        if row.get("flow"):
            if not (path.parent / row["flow"]).is_file():
                raise InputError(where, row["flow"], "must be a flow file, seen from the folder of the CSV")
            return load_work(path.parent / row["flow"]), {}
        fields = {name: _field(name, row[name]) for name in CASE_FIELDS if row.get(name)}
        if "mode" not in fields:
            raise InputError("mode", "", "must say what ran, here or in the column flow", "multicast")
        case = msgspec.convert(fields, Case, strict=False)
        return build_case(case), {"case": {name: getattr(case, name) for name in CASE_FIELDS}}
    except msgspec.ValidationError as error:
        raise InputError(where, row.get("mode"), f"must be the fields of a case ({error})") from error
    except InputError as error:
        raise InputError(f"{where}: {error.field}", error.value, error.rule, error.nearest) from error
    except HopperSimError as error:
        raise InputError(where, row.get("flow"), f"must be a flow that can be read ({error})") from error


def _field(name: str, text: str) -> Any:
    if name in _SIZES:
        try:
            return parse_bytes(text)
        except (ValueError, OverflowError) as error:
            raise InputError(name, text, "must be a number of bytes") from error
    return int(text) if name == "grid" and text.isdecimal() else text


def _cycles(where: str, row: dict[str, Any]) -> float:
    cycles = _number(where, row, "cycles")
    if cycles is None:
        micros, clock = _number(where, row, "us"), _number(where, row, "sm_ghz")
        cycles = micros * clock * _CYCLES_PER_US if micros and clock else None
    if not cycles or not 0 < cycles < float("inf"):
        raise InputError(f"{where}: cycles", row.get("cycles", ""), "must be a time above 0")
    return cycles


def _number(where: str, row: dict[str, Any], name: str) -> float | None:
    """Read a number that is not negative; None where the field is empty or not there."""
    text = row.get(name)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InputError(f"{where}: {name}", text, "must be a number, not below 0")
    return value
