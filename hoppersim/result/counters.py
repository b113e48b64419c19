"""Block counters under the names that Nsight Compute uses, where it has one.

This is the only place that knows both names. A counter without a counterpart on the hardware keeps the
name that its block gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from hoppersim.errors import InternalError

NCU_NAMES = {
    "tma.multicast_lines": "l1tex__m_l1tex2xbar_read_requests_mem_global_op_tma_ld_dest_multicast.sum",
    "sm.bytes_in_self": "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_self.sum",
    "sm.bytes_in_multicast": "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast.sum",
    "sm.bytes_in_dsmem": "l1tex__m_xbar2l1tex_read_bytes_mem_dshared_op_tma_st.sum",
    "sm.bytes_out_dsmem": "l1tex__m_l1tex2xbar_write_bytes_mem_dshared_op_tma_st.sum",
    "lrc.requests": "lrc__xbar2lrc_requests_op_read.sum",
    "lrc.sectors_out": "lrc__lrc2xbar_sectors_op_read.sum",
    "gpc.sectors_delivered": "lrc__xbar2gpc_sectors_op_read.sum",
    "l2.sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2.hits": "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
    "l2.misses": "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum",
    "l2.fabric_sectors": "lts__t_sectors_srcunit_ltcfabric.sum",
    "hbm.bytes_read": "dram__bytes_read.sum",
}
"""Block counter to Nsight Compute metric."""

UNITS = {
    "tma.lines": "line",
    "tma.multicast_lines": "request",
    "lrc.requests": "request",
    "lrc.sectors_out": "sector",
    "lrc.sectors_merged": "sector",
    "gpc.sectors_delivered": "sector",
    "l2.sectors": "sector",
    "l2.hits": "sector",
    "l2.misses": "sector",
    "l2.fabric_sectors": "sector",
}
"""Unit of a block counter; those not listed count bytes."""


@cache
def known_ncu_names() -> frozenset[str]:
    """Give the stored list of metric names that Nsight Compute offers on the H200."""
    text = files("hoppersim.result").joinpath("ncu_names.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def public_name(block_counter: str) -> str:
    """Give the name under which a Result shows a block counter."""
    return NCU_NAMES.get(block_counter, block_counter)


def unit_of(public: str) -> str:
    """Give the unit of a counter of a Result: ``B``, ``sector``, ``line`` or ``request``."""
    for block, name in NCU_NAMES.items():
        if name == public:
            return UNITS.get(block, "B")
    return UNITS.get(public, "B")


def totals(counters: Mapping[str, NDArray[np.int64]]) -> dict[str, int]:
    """Sum every counter over its units, under its public name; busy times are left to the links."""
    return {
        public_name(name): int(values.sum())
        for name, values in sorted(counters.items())
        if not name.startswith("busy.")
    }


def total(counters: Mapping[str, NDArray[np.int64]], name: str) -> int:
    """Sum one block counter over its units.

    Raises
    ------
    InternalError
        If the fabric did not hand the counter over.
    """
    if name not in counters:
        raise InternalError(f"the fabric handed over no counter {name!r}")
    return int(counters[name].sum())
