"""The main loop of a GEMM in clusters of 2x2: operands multicast along rows and columns."""

from __future__ import annotations

from hoppersim.program.builder_parts import padding
from hoppersim.program.operations import Affine, Arrive, Compute, ExpectTx, For, TmaLoad, Wait
from hoppersim.program.work import Barrier, Buffer, Launch, Role, TensorMap, Work, make_work

MATRIX = 4096
TILE_COLUMNS, TILE_ROWS = 64, 128
TILE_BYTES = 2 * TILE_COLUMNS * TILE_ROWS


def gemm_2x2(k_steps: int = 64, stages: int = 4, compute: int = 128) -> Work:
    """Build the main loop of a GEMM in 2x2 clusters, 128x128 tiles of the result, steps of 64 in K.

    CTAs of one row share a tile of A, those of one column a tile of B. Each loads its half of both and
    multicasts it along its row or column, so three CTAs write into each, and three must release a stage.

    Parameters
    ----------
    k_steps
        Steps in K.
    stages
        Stages of the ring.
    compute
        SM cycles of the matrix product of one step.
    """
    row_masks, column_masks = (0b0011, 0b0011, 0b1100, 0b1100), (0b0101, 0b1010, 0b0101, 0b1010)
    partners = tuple(row | column for row, column in zip(row_masks, column_masks, strict=True))
    half = TILE_BYTES // 2
    k = Affine(loops={"k": TILE_COLUMNS})
    # Rank = column + 2 * row. The row gives the tile of A and the column its half; of B the other way round.
    a_rows = Affine(cluster=256, by_rank=(0, 64, 128, 192), wrap=MATRIX)
    b_rows = _table(0, 128, 64, 192)
    load = (
        Wait("free", "free"),
        ExpectTx("full", 2 * TILE_BYTES),
        TmaLoad("a", (k, a_rows), "a", "full", _table(0, half, 0, half), _table(*row_masks)),
        TmaLoad("b", (k, b_rows), "b", "full", _table(0, 0, half, half), _table(*column_masks)),
    )
    multiply = (Wait("full"), Compute(compute), Arrive("free", to=_table(*partners)))
    dims, box = (max(MATRIX, k_steps * TILE_COLUMNS), MATRIX), (TILE_COLUMNS, TILE_ROWS // 2)
    return make_work(
        "gemm_2x2",
        roles=(
            Role("load", (For(k_steps, load, stages, "k"),)),
            Role("multiply", (For(k_steps, multiply, stages, "k"),), width="warp"),
        ),
        buffers=(
            Buffer("a", TILE_BYTES, stages),
            Buffer("b", TILE_BYTES, stages),
            *padding((TILE_BYTES, 2 * stages)),
        ),
        barriers=(Barrier("full", 1, stages), Barrier("free", 3, stages)),
        maps=(
            TensorMap("a", "a", dims, box, swizzle=128),
            TensorMap("b", "b", dims, box, swizzle=128),
        ),
        launch=Launch(cluster=(2, 2, 1)),
    )


def _table(*by_rank: int) -> Affine:
    return Affine(by_rank=by_rank)
