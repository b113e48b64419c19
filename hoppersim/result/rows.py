"""A run as one row of a table, and the unit of a column by its name."""

from __future__ import annotations

from typing import Any

from hoppersim.result.counters import known_ncu_names, unit_of
from hoppersim.result.schema import Result

UNITS = {
    "_per_cycle": "B/cycle",
    "tb_per_second": "TB/s",
    "lines_per_second": "line/s",
    "cycles_per_second": "cycle/s",
    "cycles": "cycle",
    "seconds": "s",
    "microseconds": "us",
    "bytes": "B",
    "bytes_per_cta": "B",
    "sectors": "sector",
    "share": "share",
    "use": "share",
    "error": "share",
    "speedup": "ratio",
}
"""How the names of columns end, and the unit that the ending tells; the longest ending counts.

"cycle" is an SM cycle, "share" a fraction from 0 to 1. Columns with other names are counts, names or flags.
"""


def unit_of_column(name: str) -> str:
    """Give the unit of a column; empty for counts, names and flags."""
    if name in known_ncu_names() or "." in name:
        return unit_of(name)
    endings = [ending for ending in UNITS if name == ending or name.endswith(f"_{ending.lstrip('_')}")]
    return UNITS[max(endings, key=len)] if endings else ""


COLUMNS = {
    "executor": "executor",
    "machine": "machine",
    "machine_hash": "machine_hash",
    "provisional": "provisional",
    "work": "work",
    "work_hash": "work_hash",
    "ctas": "ctas",
    "cluster": "cluster",
    "sms_used": "sms_used",
    "sms_of_chip": "sms_of_chip",
    "hung": "hung",
    "hazards": "hazards",
    "cycles": "cycles",
    "seconds": "seconds",
    "window_cycles": "window_cycles",
    "waves": "waves",
    "delivered_bytes": "delivered_bytes",
    "chip_bytes_per_cycle": "rates.chip",
    "used_sm_bytes_per_cycle": "rates.used_sm",
    "chip_sm_bytes_per_cycle": "rates.chip_sm",
    "limiter": "limiter.name",
    "limiter_share": "limiter.share",
    "bound_merged_cycles": "bounds.merged_cycles",
    "bound_merged_link": "bounds.merged_link",
    "bound_unmerged_cycles": "bounds.unmerged_cycles",
    "bound_unmerged_link": "bounds.unmerged_link",
    "measured_cycles": "measured.cycles",
    "measured_error": "measured.error",
}
"""Columns of a run's row, and the fields of the Result that they show; a column for each counter follows."""


def result_row(result: Result) -> dict[str, Any]:
    """Give the figures of a run as one row; None where a figure does not exist."""
    return {name: _value(result, path) for name, path in COLUMNS.items()} | result.counters


def _value(result: Result, path: str) -> Any:
    value: Any = result
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return len(value) if isinstance(value, tuple) else value
