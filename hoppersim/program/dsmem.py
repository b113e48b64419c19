"""Flows over the cluster fabric: tiles pushed around a ring by bulk copies, and tiles read where they lie."""

from __future__ import annotations

from hoppersim.program.builder_parts import ROW_BYTES, TENSOR_ROWS, Grid, check_range, padding, rows_map
from hoppersim.program.operations import (
    Affine,
    Arrive,
    BulkCopy,
    ExpectTx,
    For,
    Operation,
    RemoteLoad,
    Sync,
    TmaLoad,
    Wait,
)
from hoppersim.program.work import Barrier, Buffer, Launch, Role, Work, make_work


def dsmem_push(
    cluster: int = 2, tile_bytes: int = 16384, stages: int = 2, iterations: int = 64, grid: Grid = "fill"
) -> Work:
    """Build a ring of bulk copies: every CTA pushes a tile into the next rank's shared memory.

    The receiver's consumer releases a stage at the sender, so no sender is two phases ahead.

    Parameters
    ----------
    cluster
        CTAs of a cluster, 2 or more: a bulk copy goes to another CTA.
    tile_bytes
        Bytes of one copy, a multiple of 128, at most 32 KiB.
    stages, iterations
        Stages of the inbox, and tiles that each CTA sends.
    grid
        CTAs, or ``fill``.
    """
    check_range("cluster", cluster, 2, 16)
    before = tuple(1 << (rank - 1) % cluster for rank in range(cluster))
    following = Affine(base=1, rank=1, wrap=cluster)
    # Bytes for the next phase of `full` come only after the own consumer has seen the present one, so the
    # sender role may arm it as soon as that phase is over.
    send: tuple[Operation, ...] = (
        Wait("full", "free"),
        ExpectTx("full", tile_bytes),
        Wait("free", "free"),
        BulkCopy("outbox", "inbox", tile_bytes, following, "full"),
    )
    tile_rows = tile_bytes // ROW_BYTES
    rows = Affine(cluster=cluster * tile_rows, rank=tile_rows, wrap=TENSOR_ROWS)
    first = (ExpectTx("ready", tile_bytes), TmaLoad("tiles", (0, rows), "outbox", "ready"))
    receive = (Wait("full"), Arrive("free", to=Affine(by_rank=before)))
    return make_work(
        f"dsmem_push_c{cluster}",
        roles=(
            Role("sender", (*first, Wait("ready", 0), For(iterations, send, stages, "tile"))),
            Role("receiver", (For(iterations, receive, stages, "tile"),)),
        ),
        buffers=(
            Buffer("outbox", tile_bytes),
            Buffer("inbox", tile_bytes, stages),
            *padding((tile_bytes, stages + 1)),
        ),
        barriers=(Barrier("ready", 1), Barrier("full", 1, stages), Barrier("free", 1, stages)),
        maps=(rows_map(tile_bytes),),
        launch=Launch(grid=grid, cluster=(cluster, 1, 1)),
    )


def dsmem_pull(
    cluster: int = 2,
    tile_bytes: int = 16384,
    reuse: int = 4,
    iterations: int = 16,
    warps: int = 4,
    grid: Grid = "fill",
) -> Work:
    """Build scheme A: rank 0 holds a tile, and every CTA reads it remotely at each of `reuse` uses.

    Parameters
    ----------
    cluster
        CTAs of a cluster.
    tile_bytes
        Bytes of the tile, a multiple of 128, at most 32 KiB.
    reuse
        Times that each CTA reads a tile.
    iterations
        Tiles in turn.
    warps
        Warps of the role that reads.
    grid
        CTAs, or ``fill``.
    """
    check_range("cluster", cluster, 1, 16)
    rows = Affine(cluster=tile_bytes // ROW_BYTES, wrap=TENSOR_ROWS)
    hold = (
        Wait("free", "free"),
        ExpectTx("full", tile_bytes),
        TmaLoad("tiles", (0, rows), "tile", "full"),
        Wait("full"),
        Arrive("ready", to=2**cluster - 1, release="cluster"),
    )
    read = For(reuse, (RemoteLoad("tile", 0, tile_bytes),), name="use")
    use = (Wait("ready"), read, Sync("role"), Arrive("free", to=1, release="cluster"))
    return make_work(
        f"dsmem_pull_c{cluster}",
        roles=(
            Role("owner", (For(iterations, hold, name="tile"),), ranks=(0,)),
            Role("reader", (For(iterations, use, name="tile"),), warps, "warps"),
        ),
        buffers=(Buffer("tile", tile_bytes), *padding((tile_bytes, 1))),
        barriers=(Barrier("full", 1), Barrier("ready", 1), Barrier("free", cluster)),
        maps=(rows_map(tile_bytes),),
        launch=Launch(grid=grid, cluster=(cluster, 1, 1)),
    )
