"""Checks that hold for every run: what goes into a link comes out of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hoppersim.errors import InternalError
from hoppersim.result.counters import total
from hoppersim.result.schema import Bounds
from hoppersim.units import SECTOR_BYTES

Counters = Mapping[str, NDArray[np.int64]]


def check_conservation(counters: Counters, branch_behind_port: bool = True) -> None:
    """Refuse counters that do not balance.

    Parameters
    ----------
    counters
        By block name, one value for each unit.
    branch_behind_port
        As the machine's ``xbar.branch_behind_port`` says.

    Raises
    ------
    InternalError
        Naming the first pair of figures that differ.
    """
    delivered = total(counters, "sm.bytes_in_self") + total(counters, "sm.bytes_in_multicast")
    sent_out, looked_up = total(counters, "lrc.sectors_out"), total(counters, "l2.sectors")
    merged = total(counters, "lrc.sectors_merged")
    _equal("line requests issued", total(counters, "tma.lines"), "entered", total(counters, "lrc.requests"))
    _within("sectors looked up in the L2", looked_up, 0, sent_out)
    found = total(counters, "l2.hits") + total(counters, "l2.misses")
    _equal("sectors looked up", looked_up, "hit or missed", found)
    for kind in ("dsmem", "remote"):
        sent, arrived = total(counters, f"sm.bytes_out_{kind}"), total(counters, f"sm.bytes_in_{kind}")
        _equal("bytes sent to peers", sent, "received from peers", arrived)
    # A line that several SMs read together passes the port of each of their GPCs once, or once for each SM.
    entered = total(counters, "gpc.bytes_in")
    handed_on = total(counters, "gpc.sectors_delivered") * SECTOR_BYTES
    most = (sent_out + merged) * SECTOR_BYTES if branch_behind_port else handed_on
    _within("bytes into the GPCs", entered, sent_out * SECTOR_BYTES, most)
    _equal("bytes behind the GPC ports", handed_on, "received by SMs", delivered)


def check_loads(counters: Counters, expected: int) -> None:
    """Refuse a completed run whose loads delivered other bytes than its program asks for.

    Raises
    ------
    InternalError
        If the figures differ.
    """
    _equal("bytes that the program loads", expected, "delivered", total(counters, "sm.bytes_loaded"))


def check_bound(window_cycles: float, bounds: Bounds) -> None:
    """Refuse a run that is faster than its traffic allows.

    Raises
    ------
    InternalError
        If the run beats its merged bound.
    """
    # Services are rounded to whole fractions of a tick, so a long run may lead by parts in 10,000.
    if window_cycles < bounds.merged_cycles * (1 - 1e-3) - 1:
        raise InternalError(
            f"the run took {window_cycles:,.1f} cycles, less than its bound of {bounds.merged_cycles:,.1f} "
            f"({bounds.merged_link})"
        )


def _within(what: str, count: int, least: int, most: int) -> None:
    if not least <= count <= most:
        raise InternalError(f"bytes are not conserved: {what} {count}, not from {least} to {most}")


def _equal(first: str, count: int, second: str, other: int) -> None:
    if count != other:
        raise InternalError(f"bytes are not conserved: {first} {count}, {second} {other}")
