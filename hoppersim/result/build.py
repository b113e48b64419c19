"""Makes a Result of what the engine hands over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hoppersim.engine.findings import SENT_TO_NOBODY
from hoppersim.program.canonical import work_hash
from hoppersim.program.traffic import count_waves
from hoppersim.result.bound import forecast
from hoppersim.result.conservation import check_bound, check_conservation, check_loads
from hoppersim.result.counters import totals
from hoppersim.result.hang import report_hang
from hoppersim.result.limiter import NOTHING, BusyThread, compute_cycles, find_limiter, link_use
from hoppersim.result.schema import Bounds, GpcFigures, Rates, Result, SmFigures, Speed
from hoppersim.result.tiles import summarise
from hoppersim.units import SECTOR_BYTES, TICKS_PER_CYCLE, to_cycles

if TYPE_CHECKING:
    from hoppersim.engine.output import RunOutput
    from hoppersim.engine.tiles import Tiles
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Work

_DELIVERED = ("sm.bytes_loaded", "sm.bytes_in_dsmem", "sm.bytes_in_remote")


def build_result(
    machine: Machine, work: Work, output: RunOutput, *, alone: bool = True, tiles: Tiles | None = None
) -> Result:
    """Interpret one run.

    Parameters
    ----------
    machine, work, output
        The run.
    alone
        Whether all bytes are the work's own, so that they must be as many as it asks for.
    tiles
        The tiles that were followed.

    Raises
    ------
    InternalError
        If bytes were not conserved, or the run beat its bound.
    """
    cycles, window, late = _times(output)
    waves = count_waves(machine, work)
    run_cycles = window if waves > 1 else cycles
    bounds = None if output.hung else _checked_bounds(machine, work, output, window, alone)
    per_sm = _per_sm(machine, output, waves, window if late else 0.0)
    delivered = sum(figures.bytes for figures in per_sm)
    taken = 0.0 if output.hung else window if late else run_cycles
    links = link_use(output.counters, max(1, round(window * TICKS_PER_CYCLE)))
    return Result(
        machine=machine.name,
        work=" + ".join(flow.program.name for flow in work.flows),
        work_hash=work_hash(work),
        ctas=len(output.ctas),
        cluster=work.flows[0].launch.cluster_size if work.flows else 0,
        sms_used=len(per_sm),
        sms_of_chip=machine.sm_count,
        cycles=cycles,
        seconds=machine.seconds(run_cycles),
        window_cycles=window,
        waves=waves,
        late_cycles=late,
        delivered_bytes=delivered,
        rates=_rates(delivered, taken, len(per_sm), machine.sm_count),
        counters=totals(output.counters),
        links=links,
        limiter=NOTHING if output.hung else find_limiter(links, _busy_thread(work, output, cycles)),
        bounds=bounds,
        speed=_speed(output),
        provisional=machine.provisional_count,
        hung=output.hung,
        hang=(_how_far(output, delivered), *report_hang(machine, work, output).lines())
        if output.hung
        else (),
        hazards=output.hazards,
        per_gpc=_per_gpc(machine, output, window),
        per_sm=per_sm,
        tiles=summarise(tiles) if tiles is not None else None,
    )


def _checked_bounds(
    machine: Machine, work: Work, output: RunOutput, window: float, alone: bool
) -> Bounds | None:
    """Check a completed run against what its traffic says, and give its bound; none if some goes nowhere."""
    check_conservation(output.counters, bool(machine.spec.xbar.branch_behind_port))
    if any(finding.code in SENT_TO_NOBODY for finding in output.findings):
        return None
    loaded, bounds = forecast(machine, work)
    if alone:
        check_loads(output.counters, loaded)
    if bounds is not None:
        check_bound(window, bounds)
    return bounds


def _times(output: RunOutput) -> tuple[float, float, float]:
    """Slowest CTA, the window, and how much of it bytes take that land after the last end [cycle].

    The window goes from the first start until all CTAs have ended and all bytes have landed; a CTA that never
    ended counts to the last progress.
    """
    if not output.ctas:
        return 0.0, 0.0, 0.0
    ends = [cta.end if cta.end >= 0 else output.ticks for cta in output.ctas]
    slowest = max(end - cta.start for cta, end in zip(output.ctas, ends, strict=True))
    late = max(0, output.landed - max(ends))
    window = max(ends) + late - min(cta.start for cta in output.ctas)
    return to_cycles(slowest), to_cycles(window), to_cycles(late)


def _how_far(output: RunOutput, delivered: int) -> str:
    """Say how far a run came that hung."""
    ended = sum(cta.end >= 0 for cta in output.ctas)
    return f"{ended} of {len(output.ctas)} CTAs that started have ended; {delivered:,} bytes have arrived"


def _busy_thread(work: Work, output: RunOutput, cycles: float) -> BusyThread:
    if not cycles:
        return BusyThread()
    computing = compute_cycles(work, output.busiest)
    return BusyThread(output.busiest, to_cycles(output.busy) / cycles, computing / cycles)


def _rates(delivered: int, cycles: float, used: int, sms: int) -> Rates:
    """Give the rates of a run; those of one that took no time, or never ended, are 0."""
    chip = delivered / cycles if cycles else 0.0
    return Rates(chip=chip, used_sm=chip / max(1, used), chip_sm=chip / sms)


def _speed(output: RunOutput) -> Speed:
    wall = max(output.wall_seconds, 1e-9)
    return Speed(
        wall_seconds=output.wall_seconds,
        lines=output.lines,
        lines_per_second=output.lines / wall,
        cycles_per_second=to_cycles(output.ticks) / wall,
    )


def _per_unit(output: RunOutput, name: str, units: int) -> NDArray[np.int64]:
    return output.counters.get(name, np.zeros(units, dtype=np.int64))


def _per_sm(machine: Machine, output: RunOutput, waves: int, late: float) -> tuple[SmFigures, ...]:
    """Give the figures of each SM; `late` is the time of bytes that outlast the CTAs, else 0 [cycle]."""
    delivered = sum(
        (_per_unit(output, name, machine.sm_count) for name in _DELIVERED),
        start=np.zeros(machine.sm_count, dtype=np.int64),
    )
    spans: dict[int, list[tuple[int, int]]] = {}
    for cta in output.ctas:
        spans.setdefault(cta.sm, []).append((cta.start, cta.end if cta.end >= 0 else output.ticks))
    figures = []
    for sm, ctas in sorted(spans.items()):
        longest = to_cycles(max(end - start for start, end in ctas))
        whole = to_cycles(max(end for _, end in ctas) - min(start for start, _ in ctas))
        time, moved = max(late, whole if waves > 1 else longest), int(delivered[sm])
        figures.append(
            SmFigures(
                sm=sm,
                gpc=int(machine.gpc_of[sm]),
                ctas=len(ctas),
                bytes=moved,
                cycles=longest,
                rate=moved / time if time and not output.hung else 0.0,
            )
        )
    return tuple(figures)


def _per_gpc(machine: Machine, output: RunOutput, window: float) -> tuple[GpcFigures, ...]:
    gpcs = machine.gpc_count
    port = _per_unit(output, "gpc.bytes_in", gpcs)
    sectors = _per_unit(output, "gpc.sectors_delivered", gpcs)
    busy = _per_unit(output, "busy.gpc", gpcs)
    used = {cta.sm for cta in output.ctas}
    return tuple(
        GpcFigures(
            gpc=gpc,
            sms=sum(int(machine.gpc_of[sm]) == gpc for sm in used),
            port_bytes=int(port[gpc]),
            delivered_bytes=int(sectors[gpc]) * SECTOR_BYTES,
            port_use=to_cycles(int(busy[gpc])) / window if window else 0.0,
        )
        for gpc in range(gpcs)
    )
