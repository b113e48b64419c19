"""The words of a hang report: short, one line for each kind of wait, CTAs that are alike in ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoppersim.engine.output import BarrierState
    from hoppersim.result.hang import ClusterHang, HangReport, Share, Waiter

MOST_GROUPS = 4
MOST_WAITERS = 8


def node_name(node: tuple[int, str] | tuple[int, str, int]) -> str:
    """Name a role, barrier or sync of a cluster."""
    if len(node) == 2:
        return f"role {node[1]} of rank {node[0]}"
    if node[1].endswith(" sync"):
        return node[1] if node[0] < 0 else f"{node[1]} of rank {node[0]}"
    return f"{node[1]}[{node[2]}] of rank {node[0]}"


def ranges(numbers: Sequence[int], noun: str) -> str:
    """Write numbers as ranges: ``clusters 0 to 3, 7``."""
    ordered = sorted(set(numbers))
    if len(ordered) == 1:
        return f"{noun} {ordered[0]}"
    breaks = [0, *(place + 1 for place, (a, b) in enumerate(pairwise(ordered)) if b != a + 1), len(ordered)]
    parts = [ordered[first:last] for first, last in pairwise(breaks)]
    written = [str(part[0]) if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]
    return f"{noun}s {', '.join(written)}"


def missing(pending: int, count: int, tx: int) -> str:
    """Say what a barrier lacks."""
    needs = []
    if pending:
        needs.append(f"{pending} of {count} arrivals")
    if tx > 0:
        needs.append(f"{tx} bytes")
    elif tx < 0:
        needs.append(f"an expect_tx of the {-tx} bytes that came unannounced")
    return " and ".join(needs) or "nothing"


def seen(shares: Sequence[Share]) -> str:
    """Say what came in the present phase, and from whom."""
    parts = []
    for share in shares:
        if share.arrivals:
            parts.append(f"{share.arrivals} arrival{'s' if share.arrivals > 1 else ''} by {share.who}")
        if share.announced:
            parts.append(f"{share.announced} bytes announced by {share.who}")
        if share.delivered:
            parts.append(f"{share.delivered} bytes delivered by {share.who}")
    return ", ".join(parts) or "nothing"


def fix(
    target: tuple[int, str, int],
    barrier: BarrierState,
    shares: Sequence[Share],
    former: Sequence[str],
    parity: int,
) -> str:
    """Name the smallest change that completes the phase."""
    rank, name, stage = target
    here = f"{name}[{stage}] of rank {rank}"
    announcers = " and ".join(share.who for share in shares if share.announced)
    arrived = sum(share.arrivals for share in shares)
    if barrier.pending == 0 and barrier.tx > 0:
        return f"expect {barrier.tx} bytes fewer on {here} ({announcers}), or deliver {barrier.tx} bytes more"
    if barrier.pending == 0:
        return f"expect {-barrier.tx} bytes more on {here} ({announcers or 'nobody announced them'})"
    if barrier.tx < 0:
        arming = f'ExpectTx("{name}", {-barrier.tx})'
        return f"arm it: {arming} on rank {rank}, by itself or remotely by the issuer"
    if announcers and not arrived:
        return f"let the expect_tx by {announcers} arrive too (arrive = true)"
    return _more_arrivals(target, barrier, arrived, former, parity)


def _more_arrivals(
    target: tuple[int, str, int], barrier: BarrierState, arrived: int, former: Sequence[str], parity: int
) -> str:
    rank, name, stage = target
    noun = "arrivals" if barrier.pending > 1 else "arrival"
    more = f"{barrier.pending} more {noun} on {name}[{stage}] of rank {rank}"
    if former:
        more += f" by {' or '.join(former)}, which has ended"
    ways = [more]
    if arrived:
        ways.append(f"lower the count of {name} from {barrier.expected} to {arrived}")
    if not barrier.log and barrier.phase and parity >= 0:
        ways.append(f"wait for parity {1 - parity}, whose phase {barrier.phase - 1} is complete")
    return ", or ".join(ways)


def report_lines(report: HangReport) -> Iterator[str]:
    """Tell a report in lines."""
    for group in report.groups[:MOST_GROUPS]:
        yield from _group_lines(group, len({group.flow for group in report.groups}) > 1)
    left = report.groups[MOST_GROUPS:]
    if left:
        count = sum(len(group.clusters) for group in left)
        yield f"and {count} clusters more, stuck in {len(left)} other ways"


def _group_lines(group: ClusterHang, name_flow: bool) -> Iterator[str]:
    flow = f"flow {group.flow}, " if name_flow else ""
    where = f"{flow}{ranges(group.clusters, 'cluster')}"
    for cause in group.causes:
        place = node_name((cause.rank, cause.barrier, cause.stage))
        yield f"{where}: dead end at {place}: nobody can supply {cause.missing}"
        yield f"  fix: {cause.fix}"
    if group.cycle:
        yield f"{where}: cycle of waits: {' -> '.join((*group.cycle, group.cycle[0]))}"
        yield "  fix: let one of these roles go first; a wait for `free` passes in the first round"
    merged: dict[str, list[Waiter]] = {}
    for waiter in group.waiters:
        merged.setdefault(_wait(waiter), []).append(waiter)
    for words, waiters in list(merged.items())[:MOST_WAITERS]:
        first = waiters[0]
        ranks = ranges([waiter.rank for waiter in waiters], "rank")
        yield f"  role {first.role} of {ranks} (SM {first.sm}) {words}"
    if len(merged) > MOST_WAITERS:
        yield f"  and {len(merged) - MOST_WAITERS} other waits"


def _wait(waiter: Waiter) -> str:
    """Say what a role waits for, without its rank."""
    loops = ", ".join(f"{name} {trip}" for name, trip in waiter.iteration.items())
    at = f"at {waiter.operation}{f' in iteration {loops}' if loops else ''}"
    act = "; could act: " + ("; ".join(waiter.could_act) or "nobody")
    if waiter.parity < 0 or waiter.phase < 0:
        return f"{at} waits for the others at a {waiter.barrier}{act}"
    needs = missing(waiter.pending, waiter.count, waiter.tx)
    return (
        f"{at} waits for {waiter.barrier}[{waiter.stage}], parity {waiter.parity}: its phase {waiter.phase} "
        f"needs {needs}, and has seen {seen(waiter.shares)}{act}"
    )
