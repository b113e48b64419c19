"""The programs that studies are made of: tiles from global memory into every CTA, in one of four ways."""

from __future__ import annotations

from hoppersim.program.case_spec import MODES, Case, Mode, check_case
from hoppersim.program.operands import constant_value
from hoppersim.program.operations import (
    Affine,
    Arrive,
    Compute,
    ExpectTx,
    For,
    LocalRead,
    Operand,
    Operation,
    Sync,
    TmaLoad,
    Wait,
)
from hoppersim.program.work import (
    Allocation,
    Barrier,
    Buffer,
    Flow,
    Launch,
    Program,
    Role,
    TensorMap,
    Work,
)

ELEMENT_BYTES = 2
MOST_CTAS = 160
"""More CTAs than any preset runs at once, one on each SM; sizes the memory of a `fill` grid."""
DEFAULT_L2_FOOTPRINT = 24 * 2**20
DEFAULT_HBM_FOOTPRINT = 2**28


def build_case(case: Case) -> Work:
    """Write the program and the launch of a case.

    Raises
    ------
    InputError
        If a field of the case, or a combination, has no meaning.

    Examples
    --------
    >>> work = build_case(Case("multicast", cluster=2, rows=128))
    >>> work.flows[0].launch.cluster
    (2, 1, 1)
    """
    check_case(case)
    total_rows = _total_rows(case)
    program = Program(
        case.label,
        roles=(*_producers(case, total_rows), _consumer(case)),
        buffers=_buffers(case),
        barriers=(Barrier("full", 1, case.stages), Barrier("free", _free_count(case), case.stages)),
        maps=(
            TensorMap(
                "tiles",
                "data",
                dims=(case.row_bytes // ELEMENT_BYTES, total_rows),
                box=(case.row_bytes // ELEMENT_BYTES, _issued_rows(case)),
                element_bytes=ELEMENT_BYTES,
            ),
        ),
    )
    launch = Launch(
        allocations=(Allocation("data", total_rows * case.row_bytes),),
        grid=case.grid,
        cluster=(case.cluster, 1, 1),
        sms=case.sms,
        skew=_starts(case),
        warm=case.warm if case.warm is not None else int(case.memory == "l2"),
    )
    return Work((Flow(program, launch),))


def _starts(case: Case) -> Operand:
    """Give the delay of each CTA's start: the ranks of a cluster one after the other."""
    if not case.skew:
        return 0
    return Affine(by_rank=tuple(case.skew * rank // (case.cluster - 1) for rank in range(case.cluster)))


def _units(case: Case) -> int:
    """Bound the number of clusters (of CTAs, when distinct) that read tiles of their own."""
    ctas = MOST_CTAS if case.grid == "fill" else int(case.grid)
    return ctas if case.mode == "unicast_distinct" else -(-ctas // case.cluster)


def _total_rows(case: Case) -> int:
    """Rows of the allocation: whole tiles."""
    tile_rows = case.boxes * case.rows
    if case.pattern == "one":
        return tile_rows
    if case.pattern == "hot":
        return tile_rows * _units(case)
    least = DEFAULT_L2_FOOTPRINT
    if case.memory == "hbm":
        least = max(DEFAULT_HBM_FOOTPRINT, _units(case) * case.bytes_per_cta)
    return max(1, (case.footprint or least) // case.tile_bytes) * tile_rows


def _first_row(case: Case, total_rows: int, box: int) -> Operand:
    """Give the row of a box: the unit's first tile, then tile after tile around the allocation.

    Units start far enough apart to read no tile at the same time as another, if the allocation allows.
    """
    tile_rows = case.boxes * case.rows
    base = box * case.rows
    slice_rows = _issued_rows(case) if case.mode == "multicast_slices" else 0
    if case.pattern == "one" or total_rows == tile_rows:
        return _plain(Affine(base, rank=slice_rows))
    share = 1
    if case.pattern == "sweep":
        share = max(1, min(case.iterations, total_rows // tile_rows // _units(case)))
    own = share * tile_rows
    distinct = case.mode == "unicast_distinct"
    return Affine(
        base,
        cluster=own * (case.cluster if distinct else 1),
        rank=own if distinct and case.cluster > 1 else slice_rows,
        loops={"tile": tile_rows} if case.pattern == "sweep" else {},
        wrap=total_rows,
    )


def _plain(operand: Affine) -> Operand:
    constant = constant_value(operand)
    return operand if constant is None else constant


def _buffers(case: Case) -> tuple[Buffer, ...]:
    """Give the ring of tiles, and padding up to the least shared memory of the case."""
    tile = Buffer("tile", case.tile_bytes, case.stages)
    used = -(-case.tile_bytes // 1024) * 1024 * case.stages + 16 * case.stages
    return (tile,) if used >= case.shared_bytes else (tile, Buffer("padding", case.shared_bytes - used))


def _issued_rows(case: Case) -> int:
    """Rows of one issued load."""
    return case.rows // case.cluster if case.mode == "multicast_slices" else case.rows


def _free_count(case: Case) -> int:
    """Consumers that must release a stage before the issuer fills it again."""
    return case.cluster if case.mode.startswith("multicast") else 1


def _producers(case: Case, total_rows: int) -> tuple[Role, ...]:
    """Give the role that issues, and in multicast by a leader the role that arms the peers' barriers."""
    full_mask = 2**case.cluster - 1
    multicast = case.mode.startswith("multicast")
    sliced = case.mode == "multicast_slices"
    slice_bytes = _issued_rows(case) * case.row_bytes
    loads: tuple[Operation, ...] = tuple(
        TmaLoad(
            "tiles",
            (0, _first_row(case, total_rows, box)),
            "tile",
            "full",
            offset=_plain(Affine(box * case.box_bytes, rank=slice_bytes if sliced else 0)),
            mask=full_mask if multicast else None,
        )
        for box in range(case.boxes)
    )
    body: tuple[Operation, ...] = (Wait("free", "free"), ExpectTx("full", case.tile_bytes), *loads)
    if case.mode != "multicast" or case.cluster == 1:
        return (Role("producer", (_ring(case, body),)),)
    # A peer arms its barrier as soon as the phase before has completed: the bytes may come first, since
    # the transaction count is signed and the missing arrival keeps the phase open.
    arm = _ring(case, (Wait("full", "free"), ExpectTx("full", case.tile_bytes)))
    peers = tuple(range(1, case.cluster))
    return (Role("leader", (_ring(case, body),), ranks=(0,)), Role("arm", (arm,), ranks=peers))


def _consumer(case: Case) -> Role:
    """Give the role that waits for tiles, uses them and releases them to whoever refills the stage."""
    body: list[Operation] = [Wait("full")]
    if case.reads:
        body.append(LocalRead("tile", case.reads))
    if case.compute:
        body.append(Compute(case.compute))
    if case.consumer == "warps":
        body.append(Sync("role"))
    issuers = {"multicast": 1, "multicast_slices": 2**case.cluster - 1}.get(case.mode)
    body.append(Arrive("free", to=issuers))
    return Role("consumer", (_ring(case, tuple(body)),), case.consumer_warps, case.consumer)


def _ring(case: Case, body: tuple[Operation, ...]) -> For:
    return For(case.iterations, body, case.stages, "tile")


__all__ = ["MODES", "Case", "Mode", "build_case", "check_case"]
