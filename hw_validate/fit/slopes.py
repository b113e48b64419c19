"""Costs of operations in closed form: the slope of a loop's time over copies of an operation in it.

A few copies hide under the wait beside them, so the slope between the two largest numbers of copies counts.
Its interval is what the repeats leave open, or half of what the forms of one cost differ by, if that is more.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hoppersim.dataset import Point
from hoppersim.machine.machine import Machine
from hoppersim.pool import machine_for
from hw_validate.fit.outcome import Context, Estimate, Outcome
from hw_validate.fit.training import Where, runs_of

PROBES: tuple[Where, ...] = ({"kind": ("slope", "fabric_slope", "meeting")}, {"experiment": "slope"})
"""Points of plans ``costs``, ``fabric_costs`` and ``stores``."""
KEYS = {
    "wait.try.hit": ("wait.{width}.try.hit",),
    "wait.test.hit": ("wait.{width}.test.hit",),
    "expect_tx.arrive": ("expect_tx.{width}.local.issue",),
    "expect_tx.remote": ("expect_tx.{width}.remote.issue",),
    "sync.warp": ("sync.warp.acq_rel.issue", "sync.warp.relaxed.issue"),
    "sync.cta": ("sync.cta.acq_rel.issue", "sync.cta.relaxed.issue"),
    **{
        f"arrive.{place}.{release}": (f"arrive.{{width}}.{place}.{release}.issue",)
        for place in ("local", "remote")
        for release in ("cta", "cluster", "relaxed")
    },
    **{
        f"fence.{kind}": (f"fence.{kind}.issue",)
        for kind in ("mbarrier_init", "proxy_async", "acq_rel_cta", "acq_rel_cluster")
    },
}
KEYS |= {
    "stamp": ("stamp.issue",),
    "store": ("tma_store.{width}.issue",),
    "wait": ("store_wait.{width}.issue",),
    "sync role": ("sync.role.acq_rel.issue", "sync.role.relaxed.issue"),
    **{
        f"{name} {width}": (f"{name}.{{width}}.issue",)
        for name in ("bulk_copy", "remote_st", "st_async")
        for width in (4, 16)
    },
}
"""Cost keys of an operation as the plans name it; one access of a thread where its width is named."""
WIDTHS = ("lane", "warp", "warps")
CLUSTER_SYNCS = {
    "sync.cluster.acq_rel": "sync.cluster.acq_rel",
    "sync.cluster.relaxed": "sync.cluster.relaxed",
    "sync cluster": "sync.cluster.acq_rel",
    "sync cluster relaxed": "sync.cluster.relaxed",
}
"""Stem of the cost keys of a cluster sync, which takes longer the more warps meet."""
NOTES = (
    "copies of a load hide under the wait beside them: what a load costs is in the loop's cost",
    "an expect_tx that does not arrive takes no time of its own; its cost is that of one that arrives",
)


class Slope(NamedTuple):
    """Cycles that one more copy takes, what the repeats leave open, and warps that take part."""

    cycles: float
    open: float
    warps: int


@dataclass(frozen=True)
class Slopes:
    """The step that finds costs of operations."""

    name: str = "operations"
    about: str = "issue costs, waits that pass, syncs and fences, by slopes over copies in a loop"

    def paths(self, machine: Machine) -> tuple[str, ...]:
        """List the machine's parameters that the step finds."""
        keys = {key.format(width=width) for forms in KEYS.values() for key in forms for width in WIDTHS}
        keys |= {f"{stem}.{part}" for stem in CLUSTER_SYNCS.values() for part in ("issue", "per_warp")}
        return tuple(f"costs.{key}" for key in sorted(keys) if f"costs.{key}" in machine.provenance)

    def run(self, context: Context) -> Outcome:
        """Work the costs out; nothing is simulated."""
        points = [point for where in PROBES for point in context.training.select(where)]
        found: dict[str, list[Slope]] = defaultdict(list)
        for operation, width, slope in _slopes(points):
            for key in KEYS.get(operation, ()):
                found[key.format(width=width)].append(slope)
        estimates = [_estimate(context, key, _joined(slopes)) for key, slopes in sorted(found.items())]
        estimates += list(_syncs(context, points))
        known = machine_for(context.request).provenance
        return Outcome(
            self.name,
            tuple(item for item in estimates if item.paths[0] in known),
            runs_of(points),
            tuple(point.label for point in points),
            notes=NOTES,
        )


def _slopes(points: Iterable[Point]) -> Iterator[tuple[str, str, Slope]]:
    """Give the slope of each operation and form between its two largest numbers of copies."""
    forms: dict[tuple[str, str, int], list[Point]] = defaultdict(list)
    for point in points:
        tags = point.tags
        forms[tags["operation"], tags.get("width", "warps"), tags.get("warps", 1)].append(point)
    for (operation, width, warps), members in sorted(forms.items()):
        *fewer, many = sorted(members, key=lambda point: point.tags["copies"])
        fewer = [point for point in fewer if point.tags["copies"] < many.tags["copies"]]
        if not fewer:
            continue
        few = fewer[-1]
        assert few.cycles is not None
        assert many.cycles is not None
        copies = (many.tags["copies"] - few.tags["copies"]) * many.tags["trips"]
        unsure = sum((point.spread or 0.0) * (point.cycles or 0.0) for point in (few, many)) / 2
        yield operation, width, Slope((many.cycles - few.cycles) / copies, unsure / copies, warps)


def _joined(slopes: list[Slope]) -> tuple[float, float]:
    """Give the middle of the forms of a cost, and how far it may be off."""
    values = [slope.cycles for slope in slopes]
    apart = (max(values) - min(values)) / 2
    return statistics.median(values), max(apart, *(slope.open for slope in slopes))


def _syncs(context: Context, points: Iterable[Point]) -> Iterator[Estimate]:
    """Split a cluster sync into what it takes by itself and for each warp, by one and by several warps."""
    found: dict[str, dict[int, list[Slope]]] = defaultdict(lambda: defaultdict(list))
    for operation, _, slope in _slopes(points):
        if operation in CLUSTER_SYNCS:
            found[CLUSTER_SYNCS[operation]][slope.warps].append(slope)
    for key, by_warps in sorted(found.items()):
        if len(by_warps) < 2:
            continue
        warps = sorted(by_warps)
        cycles, unsure = zip(*(_joined(by_warps[count]) for count in warps), strict=True)
        each, alone = np.polyfit(warps, cycles, 1)
        off = max(*unsure, *np.abs(np.polyval((each, alone), warps) - cycles))
        yield _estimate(context, f"{key}.per_warp", (float(each), 2 * off / (warps[-1] - warps[0])))
        yield _estimate(context, f"{key}.issue", (float(alone), 2 * off))


def _estimate(context: Context, key: str, found: tuple[float, float]) -> Estimate:
    path = f"costs.{key}"
    entry = machine_for(context.request).provenance.get(path)
    before = float(entry.value) if entry is not None else 0.0
    value, half_width = found
    return Estimate(path, (path,), max(0.0, round(value, 2)), before, half_width, "cycle")
