"""Bytes between SMs: what the copy engine moves and what threads move have counters of their own."""

from __future__ import annotations

import pytest

from hoppersim.program import (
    Barrier,
    Buffer,
    BulkCopy,
    ExpectTx,
    Launch,
    Operation,
    RemoteLoad,
    RemoteStore,
    Role,
    StAsync,
    Sync,
    Wait,
    Work,
    make_work,
)
from hoppersim.result.api import simulate

TILE = 2048
WAYS: dict[str, tuple[Operation, int, bool]] = {
    "copy": (BulkCopy("outbox", "inbox", TILE, 1, "full"), 0, True),
    "st_async": (StAsync("inbox", 1, TILE, "full"), 0, True),
    "remote_st": (RemoteStore("inbox", 1, TILE), 0, False),
    "remote_ld": (RemoteLoad("outbox", 0, TILE), 1, False),
}
"""The operation that moves a tile from rank 0 to 1, the rank that executes it, and whether rank 1 waits."""
TMA_BYTES = {
    "in": "l1tex__m_xbar2l1tex_read_bytes_mem_dshared_op_tma_st.sum",
    "out": "l1tex__m_l1tex2xbar_write_bytes_mem_dshared_op_tma_st.sum",
}


def one_tile(way: str) -> Work:
    """Move one tile from rank 0 to rank 1."""
    operation, rank, waits = WAYS[way]
    roles = [Role("mover", (Sync("cluster"), operation, Sync("cluster")), 1, "warps", (rank,))]
    received = (ExpectTx("full", TILE), Sync("cluster"), Wait("full", 0)) if waits else (Sync("cluster"),)
    roles.append(Role("other", (*received, Sync("cluster")), 1, "warp", (1 - rank,)))
    return make_work(
        way,
        tuple(roles),
        buffers=(Buffer("outbox", TILE), Buffer("inbox", TILE)),
        barriers=(Barrier("full", 1),),
        launch=Launch(grid=2, cluster=(2, 1, 1)),
    )


@pytest.mark.parametrize("fabric", ["compiled", "reference"])
@pytest.mark.parametrize("way", WAYS)
def test_only_what_the_copy_engine_moves_is_counted_as_its_own(tiny, way: str, fabric: str) -> None:
    counters = simulate(tiny, one_tile(way), fabric=fabric).counters
    by_engine = TILE if way == "copy" else 0
    assert [counters[TMA_BYTES[end]] for end in ("in", "out")] == [by_engine, by_engine]
    by_threads = TILE - by_engine
    assert [counters[f"sm.bytes_{end}_remote"] for end in ("in", "out")] == [by_threads, by_threads]


@pytest.mark.parametrize("way", WAYS)
def test_bytes_that_threads_move_are_delivered_bytes_too(tiny, way: str) -> None:
    assert simulate(tiny, one_tile(way), fabric="reference").delivered_bytes == TILE
