"""Structure experiments: what limits where; docs/hypotheses.md has the hypotheses that each separates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hoppersim.program.cases import Case, Mode, build_case
from hoppersim.program.work import SmSet
from hw_validate.bundle import Point
from hw_validate.lower import Options
from hw_validate.plans.parts import MIB

FOOTPRINTS = (4, 8, 12, 16, 20, 24, 28, 30, 32, 36, 40, 44, 48, 52, 56, 60, 64, 80, 96, 128)
"""Working sets [MiB]; the L2 has 60 MB."""
FAN_OUT_MODES: tuple[Mode, ...] = ("multicast", "unicast", "multicast_slices")


def point(
    case: Case, experiment: str, idle: str = "gone", repeats: int = 5, verify: bool = False, **tags: Any
) -> Point:
    """Make a point of a case that says which experiment it belongs to."""
    fields = {"case": {name: getattr(case, name) for name in case.__struct_fields__ if name != "sms"}}
    fields["case"]["sms"] = {
        "gpcs": list(case.sms.gpcs),
        "per_gpc": case.sms.per_gpc,
        "spread": case.sms.spread,
    }
    return Point(
        build_case(case), f"{experiment}_{case.label}", repeats, verify, options=Options(idle=idle),  # type: ignore[arg-type]
        tags={"experiment": experiment, "idle": idle, **fields, **tags},
    )  # fmt: skip


def points() -> list[Point]:
    """List the points of all structure experiments."""
    return [*_neighbours(), *_gpc_ports(), *_chip(), *_footprints(), *_branch()]


def _neighbours() -> Iterator[Point]:
    """Which GPC a lone TPC shares a port with: a full group streams, together with the TPC."""
    for group in range(8):
        for lone in range(8, 14):
            sms = SmSet(gpcs=(group, lone))
            case = Case("unicast_distinct", rows=256, stages=6, iterations=96, pattern="sweep", sms=sms,
                        footprint=16 * MIB)  # fmt: skip
            yield point(case, "neighbours", repeats=3, group=group, lone=lone)


def _gpc_ports() -> Iterator[Point]:
    """One GPC alone, with more and more of its SMs: port of the GPC, of a CPC, of a TPC, of an SM."""
    for group in (0, 1, 4):
        for spread in (False, True):
            for count in (1, 2, 3, 4, 6, 8, 10, 12, 14, 16):
                sms = SmSet(gpcs=(group,), per_gpc=count, spread=spread)
                case = Case("unicast_distinct", rows=256, stages=6, iterations=128, pattern="sweep", sms=sms,
                            footprint=16 * MIB)  # fmt: skip
                yield point(case, "gpc_port", group=group)


def _chip() -> Iterator[Point]:
    """More and more SMs of every GPC: where the L2 becomes the limit."""
    for count in (1, 2, 4, 6, 8, 10, 12, 16):
        for pattern in ("sweep", "hot"):
            sms = SmSet(gpcs=tuple(range(8)), per_gpc=count)
            case = Case("unicast_distinct", rows=256, stages=6, iterations=128, pattern=pattern, sms=sms,
                        footprint=24 * MIB if pattern == "sweep" else 0)  # fmt: skip
            yield point(case, "chip")


def _footprints() -> Iterator[Point]:
    """Working sets from a few tiles to twice the L2: hot spots, copies on both sides, capacity."""
    for size in FOOTPRINTS:
        case = Case("unicast_distinct", rows=256, stages=6, iterations=max(128, 8 * size), pattern="sweep",
                    footprint=size * MIB)  # fmt: skip
        yield point(case, "footprint", counted=True)
    for stages in (1, 2, 3, 4, 6):
        for pattern in ("sweep", "hot"):
            case = Case("unicast_distinct", rows=256, stages=stages, iterations=128, pattern=pattern,
                        footprint=24 * MIB if pattern == "sweep" else 0)  # fmt: skip
            yield point(case, "stages")


def _branch() -> Iterator[Point]:
    """Where multicast and merged reads split: one GPC, one tile, by both ways; then clusters on the chip."""
    for group in (0, 1, 4):
        for mode, cluster in (("unicast", 16), ("multicast", 16), ("multicast_slices", 16), ("unicast", 8),
                              ("multicast", 8), ("unicast", 4), ("multicast", 4), ("unicast", 2),
                              ("multicast", 2)):  # fmt: skip
            if group == 0 and cluster == 16:
                continue
            case = Case(mode, cluster, rows=256, stages=6, iterations=128, pattern="sweep",  # type: ignore[arg-type]
                        footprint=16 * MIB, sms=SmSet(gpcs=(group,)))  # fmt: skip
            yield point(case, "branch", group=group)
    for pattern in ("sweep", "hot", "one"):
        for mode in ("unicast", "multicast", "multicast_slices"):
            for cluster in (1, 2, 4, 8, 16):
                case = Case(mode, cluster, rows=256, stages=6, iterations=128, pattern=pattern,  # type: ignore[arg-type]
                            footprint=24 * MIB if pattern == "sweep" else 0)  # fmt: skip
                yield point(case, "chip_branch")


def fan_out_points() -> list[Point]:
    """List one tile for a cluster on 4 to 16 SMs of one GPC, to see whether it hands out at its own rate."""
    return [
        _fan_out(mode, cluster, count, rows, stages)
        for mode in FAN_OUT_MODES
        for cluster in (2, 4, 8)
        for count in (4, 8, 12, 16)
        for rows, stages in ((256, 6), (128, 4))
        if count % cluster == 0
    ]


def _fan_out(mode: Mode, cluster: int, count: int, rows: int, stages: int) -> Point:
    sms = SmSet(gpcs=(1,), per_gpc=count)
    case = Case(
        mode, cluster, rows=rows, stages=stages, iterations=128, pattern="sweep", footprint=16 * MIB, sms=sms
    )
    return point(case, "fan_out_gpc", count=count)
