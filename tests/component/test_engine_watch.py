"""The watch finds races with both owners, never changes a time, and is silent on correct programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoppersim.engine.findings import HALF_FILLED, OVERWRITTEN, TITLES, UNSEEN, Findings, explain_finding
from hoppersim.engine.simulate import simulate_raw
from hoppersim.engine.watch import Watch
from hoppersim.machine import Machine
from hoppersim.program import (
    Affine,
    Arrive,
    Barrier,
    Buffer,
    Compute,
    ExpectTx,
    For,
    Launch,
    LocalRead,
    RemoteStore,
    Role,
    Sync,
    TensorMap,
    TmaLoad,
    Wait,
    Work,
    make_work,
)  # fmt: skip
from hoppersim.program.builders import article_multicast, article_unicast, dsmem_pull, dsmem_push, gemm_2x2
from hoppersim.program.case_spec import MODES
from hoppersim.program.cases import Case, build_case
from hoppersim.program.files import load_work

LITMUS = Path(__file__).parents[1] / "litmus"
TILE = 2048


def ring_case(mode, cluster: int, stages: int) -> Work:
    return build_case(
        Case(
            mode, cluster=cluster, rows=16, stages=stages, iterations=2 * stages + 1, consumer="warps",
            consumer_warps=2, reads=2, compute=40, grid=4, shared_bytes=0,
        )
    )  # fmt: skip


def assert_silent(machine: Machine, work: Work) -> None:
    watched = simulate_raw(machine, work, "reference", watch="all")
    plain = simulate_raw(machine, work, "reference", watch=False)
    assert watched.findings == ()
    assert not watched.hung
    assert (watched.ctas, watched.ticks) == (plain.ctas, plain.ticks)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cluster", [1, 2, 4])
@pytest.mark.parametrize("stages", range(1, 9))
def test_no_case_raises_a_false_alarm(tiny, mode, cluster: int, stages: int) -> None:
    assert_silent(tiny, ring_case(mode, cluster, stages))


@pytest.mark.parametrize(
    "work",
    [
        *(dsmem_push(2, TILE, stages, 2 * stages + 1, grid=4) for stages in range(1, 9)),
        *(dsmem_pull(cluster, TILE, 3, 4, grid=4) for cluster in (1, 2, 4)),
        *(article_unicast(pattern, 4, 2) for pattern in ("hot", "stream")),
        *(article_multicast(pattern, 4, 2) for pattern in ("hot", "stream")),
        *(gemm_2x2(4, stages, 20) for stages in (1, 3)),
    ],
    ids=lambda work: work.flows[0].program.name,
)  # fmt: skip
def test_no_builder_raises_a_false_alarm(tiny, work: Work) -> None:
    assert_silent(tiny, work)


def pipeline(*, released: bool, reads: bool) -> Work:
    """Two tiles through one stage; unless `released`, the leader does not wait for the consumer."""
    rows = Affine(loops={"tile": 16}, wrap=64)
    guard = (Wait("free", "free"),) if released else (Wait("full", "free"),)
    fill = (*guard, ExpectTx("full", TILE), TmaLoad("m", (0, rows), "tile", "full"))
    use = (LocalRead("tile", 60),) if reads else (Compute(3000),)
    return make_work(
        "pipeline",
        (
            Role("leader", (For(2, fill, name="tile"),)),
            Role("consumer", (For(2, (Wait("full"), *use, Arrive("free")), name="tile"),), 1, "warp"),
        ),
        buffers=(Buffer("tile", TILE),),
        barriers=(Barrier("full", 1), Barrier("free", 1)),
        maps=(TensorMap("m", "data", (64, 64), (64, 16)),),
        launch=Launch(grid=1),
    )


@pytest.mark.parametrize("reads", [True, False])
def test_a_stage_that_is_refilled_while_it_is_in_use_is_a_race_with_both_owners(tiny, reads: bool) -> None:
    assert simulate_raw(tiny, pipeline(released=True, reads=reads), "reference").findings == ()
    findings = simulate_raw(tiny, pipeline(released=False, reads=reads), "reference").findings
    finding = next(item for item in findings if item.code == OVERWRITTEN)
    assert (finding.buffer, finding.stage) == ("tile", 0)
    assert (finding.first.role, finding.first.operation, finding.first.iteration) == (
        "leader", "tma_load", (("tile", 1),)
    )  # fmt: skip
    assert finding.second is not None
    assert (finding.second.role, finding.second.iteration) == ("consumer", (("tile", 0),))
    assert ("full", 0, 1) in finding.second.phases
    assert "wait for an arrival of this reader" in finding.remedy


def test_bytes_that_come_before_they_are_expected_are_no_race(tiny) -> None:
    output = simulate_raw(tiny, load_work(LITMUS / "l11_bytes_before_expect.toml"), "reference", watch="all")
    assert (output.hung, output.findings) == (False, ())


def test_a_phase_that_nobody_waits_for_is_found_when_the_next_one_replaces_its_data(tiny) -> None:
    load = (ExpectTx("full", TILE), TmaLoad("m", (0, 0), "tile", "full"), Compute(4000))
    work = make_work(
        "unseen",
        (Role("leader", (For(3, load),)),),
        buffers=(Buffer("tile", TILE),),
        barriers=(Barrier("full", 1),),
        maps=(TensorMap("m", "data", (64, 16), (64, 16)),),
        launch=Launch(grid=1),
    )
    codes = [finding.code for finding in simulate_raw(tiny, work, "reference").findings]
    assert codes == [UNSEEN]


def test_a_remote_store_into_a_tile_that_is_read_is_found(tiny) -> None:
    work = make_work(
        "store",
        (
            Role("writer", (Compute(500), RemoteStore("tile", 1, TILE), Sync("cluster")), 1, "warps", (0,)),
            Role("reader", (LocalRead("tile", 200), Sync("cluster")), 1, "warps", (1,)),
        ),
        buffers=(Buffer("tile", TILE),),
        launch=Launch(grid=2, cluster=(2, 1, 1)),
    )
    findings = simulate_raw(tiny, work, "reference").findings
    assert [(item.code, item.first.role, item.second and item.second.role) for item in findings] == [
        (HALF_FILLED, "writer", "reader")
    ]


def test_equal_races_of_many_ctas_are_one_finding(tiny) -> None:
    work = load_work(LITMUS / "l01_half_once.toml")
    assert [item.count for item in simulate_raw(tiny, work, "reference", granular=True).findings] == [4]


@pytest.mark.parametrize("code", TITLES)
def test_every_code_has_a_page(code: str) -> None:
    assert code in explain_finding(code)
    assert "Fix: " in explain_finding(code)


def test_the_watch_can_be_switched_off(tiny) -> None:
    work = load_work(LITMUS / "l10_refill_while_peer_reads.toml")
    assert simulate_raw(tiny, work, "reference", watch=False).findings == ()


def test_the_bytes_of_a_box_are_counted_in_one_piece_unless_pieces_are_asked_for(tiny) -> None:
    half = load_work(LITMUS / "l01_half_once.toml")
    assert simulate_raw(tiny, half, "reference").hung
    assert not simulate_raw(tiny, half, "reference", granular=True).hung, "the count passes zero in a box"
    fine = ring_case("multicast", 2, 2)
    ticks = {simulate_raw(tiny, fine, "reference", granular=granular).ticks for granular in (False, True)}
    assert len(ticks) == 1


def test_a_few_clusters_stand_for_all_unless_all_are_asked_for() -> None:
    flow = load_work(LITMUS / "l10_refill_while_peer_reads.toml").flows[0]
    watch = Watch(Findings())
    watch.plan(0, flow, 66)
    assert [cluster for cluster in range(66) if watch.follows(0, cluster)] == list(range(0, 66, 9))
    whole = Watch(Findings(), whole=True)
    whole.plan(0, flow, 66)
    assert all(whole.follows(0, cluster) for cluster in range(66))
