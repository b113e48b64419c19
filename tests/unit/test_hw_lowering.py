"""What the text of a lowered program says."""

from __future__ import annotations

import re

from test_hw_programs import flow_of, program_of

from hoppersim.program.cases import Case, build_case
from hoppersim.program.operations import Affine, Arrive, For, Stamp, Sync, TmaLoad, Wait
from hoppersim.program.work import Barrier, Program, Role, SmSet
from hw_validate.lower import Options, kernel_source, kernel_text, lay_out, wait_sites
from hw_validate.lower.names import identifiers


def loop_lines(text: str) -> list[str]:
    """Give the lines of the first loop of a kernel."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if "for (u32 i0" in line)
    depth = len(lines[start]) - len(lines[start].lstrip())
    end = next(k for k in range(start + 1, len(lines)) if lines[k] == " " * depth + "}")
    return lines[start : end + 1]


def test_a_lane_role_elects_once_before_its_loop() -> None:
    text = kernel_text(flow_of(program_of((Wait("free", "free"), Arrive("full")), "lane")))
    assert text.count("elect()") == 1
    assert not any("elect()" in line for line in loop_lines(text))


def test_a_warp_role_elects_for_each_issue() -> None:
    text = kernel_text(flow_of(program_of((Wait("free", "free"), Arrive("full"), Arrive("free", 1)), "warp")))
    assert sum("elect()" in line for line in loop_lines(text)) == 2


def test_stage_and_parity_advance_by_compare_and_reset() -> None:
    lines = loop_lines(kernel_text(flow_of(program_of((Wait("full"), Wait("free", "free")), stages=3))))
    assert any("if (++stage0 == 3) { stage0 = 0; phase0 ^= 1; }" in line for line in lines)
    assert any("wait_try(smem + FULL_BAR + 8 * stage0, phase0)" in line for line in lines)
    assert any("wait_try(smem + FREE_BAR + 8 * stage0, phase0 ^ 1)" in line for line in lines)


def test_coordinates_advance_by_increments_that_wrap_without_division() -> None:
    column = Affine(cluster=64, loops={"i": 96}, wrap=512)
    text = kernel_text(flow_of(program_of((TmaLoad("map1", (column,), "tile", "full"),))))
    lines = loop_lines(text)
    assert any("v0_0 += 96; if (v0_0 >= 512) v0_0 -= 512;" in line for line in lines)
    assert not any(re.search(r"[%/] ?\d", line) for line in lines)


def test_an_inner_loop_starts_from_the_value_of_the_outer_one() -> None:
    column = Affine(loops={"i": 256, "j": 64}, wrap=4096)
    inner = For(4, (TmaLoad("map1", (column,), "tile", "full"),), name="j")
    text = kernel_text(flow_of(program_of((inner,))))
    assert "int v1_0 = v0_0;" in text
    assert "v1_0 += 64;" in text
    assert "v0_0 += 256;" in text


def test_a_constant_mask_becomes_straight_code_and_a_table_a_loop_over_bits() -> None:
    straight = kernel_text(flow_of(program_of((Arrive("free", 0b11),))))
    assert straight.count("arrive_remote_cta(in_rank(") == 2
    table = kernel_text(flow_of(program_of((Arrive("free", Affine(by_rank=(1, 2))),))))
    assert "mask &= mask - 1" in table
    assert "__constant__ int by_rank0[] = {1, 2};" in table


def test_steps_named_in_without_are_left_out() -> None:
    program = program_of((Wait("free", "free"),))
    fields = {name: getattr(program, name) for name in program.__struct_fields__}
    bare = Program(**(fields | {"without": ("init", "init_fence", "entry_sync", "exit_sync")}))
    text = kernel_text(flow_of(bare))
    assert "barrier_init" not in text
    assert "fence_mbarrier_init" not in text
    assert "cluster_arrive" not in text
    assert kernel_text(flow_of(program)).count("cluster_arrive(), cluster_wait();") == 2


def test_a_rank_without_roles_stays_until_its_peers_are_done() -> None:
    role = Role("only", (Wait("b", 1),), ranks=(0,))
    text = kernel_text(flow_of(Program("p", (role,), barriers=(Barrier("b", 1),))))
    assert "if (0x2u >> rank & 1) {  // no role here, but peers may reach this CTA" in text


def test_idle_lanes_leave_or_park_as_the_options_say() -> None:
    flow = flow_of(program_of((Wait("free", "free"),)))
    assert "if (!(elect())) return;" in kernel_text(flow)
    assert "if (elect()) {" in kernel_text(flow, Options(idle="parked"))


def test_idle_lanes_always_leave_when_roles_meet() -> None:
    flow = flow_of(program_of((Sync("cluster"),)))
    assert "if (!(elect())) return;" in kernel_text(flow, Options(idle="parked"))


def test_skew_comes_before_the_start_stamp() -> None:
    flow = flow_of(program_of((Wait("free", "free"),)), skew=Affine(cluster=100))
    text = kernel_text(flow)
    assert text.index("spin(skew0);") < text.index("Report report = begin();")


def test_a_set_of_sms_lets_clusters_join_by_a_ticket() -> None:
    flow = flow_of(program_of((Wait("free", "free"),)), sms=SmSet(gpcs=(0,)))
    assert "join(p.to, smem +" in kernel_text(flow)
    assert lay_out(flow).shared_bytes > lay_out(flow_of(flow.program)).shared_bytes


def test_sites_are_numbered_in_the_order_of_the_program() -> None:
    flow = build_case(Case("multicast", cluster=2)).flows[0]
    text = kernel_text(flow)
    sites = wait_sites(flow.program)
    assert [int(number) for number in re.findall(r"hung\(report, (\d+)", text)] == list(range(len(sites)))
    assert [(site.role, site.barrier) for site in sites] == [
        ("leader", "free"),
        ("arm", "full"),
        ("consumer", "full"),
    ]


def test_only_the_wrappers_in_use_are_taken() -> None:
    source = kernel_source(flow_of(program_of((Wait("free", "free"),))))
    assert "DEVICE bool try_wait(" in source
    assert "DEVICE bool test_wait(" not in source
    assert "tma_load_2d" not in source


def test_stamps_have_places_of_their_own() -> None:
    flow = flow_of(program_of((Stamp("a"), Stamp("b"))))
    layout = lay_out(flow)
    assert layout.stamp_offset("worker", "b") - layout.stamp_offset("worker", "a") == 65
    assert layout.record_words == layout.stamp_offset("worker", "b") + 65


def test_names_become_distinct_identifiers() -> None:
    assert identifiers(["a b", "a-b", "1"], upper=True) == {"a b": "A_B", "a-b": "A_B_2", "1": "_1"}
