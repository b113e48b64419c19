"""Published figures of H100 and H800 come out of presets that no measurement of those parts went into.

Each point names its source: HPMLL (raw logs of github.com/HPMLL/NVIDIA-Hopper-Benchmark, H800 PCIe), Luo
(arXiv 2402.13499 and 2501.12084, H800 PCIe), flash-vla (github.com/revollllt/flash-vla, H100 SXM5), CREDIT
(arXiv 2609.01864, H100 SXM5). What cannot be reproduced, and why, stands in docs/hardware.md.
"""

from __future__ import annotations

from statistics import median

import pytest
from deviations import deviates
from loops import one_box_at_a_time, stamped_times

from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.machine.placement import resident
from hoppersim.program import (
    Affine,
    Allocation,
    Barrier,
    Buffer,
    ExpectTx,
    Flow,
    For,
    Launch,
    Operation,
    Program,
    RemoteLoad,
    RemoteStore,
    Role,
    Stamp,
    TensorMap,
    TmaLoad,
    Wait,
    Work,
)
from hoppersim.program.case_spec import ALONE_ON_SM
from hoppersim.program.cases import Case, build_case
from hoppersim.result.api import simulate

WITHIN = 0.10
GIB = 2**30


@pytest.fixture(scope="module")
def pcie() -> Machine:
    return load_machine("h100_pcie")


@pytest.fixture(scope="module")
def sxm() -> Machine:
    return load_machine("h100_sxm")


