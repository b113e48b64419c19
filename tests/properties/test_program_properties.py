from __future__ import annotations

import string
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hoppersim.program import (
    Affine,
    Allocation,
    Arrive,
    Barrier,
    Buffer,
    BulkCopy,
    Compute,
    Exit,
    ExpectTx,
    Fence,
    Flow,
    For,
    Launch,
    LocalRead,
    Program,
    RemoteLoad,
    RemoteStore,
    Role,
    SmSet,
    Stamp,
    StAsync,
    StoreWait,
    Sync,
    TensorMap,
    TmaLoad,
    TmaStore,
    Wait,
    Work,
)
from hoppersim.program.boxes import box_lines
from hoppersim.program.canonical import work_hash
from hoppersim.program.files import format_file, parse_work
from hoppersim.program.operands import evaluate
from hoppersim.program.text import format_work
from hoppersim.program.tiles import box_tiles, loop_steps, operand_values

names = st.text(string.ascii_letters + '_-." \\\t\n\x7f=é', min_size=1, max_size=6)
small = st.integers(-(2**31), 2**31)
affines = st.builds(
    Affine,
    small,
    small,
    small,
    st.lists(small, max_size=3).map(tuple),
    st.dictionaries(names, small, max_size=2),
    small,
)
operands = st.one_of(small, affines)
widths = st.sampled_from([4, 8, 16])
coordinates = st.lists(operands, max_size=5).map(tuple)
releases = st.sampled_from(["cta", "cluster", "relaxed"])
scopes = st.sampled_from(["warp", "role", "cta", "cluster"])
widths_of_roles = st.sampled_from(["lane", "warp", "warps"])
maybe = st.none() | operands

simple = st.one_of(
    st.builds(Wait, names, st.sampled_from(["full", "free"]) | operands, st.sampled_from(["try", "test"])),
    st.builds(Arrive, names, maybe, releases),
    st.builds(ExpectTx, names, operands, maybe, st.booleans(), releases),
    st.builds(TmaLoad, names, coordinates, names, names, operands, maybe),
    st.builds(TmaStore, names, coordinates, names, operands),
    st.builds(StoreWait, small, st.booleans()),
    st.builds(BulkCopy, names, names, small, operands, names, operands, operands),
    st.builds(RemoteLoad, names, operands, small, widths, small),
    st.builds(RemoteStore, names, operands, small, widths, small),
    st.builds(StAsync, names, operands, small, names, widths),
    st.builds(LocalRead, names, small, widths),
    st.builds(Compute, operands),
    st.builds(
        Sync, st.sampled_from(["warp", "role", "cta", "cluster"]), st.sampled_from(["acq_rel", "relaxed"])
    ),
    st.builds(Fence, st.sampled_from(["mbarrier_init", "proxy_async", "acq_rel_cta"])),
    st.builds(Stamp, names),
    st.builds(Exit),
)
operations = st.recursive(
    simple,
    lambda inner: st.builds(For, small, st.lists(inner, max_size=3).map(tuple), small, names),
    max_leaves=6,
)
counts = st.lists(small, min_size=1, max_size=5).map(tuple)
roles = st.builds(
    Role,
    names,
    st.lists(operations, max_size=4).map(tuple),
    small,
    st.sampled_from(["lane", "warp", "warps"]),
    counts,
)
programs = st.builds(
    Program,
    names,
    st.lists(roles, max_size=2).map(tuple),
    st.lists(st.builds(Buffer, names, small, small), max_size=2).map(tuple),
    st.lists(st.builds(Barrier, names, small, small), max_size=2).map(tuple),
    st.lists(st.builds(TensorMap, names, names, counts, counts), max_size=2).map(tuple),
    st.lists(st.sampled_from(["init", "drain", "exit_sync"]), max_size=2).map(tuple),
)
launches = st.builds(
    Launch,
    st.lists(st.builds(Allocation, names, small, small), max_size=2).map(tuple),
    small | st.just("fill"),
    st.tuples(small, small, small),
    st.builds(SmSet, st.lists(small, max_size=3).map(tuple), small, st.booleans()),
    operands,
    small,
    small,
)
flows = st.lists(st.builds(Flow, programs, launches), min_size=1, max_size=2)
works = flows.map(lambda flows: Work(tuple(flows)))


@settings(max_examples=150, deadline=None)
@given(works, st.sampled_from([".toml", ".json"]))
def test_any_work_survives_its_file_unchanged(work: Work, suffix: str) -> None:
    read = parse_work(format_file(work, suffix), suffix)
    assert read == work
    assert work_hash(read) == work_hash(work)


@settings(max_examples=50, deadline=None)
@given(works)
def test_any_work_has_a_hash(work: Work) -> None:
    assert len(work_hash(work)) == 64


@settings(max_examples=100, deadline=None)
@given(simple)
def test_any_operation_prints_on_its_own(operation: object) -> None:
    work = Work((Flow(Program("p", (Role("r", (operation,)),)), Launch()),))  # type: ignore[arg-type]
    assert format_work(work)


trips = st.integers(1, 5)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[TensorMap, tuple[int, ...]]:
    rank = draw(st.integers(1, 4))
    sizes = st.lists(st.integers(1, 6), min_size=rank, max_size=rank).map(tuple)
    steps = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank).map(tuple))
    tensor = TensorMap("m", "data", draw(sizes), draw(sizes), 2, element_strides=steps)
    return tensor, draw(st.lists(st.integers(-8, 8), min_size=rank, max_size=rank).map(tuple))


def brute_force(tensor: TensorMap, start: tuple[int, ...], base: int) -> set[int]:
    """List the bytes of a box element by element."""
    steps = (1, *tensor.element_strides[1:])
    touched = set()
    for index in product(*(range(count) for count in tensor.box_elements)):
        place = [first + step * i for first, step, i in zip(start, steps, index, strict=True)]
        if all(0 <= at < extent for at, extent in zip(place, tensor.dims, strict=True)):
            address = base + sum(at * stride for at, stride in zip(place, tensor.byte_strides, strict=True))
            touched |= {address, address + 1}
    return touched


@settings(max_examples=300, deadline=None)
@given(boxes())
def test_a_box_touches_exactly_the_elements_inside_the_tensor(box: tuple[TensorMap, tuple[int, ...]]) -> None:
    tensor, start = box
    lines = box_lines(tensor, 64, start)
    touched = {
        lines.address + sum(i * stride for i, stride in zip(index, lines.strides, strict=True)) + byte
        for index in product(*(range(count) for count in lines.counts))
        for byte in range(lines.row_bytes)
    }
    assert touched == brute_force(tensor, start, 64)
    assert len(touched) + lines.oob_bytes == tensor.box_bytes
    many = box_tiles(tensor, 64, [np.array([at]) for at in start])
    assert many.bytes[0] == len(touched)
    if touched:
        assert many.address[0] == lines.address


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 7),
    st.integers(0, 7),
    st.integers(-9, 9),
    st.integers(0, 9),
)
def test_the_steps_of_loops_are_those_of_running_them(
    first: int, second: int, step: int, other: int, base: int, wrap: int
) -> None:
    operand = Affine(base, cluster=3, rank=5, loops={"i": step, "j": other}, wrap=wrap)
    loops = (For(first, (), name="i"), For(second, (), name="j"))
    steps = loop_steps((operand,), loops)
    values = operand_values(operand, steps.columns[0], 2, 1)
    expanded = sorted(np.repeat(values, steps.counts).tolist())
    assert expanded == sorted(
        evaluate(operand, 2, 1, {"i": i, "j": j}) for i in range(first) for j in range(second)
    )
