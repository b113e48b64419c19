"""Sums up where the time of tiles went, and gives their table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hoppersim.engine.tiles import STAGES
from hoppersim.result.schema import SmTiles, Stage, TileFigures, TileTimes

if TYPE_CHECKING:
    from hoppersim.engine.tiles import Tiles

Table = NDArray[np.void]

WHERE = {
    "issue": "in the instruction that issues it",
    "engine": "in its SM's engine",
    "way": "on the ways through the crossbar",
    "lrc": "in the LRC",
    "l2": "in the L2",
    "hbm": "waiting for HBM",
    "port": "in front of the GPC's port",
    "lane": "in the lane of its CPC",
    "smem": "at the entrance of its SM",
    "barrier": "for the rest of its barrier's phase",
    "ready": "ready, before anybody asks for it",
    "wake": "in the wake-up of its waiter",
}
"""Where a tile is in a stage, in words."""
WHERE_COPY = WHERE | {"way": "on the way to its peer", "port": "in front of the ports to the peers"}
"""The same for copies between SMs."""
MOST_NAMED = 3
ALWAYS_NAMED = ("hbm", "lrc")
"""Stages that are named wherever they take `NOTABLE` of the time."""
NOTABLE = 0.05


def summarise(tiles: Tiles) -> TileFigures | None:
    """Sum up the tiles that a run followed and somebody waited for; None if there are none."""
    table = tiles.table()
    table = table[table["waited"]]
    if not len(table):
        return None
    groups = np.unique(table[["flow", "kind", "name"]])
    return TileFigures(
        every=max(tiles.strides.values()),
        all=_times(table, -1, "all", ""),
        by_traffic=tuple(
            _times(table[table[["flow", "kind", "name"]] == group], *group.item()) for group in groups
        ),
        by_sm=tuple(_of_sm(table[table["sm"] == sm], int(sm)) for sm in np.unique(table["sm"])),
    )


def total_cycles(table: Table) -> NDArray[np.float64]:
    """Give the whole time of each tile [cycle]."""
    total = np.zeros(len(table))
    for stage in STAGES:
        total += table[stage]
    return total


def tile_rows(tiles: Tiles) -> list[dict[str, Any]]:
    """Give a row for each tile that was followed, at each destination; times in SM cycles."""
    table = tiles.table()
    facts = ("tile", "flow", "cluster", "rank", "sm", "kind", "name", "waited")
    columns: dict[str, list[Any]] = {name: table[name].tolist() for name in facts}
    columns |= {f"{name}_cycles": table[name].tolist() for name in ("start", *STAGES)}
    columns["total_cycles"] = total_cycles(table).tolist()
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _times(table: Table, flow: int, kind: str, name: str) -> TileTimes:
    stages = [_stage(stage, table[stage]) for stage in STAGES if table[stage].any()]
    total = _stage("total", total_cycles(table))
    return TileTimes(flow=flow, kind=kind, name=name, tiles=len(table), total=total, stages=tuple(stages))


def _stage(name: str, cycles: NDArray[np.float64]) -> Stage:
    p50, p90 = np.quantile(cycles, (0.5, 0.9)).tolist()
    return Stage(name=name, mean=float(cycles.mean()), p50=p50, p90=p90)


def _of_sm(table: Table, sm: int) -> SmTiles:
    stages = {stage: float(table[stage].mean()) for stage in STAGES if table[stage].any()}
    return SmTiles(sm=sm, tiles=len(table), mean=float(total_cycles(table).mean()), stages=stages)


def describe_tiles(times: TileTimes) -> str:
    """Say in one line what a tile's time adds up from; stages under a hundredth come together as `rest`."""
    shown = _shown(times)
    parts = [f"{item.mean:,.0f} {item.name}" for item in shown]
    rest = times.total.mean - sum(item.mean for item in shown)
    parts += [f"{rest:,.0f} rest"] if rest >= 1 else []
    return f"{times.total.mean:,.0f} cycles = {' + '.join(parts)}"


def explain_stages(several: Sequence[TileTimes]) -> str:
    """Say what the stages mean that `describe_tiles` names."""
    named = {item.name for times in several for item in _shown(times)}
    return "; ".join(f"{name}: {where}" for name, where in WHERE.items() if name in named)


def explain_tiles(tiles: TileFigures) -> list[str]:
    """Say in a sentence for each kind of traffic where its tiles spend most of their time."""
    several = len(tiles.by_traffic) > 1
    return [_sentence(times, several=several) for times in tiles.by_traffic]


def _sentence(times: TileTimes, *, several: bool) -> str:
    where = WHERE_COPY if times.kind == "copy" else WHERE
    ranked = _largest_first(times)
    shown = [
        item
        for place, item in enumerate(ranked)
        if place < MOST_NAMED or (item.name in ALWAYS_NAMED and item.mean >= NOTABLE * times.total.mean)
    ]
    spent = [f"{item.mean:,.0f} {where[item.name]}" for item in shown]
    listed = f"{', '.join(spent[:-1])} and {spent[-1]}" if len(spent) > 1 else spent[0]
    of_what = f" of {times.name} ({times.kind})" if several else ""
    whole = f"{times.total.mean:,.0f} cycles"
    return f"A tile{of_what} takes {whole} from its instruction until its waiter goes on: {listed}."


def _shown(times: TileTimes) -> list[Stage]:
    return [item for item in _largest_first(times) if item.mean >= times.total.mean / 100]


def _largest_first(times: TileTimes) -> list[Stage]:
    return sorted(times.stages, key=lambda item: -item.mean)