def _one_after_the_other(machine: Machine, per_sm: int, rows: int, trips: int) -> Work:
    """Let one thread of every CTA load a box of its own from a cold L2 and wait for it, again and again."""
    launch = machine.spec.launch
    share = launch.shared_bytes_per_sm // per_sm - 2 * launch.shared_reserved
    place = Affine(cluster=rows * trips, loops={"i": rows})
    body = (ExpectTx("full", rows * 128), TmaLoad("tiles", (0, place), "tile", "full"), Wait("full"))
    size = machine.sm_count * per_sm * trips * rows
    program = Program(
        "one after the other",
        (Role("role", (For(trips, body, 1, "i"),)),),
        (Buffer("tile", rows * 128), Buffer("as many on an SM", (share - rows * 128) // 1024 * 1024)),
        (Barrier("full", 1),),
        (TensorMap("tiles", "data", (64, size), (64, rows)),),
    )
    return Work((Flow(program, Launch((Allocation("data", size * 128),), warm=0)),))


UNEVEN = "channels that are drawn unevenly lose more than on silicon"


@pytest.mark.parametrize(
    ("kilobytes", "per_sm", "gib_per_second"),
    [
        deviates("D16", UNEVEN, 1, 1, 222.8),
        deviates("D16", UNEVEN, 1, 2, 437.2),
        (2, 1, 422.3),
        (4, 1, 759.4),
        (8, 1, 1229),
        deviates("D16", UNEVEN, 8, 2, 1728.9),
        deviates("D16", UNEVEN, 16, 1, 1707.7),
    ],
)
def test_bulk_copies_from_memory_run_at_the_published_rate(
    pcie: Machine, kilobytes: int, per_sm: int, gib_per_second: float
) -> None:
    """HPMLL, 4 GB stream, one thread for each CTA, one copy in flight; here boxes of 128 B rows."""
    trips = min(32, 128 // kilobytes)
    result = simulate(pcie, _one_after_the_other(pcie, per_sm, 8 * kilobytes, trips))
    assert result.sms_used == 114
    assert result.delivered_bytes / result.seconds / GIB == pytest.approx(gib_per_second, rel=WITHIN)


@pytest.mark.parametrize(("warm", "low", "high"), [(1, 364, 369), (0, 705, 761)])
def test_a_copy_of_16_bytes_takes_the_published_time(
    pcie: Machine, warm: int, low: float, high: float
) -> None:
    """HPMLL, between two reads of the clock: near hit in the L2, and from memory."""
    times = stamped_times(pcie, one_box_at_a_time(114, 1, 16, 8, warm, 2048))
    assert low * (1 - WITHIN) <= median(times) <= high * (1 + WITHIN)


@pytest.mark.parametrize(
    ("preset", "low", "high"),
    [
        ("pcie", 3942, 4472),
        ("sxm", 4207, 4808),
    ],
)
def test_the_l2_delivers_what_was_published(
    request: pytest.FixtureRequest, preset: str, low: float, high: float
) -> None:
    """Luo: 3,942 and 4,472 B/cycle on the H800; 4,207 and 4,808 on an H100 SXM5 (Johnsonms' reproduction)."""
    case = Case("unicast_distinct", rows=256, iterations=64, pattern="sweep")
    rate = simulate(request.getfixturevalue(preset), build_case(case)).rates.chip
    assert low * (1 - WITHIN) <= rate <= high * (1 + WITHIN)


@pytest.mark.parametrize(("sms", "gb_per_second"), [(4, 836), (8, 1634), (16, 3133)])
def test_a_few_sms_read_the_l2_at_the_published_rate(sxm: Machine, sms: int, gb_per_second: float) -> None:
    """flash-vla: 56 KB in flight on each of a few SMs."""
    case = Case("unicast_distinct", rows=112, iterations=128, pattern="sweep", grid=sms)
    result = simulate(sxm, build_case(case))
    assert result.delivered_bytes / result.seconds / 1e9 == pytest.approx(gb_per_second, rel=WITHIN)


@pytest.mark.parametrize(("kilobytes", "gb_per_second"), [(8, 2676), (16, 2801), (32, 2943)])
def test_four_boxes_in_flight_read_memory_at_the_published_rate(
    sxm: Machine, kilobytes: int, gb_per_second: float
) -> None:
    """flash-vla: 132 CTAs, depth 4; below 6 KB its own loop is what is measured."""
    case = Case(
        "unicast_distinct",
        rows=8 * kilobytes,
        iterations=max(16, 160 // kilobytes),
        pattern="sweep",
        memory="hbm",
    )
    result = simulate(sxm, build_case(case))
    assert result.delivered_bytes / result.seconds / 1e9 == pytest.approx(gb_per_second, rel=WITHIN)


def test_a_kilobyte_more_takes_4_8_nanoseconds_more(sxm: Machine) -> None:
    """flash-vla: slope of one box's latency over its size, L2 hits."""
    small, large = (median(stamped_times(sxm, one_box_at_a_time(132, rows, boxes=2))) for rows in (8, 128))
    slope = (large - small) / sxm.spec.clocks.sm_ghz / 15
    assert slope == pytest.approx(4.8, rel=WITHIN)


def _remote(operation: Operation, cluster: int, warps: int, loops: int, ranks: tuple[int, ...] = ()) -> Work:
    width = "lane" if warps == 1 else "warps"
    body: tuple[Operation, ...] = (operation,)
    if warps == 1:
        body = (Stamp("before"), operation, Stamp("after"))
    role = Role("role", (For(loops, body, name="i"),), warps, width, ranks)  # type: ignore[arg-type]
    program = Program("remote", (role,), (Buffer("tile", 16384), Buffer("alone on its SM", ALONE_ON_SM)))
    return Work((Flow(program, Launch((), cluster=(cluster, 1, 1))),))


NEXT = {cluster: Affine(base=1, rank=1, wrap=cluster) for cluster in (2, 4, 16)}
CROWDED = "all SMs together load more over the cluster fabric than silicon does"


@pytest.mark.parametrize(("cluster", "cycles"), [(2, 181), (16, 196.4)])
def test_a_remote_load_takes_the_published_time(pcie: Machine, cluster: int, cycles: float) -> None:
    """Luo and HPMLL: mean latency of ld.shared::cluster; ClusterFusion has 190 and 195 on an H100 SXM5."""
    work = _remote(RemoteLoad("tile", NEXT[cluster], 4, 4), cluster, 1, 16)
    times = stamped_times(pcie, work)
    assert median(times) - pcie.cost("stamp.issue") == pytest.approx(cycles, rel=WITHIN)


@pytest.mark.parametrize(("cluster", "terabytes"), [deviates("D18", CROWDED, 2, 3.27), (4, 2.7)])
def test_a_ring_of_remote_loads_runs_at_the_published_rate(
    pcie: Machine, cluster: int, terabytes: float
) -> None:
    """Luo: ring copy, whole GPU."""
    result = simulate(pcie, _remote(RemoteLoad("tile", NEXT[cluster], 16384, 16, 4), cluster, 16, 12))
    assert result.ctas * 12 * 16384 / result.seconds / 1e12 == pytest.approx(terabytes, rel=WITHIN)


def test_one_pair_stores_at_the_published_rate(sxm: Machine) -> None:
    """CREDIT: remote stores of one pair, 21.37 B/cycle."""
    work = _remote(RemoteStore("tile", Affine(by_rank=(1, 0)), 16384, 16, 4), 2, 16, 16, (0,))
    assert 16 * 16384 / simulate(sxm, work).cycles == pytest.approx(21.37, rel=WITHIN)


@pytest.mark.parametrize(("size", "clusters"), [(2, 66), (4, 30), (8, 15)])
def test_as_many_clusters_fit_as_published(sxm: Machine, size: int, clusters: int) -> None:
    """flash-vla: clusters resident at once on an H100 SXM5, one CTA on an SM."""
    assert resident(sxm, size, 200 * 1024, 128).max_active_clusters == clusters
