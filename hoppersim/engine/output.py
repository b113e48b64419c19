"""What a run hands to `hoppersim.result`: raw times and counters, before any interpretation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoppersim.engine.findings import Finding


@dataclass(frozen=True)
class CtaRun:
    """One CTA: where it ran and when. Times are ticks from the launch."""

    flow: int
    cluster: int
    rank: int
    sm: int
    start: int
    """First instruction of the roles, after the prologue's cluster sync."""
    end: int
    """Last instruction of the slowest role, before the epilogue; -1 if it never came."""
    stamps: tuple[tuple[str, str, int], ...] = ()
    """(role, stamp name, tick) in time order."""


@dataclass(frozen=True)
class RoleState:
    """A role that did not finish: what it waits for. Material of the hang report."""

    cta: int
    """Index into `RunOutput.ctas`."""
    role: str
    path: tuple[str, ...]
    """Enclosing loops with their trip counts, then the operation, as text."""
    barrier: str
    stage: int
    parity_waited: int
    """-1 where the role waits for something else than a barrier (a cluster sync)."""
    loops: tuple[tuple[str, int], ...] = ()
    """Enclosing loops with their trip counts, outermost first."""
    place: tuple[int, ...] = ()
    """Place of the operation: its number in the role's body, or of its loop, then inside that loop."""
    rings: tuple[tuple[int, int], ...] = ()
    """(stages, present stage) of the enclosing loops."""


@dataclass(frozen=True)
class BarrierState:
    """A barrier at the end of a run that did not complete."""

    cta: int
    barrier: str
    stage: int
    phase: int
    pending: int
    expected: int
    tx: int
    log: tuple[tuple[int, str, int, int], ...]
    """(tick, who, arrivals, bytes) of the present phase; bytes below zero were announced by expect_tx.

    Who is ``rank R ROLE``, or ``fabric`` for bytes whose issuer is not known."""


@dataclass(frozen=True)
class RunOutput:
    """All that one simulation produced."""

    ctas: tuple[CtaRun, ...]
    ticks: int
    """Launch to the end of the slowest role, or to the last progress of a hang."""
    counters: dict[str, NDArray[np.int64]]
    """Block counters by name; one value for each unit (see `hoppersim.blocks`)."""
    lines: int
    """Line requests that the TMA engines made."""
    wall_seconds: float
    busy: int = 0
    """Ticks that the busiest thread spent on its own operations."""
    busiest: str = ""
    """Name of the role whose thread that is."""
    hung: bool = False
    landed: int = 0
    """Launch to when the last bytes had reached an SM, after the last CTA's end if nobody waits for them."""
    roles: tuple[RoleState, ...] = ()
    barriers: tuple[BarrierState, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Accesses that must not happen: races, absent CTAs, operations that PTX leaves undefined."""
    hazards: tuple[str, ...] = ()
    """The findings as text."""
    extra: dict[str, Any] = field(default_factory=dict)


COUNTER_NAMES = (
    "tma.lines",  # per SM: line requests issued
    "tma.multicast_lines",  # per SM: of those, with a multicast mask
    "sm.bytes_in_self",  # per SM: bytes received for its own request
    "sm.bytes_in_multicast",  # per SM: bytes received through a multicast
    "sm.bytes_in_dsmem",  # per SM: bytes that copies brought from a peer
    "sm.bytes_out_dsmem",  # per SM: bytes that copies took to peers
    "lrc.requests",  # per slice: line requests that entered the coalescer
    "lrc.sectors_out",  # per slice: sectors that it sent out, a merged line once
    "lrc.sectors_merged",  # per slice: sectors saved by merging unicast reads
    "gpc.bytes_in",  # per GPC: bytes through the GPC port
    "gpc.sectors_delivered",  # per GPC: sectors handed to SMs behind the port
    "l2.sectors",  # per slice: sectors looked up for SMs
    "l2.hits",  # per slice: of those, found in the local partition
    "l2.misses",  # per slice: of those, not found there
    "l2.fabric_sectors",  # per partition: sectors that came from the other one
    "hbm.bytes_read",  # per channel
    "sm.bytes_loaded",  # per SM: bytes of boxes that reached it, which may be fewer than its sectors hold
    "hbm.bytes_written",  # per channel: by stores to lines that the L2 does not hold
    "sm.bytes_in_remote",  # per SM: bytes that threads loaded from a peer, or a peer's threads stored here
    "sm.bytes_out_remote",  # per SM: bytes that went out so
    "busy.tma",
    "busy.slice",
    "busy.fabric",
    "busy.hbm",
    "busy.gpc",
    "busy.sm",
    "busy.dsmem",  # ticks
)
