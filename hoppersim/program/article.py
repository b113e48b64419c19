"""The article's two loops: 128 threads, one stage, a cluster sync after every tile."""

from __future__ import annotations

from typing import Literal

from hoppersim.program.builder_parts import check_range, padding
from hoppersim.program.operations import Affine, ExpectTx, For, Operand, Operation, Sync, TmaLoad, Wait
from hoppersim.program.work import Barrier, Buffer, Launch, Role, TensorMap, Work, make_work

MATRIX = 4096
TILE_COLUMNS, TILE_ROWS = 64, 128
TILE_BYTES = 2 * TILE_COLUMNS * TILE_ROWS
HOT_ITERATIONS = 5000
STREAM_ITERATIONS = 2000
STREAM_STEPS = 80
"""A stream moves along a row of tiles, and after so many steps down to the next row."""

Pattern = Literal["hot", "stream"]


def article_unicast(pattern: Pattern = "hot", iterations: int | None = None, cluster: int = 2) -> Work:
    """Build the article's unicast loop: every CTA of a cluster loads the same 16 KB tile for itself.

    Parameters
    ----------
    pattern
        ``hot``: one tile for each cluster. ``stream``: new tiles of a 4096x4096 fp16 matrix.
    iterations
        Tiles that each CTA receives; None takes the article's 5,000 or 2,000. A stream rounds them up
        to whole rounds of 80.
    cluster
        CTAs of a cluster, 1 to 16.

    Raises
    ------
    InputError
        If `cluster` or `iterations` is out of range.
    """
    check_range("cluster", cluster, 1, 16)
    load = TmaLoad("matrix", _tile(pattern), "tile", "full")
    return _article("article_unicast", pattern, iterations, cluster, (ExpectTx("full", TILE_BYTES), load))


def article_multicast(pattern: Pattern = "hot", iterations: int | None = None, cluster: int = 2) -> Work:
    """Build the article's multicast loop: rank 0 arms its own and its peers' barriers, then multicasts.

    Parameters and errors are those of `article_unicast`.
    """
    check_range("cluster", cluster, 1, 16)
    everyone = 2**cluster - 1
    arm = [ExpectTx("full", TILE_BYTES)]
    if cluster > 1:
        arm.append(ExpectTx("full", TILE_BYTES, to=everyone - 1))
    load = TmaLoad("matrix", _tile(pattern), "tile", "full", mask=everyone)
    return _article("article_multicast", pattern, iterations, cluster, (*arm, load), (0,))


def _article(
    name: str,
    pattern: Pattern,
    iterations: int | None,
    cluster: int,
    issue: tuple[Operation, ...],
    issuers: tuple[int, ...] = (),
) -> Work:
    """Put the issuing warp and three waiting warps around the loop; one row of tiles is 64 tiles."""
    count = iterations or (HOT_ITERATIONS if pattern == "hot" else STREAM_ITERATIONS)
    check_range("iterations", count, 1, 2**24)
    end = (Wait("full"), Sync("cluster"))
    return make_work(
        f"{name}_{pattern}",
        roles=(
            Role("issuer", _loops(pattern, count, (*issue, *end)), 1, "warp", issuers),
            Role("others", _loops(pattern, count, end), 3, "warps"),
        ),
        buffers=(Buffer("tile", TILE_BYTES), *padding((TILE_BYTES, 1))),
        barriers=(Barrier("full", 1),),
        maps=(TensorMap("matrix", "matrix", (MATRIX, MATRIX), (TILE_COLUMNS, TILE_ROWS)),),
        launch=Launch(cluster=(cluster, 1, 1)),
    )


def _loops(pattern: Pattern, count: int, body: tuple[Operation, ...]) -> tuple[For, ...]:
    if pattern == "hot":
        return (For(count, body, name="step"),)
    steps = min(count, STREAM_STEPS)
    return (For(-(-count // steps), (For(steps, body, name="step"),), name="round"),)


def _tile(pattern: Pattern) -> tuple[Operand, Operand]:
    """Give column and row of a cluster's tile; clusters start apart from each other."""
    if pattern == "hot":
        return Affine(cluster=TILE_COLUMNS, wrap=MATRIX), Affine(cluster=TILE_ROWS, wrap=MATRIX)
    return (
        Affine(cluster=TILE_COLUMNS, loops={"step": TILE_COLUMNS}, wrap=MATRIX),
        Affine(cluster=TILE_ROWS, loops={"round": TILE_ROWS}, wrap=MATRIX),
    )
