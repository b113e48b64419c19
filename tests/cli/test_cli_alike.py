"""Multicasts to nobody else, to half a TPC and to many SMs are told; only likes are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoppersim.cli.notes import notes_on
from hoppersim.machine import load_machine
from hoppersim.program import Affine, Buffer, For, Launch, Operand, Role, TensorMap, TmaLoad, make_work
from hoppersim.program.cases import Case, build_case
from hoppersim.program.work import Allocation

TEXT = "multicast to its own SM only"


@pytest.mark.parametrize(("cluster", "told"), [(1, True), (2, False)])
def test_a_multicast_to_its_own_sm_only_is_told(cli, cluster: int, told: bool) -> None:
    done = cli("run", "multicast", "--preset", "tiny", "-c", str(cluster), "--box", "8x128", "-n", "4")
    assert (TEXT in " ".join((done.out + done.err).split())) is told


@pytest.mark.parametrize(
    ("mask", "told"),
    [
        (Affine(by_rank=(1, 2)), True),
        (Affine(by_rank=(1, 2), loops={"k": 1}), False),
        (Affine(by_rank=(1, 2), cluster=1), False),
    ],
)
def test_a_mask_that_reaches_others_in_a_later_trip_or_cluster_is_not_told(mask: Operand, told: bool) -> None:
    load = TmaLoad("rows", (0, 0), "tile", "full", mask=mask)
    work = make_work(
        "masks",
        roles=(Role("all", (For(2, (load,), name="k"),)),),
        buffers=(Buffer("tile", 8 * 128),),
        maps=(TensorMap("rows", "data", dims=(64, 8), box=(64, 8)),),
        launch=Launch(allocations=(Allocation("data", 8 * 128),), grid=2, cluster=(2, 1, 1)),
    )
    assert any(TEXT in line for line in notes_on(load_machine("tiny"), work)) is told


@pytest.mark.parametrize(("cluster", "told"), [(2, False), (3, True), (4, False)])
def test_a_multicast_that_cuts_a_tpc_in_half_is_told(cluster: int, told: bool) -> None:
    work = build_case(Case("multicast", cluster, rows=8, iterations=2))
    assert any("one SM of a TPC" in line for line in notes_on(load_machine("tiny"), work)) is told


@pytest.mark.parametrize(
    ("cluster", "settings", "told"),
    [(16, (), True), (16, ("xbar.wide_slowed=1",), False), (12, (), False), (14, (), True)],
)
def test_a_multicast_to_many_sms_says_in_which_state_of_the_gpu(
    cluster: int, settings: tuple[str, ...], told: bool
) -> None:
    work = build_case(Case("multicast", cluster, rows=16, iterations=2))
    notes = notes_on(load_machine("h200_sxm", settings), work)
    assert any("a GPU that has just started" in line for line in notes) is told


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("columns", [1, 2])
def test_the_gemm_template_shares_by_multicast_only_what_several_ctas_read(
    cli, tmp_path: Path, rows: int, columns: int
) -> None:
    flow = tmp_path / "gemm.toml"
    sizes = ("--with", f"cluster_rows={rows}", "--with", f"cluster_columns={columns}", "--with", "k=256")
    cli("new", str(flow), "--template", "gemm", *sizes)
    assert flow.read_text(encoding="utf-8").count("mask =") == (rows > 1) + (columns > 1)
    done = cli("check", str(flow))
    assert done.code == 0
    assert TEXT not in done.out + done.err


def test_a_flow_is_not_compared_with_a_mode(cli, tmp_path: Path) -> None:
    flow = tmp_path / "flow.toml"
    cli("new", str(flow))
    for pair in ((str(flow), "unicast"), ("unicast", str(flow))):
        done = cli("run", pair[0], "--against", pair[1], "--preset", "tiny")
        assert done.code == 2
        assert "--against" in done.err
        assert "a mode runs loads of its own" in " ".join(done.err.split())
