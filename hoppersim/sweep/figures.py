"""The columns of a study's table: what is measured at a point, what is known before, and their units."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from hoppersim.engine.output import COUNTER_NAMES
from hoppersim.program.case_spec import Case
from hoppersim.program.work import Work
from hoppersim.result.counters import public_name, unit_of
from hoppersim.result.limiter import RESOURCES
from hoppersim.result.rows import result_row
from hoppersim.result.schema import Result

Figures = dict[str, Any]
"""Values by the name of their column; None where there is none."""


class Figure(NamedTuple):
    """One column: its unit (empty for a text or a share), what it says, and its heading if not its name."""

    unit: str
    meaning: str
    heading: str = ""


KNOWN = {
    "tile_bytes": Figure("B", "one tile of the case, which fills a stage"),
    "ring_bytes": Figure("B", "all stages of the case's ring"),
    "bytes_per_cta": Figure("B", "what each CTA of the case receives"),
    "smem_bytes": Figure("B", "dynamic shared memory of a CTA, padding included"),
}
"""What is known of a point without simulating it; those of a case are None for a flow file."""

MEASURED = {
    "cycles": Figure("cycle", "time of the slowest CTA"),
    "window_cycles": Figure("cycle", "first start to last end of all CTAs"),
    "waves": Figure("", "CTAs that follow each other in one place of an SM; 1 where all fit at once"),
    "microseconds": Figure("us", "time of the run: of the slowest CTA; in waves, of the window", "time"),
    "ctas": Figure("CTA", "CTAs that ran"),
    "sms_used": Figure("SM", "SMs that ran one"),
    "delivered_bytes": Figure("B", "bytes that reached shared memory, each receiver of a multicast counted"),
    "chip_bytes_per_cycle": Figure("B/cycle", "delivered bytes over time", "chip"),
    "used_sm_bytes_per_cycle": Figure("B/cycle", "the same for each SM used", "used SM"),
    "chip_sm_bytes_per_cycle": Figure("B/cycle", "the same for each SM of the chip", "chip SM"),
    "tb_per_second": Figure("TB/s", "delivered bytes over time", "chip"),
    "dram_tb_per_second": Figure("TB/s", "bytes read from HBM over time", "HBM"),
    "dram_bytes": Figure("B", "bytes read from HBM"),
    "l2_sectors": Figure("sector", "sectors that the L2 read for SMs"),
    "limiter": Figure("", "what sets the time", "limited by"),
    "limiter_share": Figure("", "how busy that was, 0 to 1", "busy"),
    "bound_cycles": Figure("cycle", "closed-form bound with reads merged, which no run beats"),
    "bound_link": Figure("", "the link that binds"),
    **{
        f"use_{key}": Figure("", f"how busy the busiest {name} was, 0 to 1")
        for key, name in RESOURCES.items()
    },
}
SPEEDUP = "speedup"
DERIVED = {SPEEDUP: Figure("", "time per delivered byte of the baseline over that of the point")}
TEXTS = frozenset({"limiter", "bound_link"})
SHARES = frozenset({"limiter_share", *(f"use_{key}" for key in RESOURCES)})

_READS, _DRAM = public_name("l2.sectors"), public_name("hbm.bytes_read")


@cache
def counter_names() -> tuple[str, ...]:
    """List the counters of a Result, which may be columns too."""
    return tuple(public_name(name) for name in COUNTER_NAMES if not name.startswith("busy."))


def column_names(*, derived: bool) -> tuple[str, ...]:
    """List all columns beside the parameters; `derived` for a study with a baseline."""
    return (*MEASURED, *KNOWN, *(DERIVED if derived else ()), *counter_names())


def unit_of_column(name: str) -> str:
    """Give the unit of a column that is no parameter."""
    figure = (MEASURED | KNOWN | DERIVED).get(name)
    return unit_of(name) if figure is None else figure.unit


def heading(name: str, unit: str) -> str:
    """Write the heading of a column in words that can be wrapped, with its unit unless its name is one."""
    figure = (MEASURED | KNOWN | DERIVED).get(name)
    words = (figure.heading if figure is not None else "") or re.sub(r"[._]+", " ", name).strip()
    return words if unit in name else f"{words} [{unit}]"


def known_figures(case: Case | None, work: Work) -> Figures:
    """Give the columns of `KNOWN`."""
    return {
        "tile_bytes": None if case is None else case.tile_bytes,
        "ring_bytes": None if case is None else case.stages * case.tile_bytes,
        "bytes_per_cta": None if case is None else case.bytes_per_cta,
        "smem_bytes": max((flow.program.shared_bytes for flow in work.flows), default=0),
    }


def measured_figures(result: Result) -> Figures:
    """Give the columns of `MEASURED`, and all counters."""
    dram = result.counters.get(_DRAM, 0)
    seconds = result.seconds
    use = {link.resource: link.peak for link in result.links}
    row = result_row(result)
    return {
        **{name: row[name] for name in MEASURED if name in row},
        "microseconds": seconds * 1e6,
        "tb_per_second": result.delivered_bytes / seconds / 1e12 if seconds else 0.0,
        "dram_tb_per_second": dram / seconds / 1e12 if seconds else 0.0,
        "dram_bytes": dram,
        "l2_sectors": result.counters.get(_READS, 0),
        "bound_cycles": row["bound_merged_cycles"],
        "bound_link": row["bound_merged_link"],
        **{f"use_{key}": use.get(name, 0.0) for key, name in RESOURCES.items()},
        **result.counters,
    }


def show(name: str, value: Any) -> str:
    """Write a value of a column for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if name in SHARES:
            return f"{value:.0%}"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)
