"""The schema of a Result: what one run says, in the same form for the simulator and for silicon.

Every field names its unit; "cycle" is an SM cycle. A change that would mislead a reader of older files
raises `SCHEMA`.
"""

from __future__ import annotations

import msgspec

SCHEMA = "hoppersim.result/1"


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Common shape of all parts of a Result."""


class Rates(_Part, frozen=True, kw_only=True):
    """Delivered bytes over the time of the run [B/cycle]: whole chip, per used SM, per SM of the chip."""

    chip: float
    used_sm: float
    chip_sm: float


class SmFigures(_Part, frozen=True, kw_only=True):
    """One SM: GPC, CTAs that ran there, bytes delivered [B], longest CTA [cycle], rate [B/cycle]."""

    sm: int
    gpc: int
    ctas: int
    bytes: int
    cycles: float
    rate: float


class GpcFigures(_Part, frozen=True, kw_only=True):
    """One GPC: SMs used, bytes through its port and delivered behind it [B], how busy the port was [0..1]."""

    gpc: int
    sms: int
    port_bytes: int
    delivered_bytes: int
    port_use: float


class LinkUse(_Part, frozen=True, kw_only=True):
    """How busy the units of a resource were [0..1] while the work ran: mean of those used, and busiest."""

    resource: str
    units: int
    mean: float
    peak: float
    busiest: int


class Limiter(_Part, frozen=True, kw_only=True):
    """What sets the time: a resource, or ``latency``, or ``issue``; `share` is how busy it was [0..1]."""

    name: str
    share: float


class Bounds(_Part, frozen=True, kw_only=True):
    """Least time that the traffic can take [cycle], merged and unmerged reads, and the link that binds."""

    merged_cycles: float
    merged_link: str
    unmerged_cycles: float
    unmerged_link: str


class Speed(_Part, frozen=True, kw_only=True):
    """What the run cost to simulate: wall time [s], line requests, lines a second, chip cycles a second."""

    wall_seconds: float
    lines: int
    lines_per_second: float
    cycles_per_second: float


class Result(_Part, frozen=True, kw_only=True):
    """What one run of a work says.

    Attributes
    ----------
    schema, executor, machine, work, work_hash
        Version of this schema; ``simulator`` or ``hardware``; preset; names of the programs; hash.
    ctas, cluster, sms_used, sms_of_chip
        CTAs that ran, CTAs of a cluster (of the first flow), SMs with at least one, SMs of the chip.
    cycles, seconds
        Time of the run: the slowest CTA from its first to its last instruction [cycle, s].
    window_cycles
        First start to last end over all CTAs [cycle]; what rates of links refer to.
    delivered_bytes
        Bytes that reached shared memory, every receiver of a multicast counted [B].
    counters
        Totals by name; names of Nsight Compute where it has one.
    limiter, bounds
        What sets the time, and the closed-form bound beside it (None where the traffic has none).
    provisional
        Numbers of the preset that are not measured yet.
    hung, hang, hazards
        Whether the run hung, the report of it, and dynamic findings.
    """

    schema: str = SCHEMA
    executor: str = "simulator"
    machine: str
    work: str
    work_hash: str
    ctas: int
    cluster: int
    sms_used: int
    sms_of_chip: int
    cycles: float
    seconds: float
    window_cycles: float
    delivered_bytes: int
    rates: Rates
    counters: dict[str, int]
    links: tuple[LinkUse, ...]
    limiter: Limiter
    bounds: Bounds | None
    speed: Speed
    provisional: int
    hung: bool = False
    hang: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    per_gpc: tuple[GpcFigures, ...] = ()
    per_sm: tuple[SmFigures, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Result {self.work} on {self.machine}: {self.cycles:,.0f} cycles, "
            f"{self.rates.used_sm:.1f} B/cycle per used SM, limited by {self.limiter.name}>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{value}</td></tr>"
            for name, value in self.summary()
        )
        return f"<table>{rows}</table>"

    def summary(self) -> list[tuple[str, str]]:
        """List the main figures as (name, text) pairs, in reading order."""
        lines = [
            ("work", self.work),
            ("machine", self.machine),
            (
                "CTAs",
                f"{self.ctas} in clusters of {self.cluster}, on {self.sms_used} of {self.sms_of_chip} SMs",
            ),
            ("time", f"{self.cycles:,.0f} cycles ({self.seconds * 1e6:,.2f} us)"),
            ("delivered", f"{self.delivered_bytes:,} B"),
            ("rate, chip", f"{self.rates.chip:,.1f} B/cycle"),
            ("rate, used SM", f"{self.rates.used_sm:.1f} B/cycle"),
            ("rate, SM of the chip", f"{self.rates.chip_sm:.1f} B/cycle"),
            ("limiter", f"{self.limiter.name} ({self.limiter.share:.0%} busy)"),
        ]
        if self.bounds is not None:
            lines.append(("bound", f"{self.bounds.merged_cycles:,.0f} cycles ({self.bounds.merged_link})"))
        if self.provisional:
            lines.append(("provisional numbers", str(self.provisional)))
        return lines
