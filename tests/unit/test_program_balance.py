"""Sums over loops tell whether barriers expect the bytes that they get."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoppersim.program import (
    Affine,
    Barrier,
    Buffer,
    ExpectTx,
    For,
    Launch,
    Role,
    TensorMap,
    TmaLoad,
    make_work,
)
from hoppersim.program.balance import bytes_balance
from hoppersim.program.builders import BUILDERS
from hoppersim.program.case_spec import MODES
from hoppersim.program.cases import Case, build_case
from hoppersim.program.files import load_work

LITMUS = Path(__file__).parents[1] / "litmus"


@pytest.mark.parametrize("name", BUILDERS)
def test_builders_balance(name: str) -> None:
    assert bytes_balance(BUILDERS[name]())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cluster", [1, 2, 4])
def test_cases_balance(mode, cluster: int) -> None:
    assert bytes_balance(build_case(Case(mode, cluster=cluster, boxes=2)))


@pytest.mark.parametrize(
    ("name", "balanced"),
    [
        ("l01_half_the_bytes", False),
        ("l02_twice_the_bytes", False),
        ("l04_peer_unarmed", False),
        ("l03_no_arrival", True),
        ("l11_bytes_before_expect", True),
        ("l15_mask_without_issuer", True),
    ],
)
def test_litmus_flows_with_wrong_totals_are_found(name: str, balanced: bool) -> None:
    assert bytes_balance(load_work(LITMUS / f"{name}.toml")) is balanced


def test_bytes_and_masks_by_rank_are_added_up_by_rank() -> None:
    work = make_work(
        "by_rank",
        (
            Role(
                "r",
                (
                    For(4, (ExpectTx("full", Affine(by_rank=(0, 2048))),)),
                    For(2, (For(2, (TmaLoad("m", (0, 0), "tile", "full", mask=2),)),)),
                ),
            ),
        ),
        buffers=(Buffer("tile", 1024),),
        barriers=(Barrier("full", 1),),
        maps=(TensorMap("m", "data", (64, 8), (64, 8)),),
        launch=Launch(grid=2, cluster=(2, 1, 1)),
    )
    assert bytes_balance(work)
