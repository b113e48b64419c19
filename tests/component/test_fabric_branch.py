"""Where a response to several SMs branches: behind the port of its GPC or in front of it, in both fabrics."""

from __future__ import annotations

import pytest

from hoppersim.engine.interface import LOAD, MULTICAST, Destination, LogEntry, Transfer
from hoppersim.engine.simulate import make_fabric
from hoppersim.machine.bounds import TrafficRow, bound
from hoppersim.machine.loading import load_machine
from hoppersim.machine.machine import Machine
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.result.api import simulate
from hoppersim.units import TICKS_PER_CYCLE

ALLOCATION = 1 << 21
LINES = 16
BYTES = LINES * 128
PORT_RATE = 16


def machine(behind_port: int) -> Machine:
    """Give a machine whose GPC ports are slower than all else, so that crossings show in time."""
    return load_machine(
        "tiny", (f"xbar.branch_behind_port={behind_port}", f"xbar.gpc_bytes_per_cycle={PORT_RATE}")
    )


def run(fabric: str, behind_port: int, transfers: list[Transfer]) -> tuple[list[LogEntry], int]:
    """Let transfers of warm lines end; give the log and the bytes through the ports of the GPCs."""
    carrier = make_fabric(machine(behind_port), fabric)
    carrier.warm(ALLOCATION // 128, ALLOCATION // 128 + LINES)
    carrier.inject(transfers)
    log: list[LogEntry] = []
    while not carrier.idle:
        log += carrier.advance(carrier.frontier + 100_000)
    return log, int(carrier.counters()["gpc.bytes_in"].sum())


def gpc_sms(count: int) -> tuple[int, ...]:
    """Give some SMs of one GPC."""
    return tuple(load_machine("tiny").floorplan.gpcs[0].sms[:count])


def multicast(count: int) -> list[Transfer]:
    """Give one multicast of 2 KB to some SMs of a GPC."""
    reach = tuple(Destination(sm, sm) for sm in gpc_sms(count))
    return [
        Transfer(
            0, MULTICAST, reach[0].sm, 0, reach, ALLOCATION, 128, (LINES, 1, 1, 1), (128, 0, 0, 0), BYTES
        )
    ]


def reads(count: int) -> list[Transfer]:
    """Give reads of the same 2 KB by some SMs of a GPC at once, which the coalescer merges."""
    return [
        Transfer(
            0, LOAD, sm, sm, (Destination(sm, sm),), ALLOCATION, 128, (LINES, 1, 1, 1), (128, 0, 0, 0), BYTES
        )
        for sm in gpc_sms(count)
    ]


@pytest.mark.parametrize("fabric", ["compiled", "reference"])
@pytest.mark.parametrize("traffic", [multicast, reads])
def test_a_response_passes_the_port_once_behind_which_it_branches(fabric, traffic) -> None:
    _, once = run(fabric, 1, traffic(2))
    _, each = run(fabric, 0, traffic(2))
    assert (once, each) == (BYTES, 2 * BYTES)


@pytest.mark.parametrize("fabric", ["compiled", "reference"])
def test_copies_made_before_a_slow_port_take_it_longer(fabric: str) -> None:
    last = {
        (behind, count): max(entry.tick for entry in run(fabric, behind, multicast(count))[0])
        for behind in (0, 1)
        for count in (1, 2)
    }
    assert last[0, 1] == last[1, 1]
    assert last[1, 2] == pytest.approx(last[1, 1], rel=0.05)  # the second SM lies elsewhere
    assert last[0, 2] - last[1, 2] == BYTES / PORT_RATE * TICKS_PER_CYCLE


def test_both_fabrics_agree_wherever_the_branch_lies() -> None:
    for behind in (0, 1):
        for traffic in (multicast(2), reads(2)):
            compiled, reference = (run(name, behind, traffic) for name in ("compiled", "reference"))
            assert sorted(compiled[0]) == sorted(reference[0])
            assert compiled[1] == reference[1]


def test_the_bound_counts_what_passes_the_port() -> None:
    sms = gpc_sms(2)
    row = TrafficRow("l2", sms[0], sms, BYTES)
    alike = [TrafficRow("l2", sm, (sm,), BYTES, shared="tile") for sm in sms]
    for rows in ([row], alike):
        loads = [
            next(load.load for load in bound(machine(behind), rows).loads if load.link == "gpc0.in")
            for behind in (1, 0)
        ]
        assert loads == [BYTES, 2 * BYTES]


@pytest.mark.parametrize("mode", ["multicast", "multicast_slices", "unicast"])
def test_whole_runs_conserve_their_bytes_with_the_branch_in_front(mode: str) -> None:
    result = simulate(machine(0), build_case(Case(mode, cluster=2, rows=16, iterations=4)))
    assert not result.hung
    assert sum(gpc.port_bytes for gpc in result.per_gpc) == result.delivered_bytes
