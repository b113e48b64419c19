"""The check of received data against a plain walk over the bytes."""

from __future__ import annotations

import numpy as np
import pytest
from test_hw_programs import flow_of

from hoppersim.program.cases import Case, build_case
from hoppersim.program.operations import Affine, BulkCopy, ExpectTx, For, RemoteStore, TmaLoad, Wait
from hoppersim.program.work import Barrier, Buffer, Program, Role, TensorMap
from hw_validate.expected import expected_checks
from hw_validate.pattern import mix, smem_words, weights


def plain_mix(k: int) -> int:
    """Compute one word as the kernels do, with Python's integers."""
    k = k * 0x9E3779B1 & 0xFFFFFFFF
    k = (k ^ k >> 15) * 0x2C1B3C6D & 0xFFFFFFFF
    return k ^ k >> 13


def plain_check(words: list[int]) -> int:
    """Weigh the words of a stage as the kernels do."""
    return sum(w * (plain_mix(k + 0x7F4A7C15 & 0xFFFFFFFF) | 1) & 0xFFFFFFFF for k, w in enumerate(words))


def test_words_and_weights_are_those_of_the_kernels() -> None:
    assert mix(np.arange(50, dtype=np.uint32)).tolist() == [plain_mix(k) for k in range(50)]
    assert weights(4).tolist() == [plain_mix(k + 0x7F4A7C15) | 1 for k in range(4)]


@pytest.mark.parametrize("mode", ["unicast", "unicast_distinct", "multicast", "multicast_slices"])
def test_every_mode_is_followed_tile_by_tile(mode: str) -> None:
    case = Case(mode, cluster=2, rows=4, row_bytes=64, boxes=2, stages=2, iterations=5, pattern="sweep",
                footprint=64 * 512)  # type: ignore[arg-type]  # fmt: skip
    flow = build_case(case).flows[0]
    found = expected_checks(flow, 3)
    assert found["why"] == ""
    load = next(
        op for role in flow.program.roles for loop in role.body for op in loop.body if hasattr(op, "map")
    )
    row = load.coordinates[1]
    for cluster in range(3):
        for rank in range(2):
            total = 0
            for tile in range(5):
                start = row.base + row.cluster * cluster + row.loops["tile"] * tile
                start += row.rank * rank if mode == "unicast_distinct" else 0
                first = start % row.wrap * 16
                total = (total * 31 + plain_check([plain_mix(first + k) for k in range(128)])) % 2**64
            assert found["roles"]["consumer"][cluster][rank] == total


def test_bytes_that_no_box_covers_hold_the_poison() -> None:
    loads = For(1, (ExpectTx("full", 64), TmaLoad("map", (0,), "tile", "full", 64), Wait("full")))
    program = Program(
        "p",
        roles=(Role("r", (loads,)),),
        buffers=(Buffer("tile", 256),),
        barriers=(Barrier("full", 1),),
        maps=(TensorMap("map", "data", (64,), (16,), 4),),
    )
    words = [0xDEADBEEF] * 16 + [plain_mix(k) for k in range(16)] + [0xDEADBEEF] * 32
    assert expected_checks(flow_of(program), 1)["roles"]["r"] == [[plain_check(words)] * 2]


def test_a_swizzled_row_is_found_where_the_hardware_puts_it() -> None:
    spec = TensorMap("map", "data", (64, 16), (64, 16), swizzle=128)
    words = smem_words(spec, 0)
    assert sorted(words.tolist()) == list(range(512))
    assert words[32 : 32 + 8].tolist() == [36, 37, 38, 39, 32, 33, 34, 35]


def test_what_cannot_be_followed_says_why() -> None:
    loads = (TmaLoad("map", (Affine(cluster=60),), "tile", "full"), Wait("full"))
    program = Program(
        "p",
        roles=(Role("r", loads),),
        buffers=(Buffer("tile", 64),),
        barriers=(Barrier("full", 1),),
        maps=(TensorMap("map", "data", (64,), (16,), 4),),
    )
    assert "out of bounds" in expected_checks(flow_of(program), 2)["why"]
    stored = Program("p", roles=(Role("r", (RemoteStore("tile", 1, 64),)),), buffers=(Buffer("tile", 64),))
    assert "RemoteStore" in expected_checks(flow_of(stored), 1)["why"]


def test_a_bulk_copy_brings_the_tile_that_its_source_holds() -> None:
    load = (ExpectTx("own", 64), TmaLoad("map", (Affine(loops={"i": 16}),), "tile", "own"), Wait("own"))
    push = (*load, BulkCopy("tile", "inbox", 64, 1, "inbox", destination_offset=64))
    program = Program(
        "push",
        roles=(
            Role("owner", (For(2, push, 1, "i"),), ranks=(0,)),
            Role("peer", (For(2, (ExpectTx("inbox", 64), Wait("inbox")), 1, "i"),), ranks=(1,)),
        ),
        buffers=(Buffer("tile", 64), Buffer("inbox", 128)),
        barriers=(Barrier("own", 1), Barrier("inbox", 1)),
        maps=(TensorMap("map", "data", (64,), (16,), 4),),
    )
    total = 0
    for tile in range(2):
        words = [0xDEADBEEF] * 16 + [plain_mix(16 * tile + k) for k in range(16)]
        total = (total * 31 + plain_check(words)) % 2**64
    assert expected_checks(flow_of(program), 1)["roles"]["peer"] == [[None, total]]
