"""One program for each operation, width and form: each compiles, spills nothing and divides in no loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hoppersim.program.operations import (
    Affine,
    Arrive,
    BulkCopy,
    Compute,
    Exit,
    ExpectTx,
    Fence,
    For,
    LocalRead,
    Operation,
    RemoteLoad,
    RemoteStore,
    Stamp,
    StAsync,
    StoreWait,
    Sync,
    TmaLoad,
    TmaStore,
    Wait,
)
from hoppersim.program.work import Allocation, Barrier, Buffer, Flow, Launch, Program, Role, TensorMap, Work
from hw_validate.compile import compile_source
from hw_validate.lower import kernel_source
from hw_validate.sass import disassemble, find_nvdisasm

WIDTHS = ("lane", "warp", "warps")
RELEASES = ("cta", "cluster", "relaxed")
BY_RANK = Affine(by_rank=(2, 1))
COLUMN = Affine(cluster=64, rank=32, loops={"i": 64}, wrap=512)


def operations() -> Iterator[tuple[str, Operation]]:
    """Yield every operation in every form, under a name."""
    for form in ("try", "test"):
        for phase in ("full", "free", 1, Affine(loops={"i": 1}, wrap=2)):
            yield (
                f"wait_{form}_{phase if isinstance(phase, str | int) else 'operand'}",
                Wait("full", phase, form),
            )
    for release in RELEASES:
        for name, to in (("local", None), ("remote", 3), ("by_rank", BY_RANK)):
            yield f"arrive_{name}_{release}", Arrive("free", to, release)
            yield f"arrive_expect_{name}_{release}", ExpectTx("full", 64, to, True, release)
    yield "expect_local", ExpectTx("full", 64, arrive=False)
    yield "expect_remote", ExpectTx("full", 64, 2, arrive=False)
    for rank in range(1, 6):
        place = (COLUMN, *[0] * (rank - 1))
        yield f"load_{rank}d", TmaLoad(f"map{rank}", place, "tile", "full")
        yield f"multicast_{rank}d", TmaLoad(f"map{rank}", place, "tile", "full", mask=3)
        yield f"store_{rank}d", TmaStore(f"map{rank}", place, "tile")
    yield "load_offset", TmaLoad("map2", (0, COLUMN), "tile", "full", Affine(rank=128), BY_RANK)
    yield "store_wait", StoreWait(1)
    yield "store_wait_read", StoreWait(read=True)
    yield "bulk_copy", BulkCopy("tile", "other", 1024, BY_RANK, "full", 0, Affine(rank=128))
    for width in (4, 8, 16):
        yield f"remote_ld_{width}", RemoteLoad("tile", 1, 4096, width)
        yield f"remote_st_{width}", RemoteStore("tile", 1, 4096, width)
        yield f"st_async_{width}", StAsync("tile", 1, 4096, "full", width)
        yield f"local_read_{width}", LocalRead("tile", 3, width)
    yield "compute", Compute(100)
    yield "compute_operand", Compute(Affine(rank=100))
    for scope in ("warp", "role", "cta", "cluster"):
        for form in ("acq_rel", "relaxed"):
            yield f"sync_{scope}_{form}", Sync(scope, form)
    for kind in ("mbarrier_init", "proxy_async", "acq_rel_cta", "acq_rel_cluster"):
        yield f"fence_{kind}", Fence(kind)
    yield "stamp", Stamp("here")
    yield "exit", Exit()


def program_of(body: tuple[Operation, ...], width: str = "lane", stages: int = 4) -> Program:
    """Put operations into a loop of a ring, in one role."""
    maps = tuple(
        TensorMap(f"map{rank}", "data", (512, *[8] * (rank - 1)), (64, *[2] * (rank - 1)))
        for rank in range(1, 6)
    )
    loop = For(16, body, stages, "i")
    return Program(
        "one",
        roles=(Role("worker", (loop,), 4 if width == "warps" else 1, width),),
        buffers=(Buffer("tile", 4096, stages), Buffer("other", 4096)),
        barriers=(Barrier("full", 1, stages), Barrier("free", 2, stages)),
        maps=maps,
    )


def flow_of(program: Program, **launch: object) -> Flow:
    """Launch a program in clusters of two."""
    plain = Launch((Allocation("data", 2**22),), cluster=(2, 1, 1))
    return Flow(program, replace_struct(plain, **launch))


def replace_struct(launch: Launch, **changes: object) -> Launch:
    """Change fields of a launch."""
    fields = {name: getattr(launch, name) for name in launch.__struct_fields__}
    return Launch(**(fields | changes))  # type: ignore[arg-type]


def work_of(program: Program, **launch: object) -> Work:
    """Make a work of one program."""
    return Work((flow_of(program, **launch),))


def _cases() -> list[object]:
    return [pytest.param(op, width, id=f"{name}-{width}") for name, op in operations() for width in WIDTHS]


@pytest.mark.parametrize(("operation", "width"), _cases())
def test_each_operation_in_each_width_and_form_compiles_and_spills_nothing(
    operation: Operation, width: str
) -> None:
    flow = flow_of(program_of((Wait("free", "free"), operation), width))
    source = kernel_source(flow)
    for defines in ((), ("VERIFY_DATA",)):
        cubin = compile_source(source, defines)
        assert (cubin.stack, cubin.spill_stores, cubin.spill_loads) == (0, 0, 0), cubin.log
        assert cubin.registers > 0


@pytest.mark.skipif(find_nvdisasm() is None, reason="nvidia-cuda-nvdisasm is not installed")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("form", ["self", "multicast", "by_rank"])
def test_a_lowered_loop_touches_no_local_memory_and_divides_nothing(form: str, width: str) -> None:
    mask = {"self": None, "multicast": 3, "by_rank": BY_RANK}[form]
    wrapped = Affine(64, cluster=192, rank=64, loops={"i": 320, "j": 64}, wrap=448)
    load = TmaLoad(
        "map3", (wrapped, Affine(loops={"j": 1}), 0), "tile", "full", Affine(loops={"j": 256}), mask
    )
    body = (
        Wait("free", "free"),
        ExpectTx("full", 4096),
        For(4, (load,), name="j"),
        Wait("full"),
        Arrive("free", 3),
    )
    listing = disassemble(compile_source(kernel_source(flow_of(program_of(body, width, stages=3)))).code)
    assert listing.local_memory() == []
    assert listing.divisions_in_loops() == []
    assert len(listing.loops) >= 2
    assert any(text.startswith("UTMALDG.3D") or " UTMALDG.3D" in text for text in listing.instructions)
