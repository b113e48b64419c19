"""A hang report names barrier, CTA, bytes and arrivals, who could still act, and the smallest change."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from hoppersim.engine.simulate import simulate_raw
from hoppersim.machine import Machine
from hoppersim.plots.hang import draw_hang
from hoppersim.program import Arrive, Barrier, ExpectTx, For, Launch, Role, Sync, Wait, Work, make_work
from hoppersim.program.cases import Case, build_case
from hoppersim.program.files import load_work
from hoppersim.result.export import to_json
from hoppersim.result.hang import HangReport, report_hang
from hoppersim.result.hang_text import missing, ranges

LITMUS = Path(__file__).parents[1] / "litmus"


def explain(machine: Machine, work: Work) -> HangReport:
    output = simulate_raw(machine, work, "reference")
    assert output.hung
    return report_hang(machine, work, output)


def litmus(machine: Machine, name: str) -> HangReport:
    return explain(machine, load_work(LITMUS / f"{name}.toml"))


@pytest.mark.parametrize(
    ("name", "place", "lacking", "fix"),
    [
        ("l02_twice_the_bytes", "full[0] of rank 0", "8192 bytes", "expect 8192 bytes fewer"),
        ("l03_no_arrival", "full[0] of rank 1", "1 of 1 arrivals", "rank 1 leader arrive too"),
        ("l04_peer_unarmed", "full[0] of rank 1", "8192 bytes", 'ExpectTx("full", 8192) on rank 1'),
        ("l08_unequal_trips", "free[0] of rank 0", "1 of 2 arrivals", "count of free from 2 to 1"),
        ("l11_two_phases_ahead", "full[0] of rank 1", "8192 bytes", "expect 8192 bytes more"),
    ],
)
def test_a_dead_end_is_named_with_what_is_missing_and_the_fix(tiny, name, place, lacking, fix) -> None:
    group = litmus(tiny, name).groups[0]
    assert group.kind == "dead end"
    found = {f"{cause.barrier}[{cause.stage}] of rank {cause.rank}": cause for cause in group.causes}
    assert lacking in found[place].missing
    assert fix in found[place].fix


def test_a_role_that_has_ended_is_named_as_the_one_that_should_have_arrived(tiny) -> None:
    assert "role early_consumer of rank 1, which has ended" in litmus(tiny, "l08_unequal_trips").text()


def test_a_waiter_says_phase_parity_iteration_and_who_could_act(tiny) -> None:
    waiters = {
        (waiter.rank, waiter.role): waiter for waiter in litmus(tiny, "l08_unequal_trips").groups[0].waiters
    }
    leader, consumer = waiters[0, "leader"], waiters[0, "consumer"]
    assert (leader.barrier, leader.stage, leader.parity, leader.phase) == ("free", 0, 0, 2)
    assert leader.iteration == {"tile": 6}
    assert (leader.pending, leader.count) == (1, 2)
    assert [(share.who, share.arrivals) for share in leader.shares] == [("rank 0 consumer", 1)]
    assert leader.could_act == ()
    assert consumer.could_act == ("role leader of rank 0, which waits for free[0] of rank 0",)


def test_bytes_are_told_apart_by_their_issuer(tiny) -> None:
    shares = litmus(tiny, "l04_peer_unarmed").groups[0].waiters[-1].shares
    assert [(share.who, share.delivered, share.announced) for share in shares] == [("rank 0 leader", 8192, 0)]


def test_roles_that_wait_for_each_other_are_a_cycle(tiny) -> None:
    first = For(2, (Wait("a"), Arrive("b")), name="step")
    second = For(2, (Wait("b"), Arrive("a")), name="step")
    work = make_work(
        "embrace",
        (Role("first", (first,)), Role("second", (second,))),
        barriers=(Barrier("a", 1), Barrier("b", 1)),
        launch=Launch(grid=1),
    )
    group = explain(tiny, work).groups[0]
    assert (group.kind, group.causes) == ("cycle", ())
    assert set(group.cycle) == {
        "role first of rank 0", "a[0] of rank 0", "role second of rank 0", "b[0] of rank 0"
    }  # fmt: skip


def test_a_role_that_waits_for_itself_is_a_cycle(tiny) -> None:
    work = make_work(
        "alone", (Role("r", (Wait("a"), Arrive("a"))),), barriers=(Barrier("a", 1),), launch=Launch(grid=1)
    )
    assert explain(tiny, work).groups[0].cycle == ("role r of rank 0", "a[0] of rank 0")


def test_a_wait_for_a_phase_that_never_comes_suggests_the_other_parity(tiny) -> None:
    body = (Arrive("a"), Wait("a", 0), Wait("a", 1))
    work = make_work("parity", (Role("r", body),), barriers=(Barrier("a", 1),), launch=Launch(grid=1))
    assert "wait for parity 0, whose phase 0 is complete" in explain(tiny, work).groups[0].causes[0].fix


def test_a_sync_that_a_blocked_role_never_reaches_is_downstream_of_its_barrier(tiny) -> None:
    roles = (
        Role("late", (Wait("a"), Sync("cta")), width="warp"),
        Role("early", (Sync("cta"),), width="warp"),
    )
    work = make_work("sync", roles, barriers=(Barrier("a", 1),), launch=Launch(grid=1))
    group = explain(tiny, work).groups[0]
    assert [(cause.barrier, cause.rank) for cause in group.causes] == [("a", 0)]
    assert "waits for the others at a cta sync; could act: role late of rank 0" in explain(tiny, work).text()


def test_clusters_that_are_stuck_alike_are_one_group(tiny) -> None:
    work = build_case(Case("multicast", cluster=2, stages=2, iterations=4, grid=8))
    flow = work.flows[0]
    roles = tuple(role for role in flow.program.roles if role.name != "arm")
    program = msgspec.structs.replace(flow.program, roles=roles)
    report = explain(tiny, Work((msgspec.structs.replace(flow, program=program),)))
    assert [group.clusters for group in report.groups] == [(0, 1, 2, 3)]
    assert report.lines()[0].startswith("clusters 0 to 3: dead end at full[0] of rank 1")
    assert len(report.lines()) <= 8


def test_a_report_survives_json(tiny) -> None:
    report = litmus(tiny, "l04_peer_unarmed")
    text = to_json(report)
    assert json.loads(text)["schema"] == "hoppersim.hang/1"
    assert msgspec.json.decode(text, type=HangReport) == report


def test_the_wait_for_graph_is_drawn_as_png_and_svg(tiny, tmp_path: Path) -> None:
    written = draw_hang(litmus(tiny, "l08_unequal_trips"), tmp_path / "hang.png")
    assert sorted(path.suffix for path in written) == [".png", ".svg"]
    svg = next(path for path in written if path.suffix == ".svg").read_text(encoding="utf-8")
    assert "free[0] of rank 0" in svg
    assert "nobody can supply" in svg


def test_an_expectation_without_its_load_is_a_dead_end_for_bytes(tiny) -> None:
    work = make_work(
        "no_load",
        (Role("r", (ExpectTx("a", 64), Wait("a"))),),
        barriers=(Barrier("a", 1),),
        launch=Launch(grid=1),
    )
    cause = explain(tiny, work).groups[0].causes[0]
    assert (cause.missing, cause.fix.partition(" on ")[0]) == ("64 bytes", "expect 64 bytes fewer")


@pytest.mark.parametrize(
    ("numbers", "text"), [([3], "rank 3"), ([1, 0], "ranks 0 to 1"), ([0, 1, 2, 7, 9], "ranks 0 to 2, 7, 9")]
)
def test_numbers_are_written_as_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers, "rank") == text


def test_what_is_missing_tells_early_from_late_bytes() -> None:
    assert missing(0, 1, 64) == "64 bytes"
    assert missing(1, 2, -64) == "1 of 2 arrivals and an expect_tx of the 64 bytes that came unannounced"
