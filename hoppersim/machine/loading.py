"""From a preset file, a user's changes and a floorplan to a checked `Machine`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from hoppersim.errors import InputError
from hoppersim.machine.entries import Entries, read_entries
from hoppersim.machine.floorplan import Floorplan, floorplan_from_data, load_floorplan
from hoppersim.machine.inheritance import PRESETS, read_preset, read_toml
from hoppersim.machine.machine import Machine
from hoppersim.machine.overrides import apply_overrides
from hoppersim.machine.provenance import Origin
from hoppersim.machine.rules import COSTS, require_known, sections
from hoppersim.machine.specification import MOST_KEPT, Specification
from hoppersim.machine.tables import HBM_DRAWS, TABLES, Table, read_table

REFERENCE = "h200_sxm"
"""The preset whose cost keys every other one must define."""


def load_machine(
    preset: str | Path = REFERENCE,
    overrides: str | Iterable[str] = (),
    floorplan: str | Path | Floorplan | None = None,
) -> Machine:
    """Load a machine.

    Parameters
    ----------
    preset
        Name of a preset of the package, or path of a TOML file of the same shape; a file may name another
        as its ``base`` and state only what differs (see `hoppersim.machine.inheritance`).
    overrides
        One change or several as ``path=value``, each value in the unit of its field; their origin becomes
        ``assumed: set by the user``. A size in bytes may have a suffix, a table is set to the path of a
        CSV file or to ``zero``.
    floorplan
        Floorplan, or path of its file, to use in place of the preset's.

    Returns
    -------
    Machine
        The checked machine.

    Raises
    ------
    InputError
        Naming the full path of what is wrong, the rule and the nearest legal value.
    """
    file, data = read_preset(preset)
    folders = (file.parent, PRESETS)
    entries = read_entries(data, reference_costs())
    tables = _table_entries(data)
    apply_overrides(entries, tables, (overrides,) if isinstance(overrides, str) else overrides)
    plan = _load_plan(floorplan, data, folders)
    spec = _specification(data, entries)
    _check_whole(spec, plan)
    provenance = dict(entries)
    provenance["floorplan"] = Origin(plan.name, "file", plan.origin)
    shapes = {
        "l2_latency": (plan.sm_count, spec.l2.slices),
        "pair_latency": (plan.sm_count, plan.sm_count),
        "hbm_latency": (1, HBM_DRAWS),
    }
    read: dict[str, Table] = {}
    for name in TABLES:
        read[name], provenance[f"tables.{name}"] = read_table(name, tables.get(name), folders, shapes[name])
    return Machine(spec, plan, **read, provenance=provenance)


@cache
def reference_costs() -> frozenset[str]:
    """Give the cost keys that a preset must define: those of the reference preset."""
    entries = read_entries(read_toml(PRESETS / f"{REFERENCE}.toml"), None)
    return frozenset(path.removeprefix(f"{COSTS}.") for path in entries if path.startswith(f"{COSTS}."))


def _table_entries(data: dict[str, Any]) -> dict[str, Any]:
    tables = data.get("tables")
    if not isinstance(tables, dict):
        raise InputError("tables", tables, f"must define {', '.join(TABLES)}")
    for name in tables:
        require_known(f"tables.{name}", name, TABLES, "table")
    return dict(tables)


def _load_plan(
    chosen: str | Path | Floorplan | None, data: dict[str, Any], folders: tuple[Path, ...]
) -> Floorplan:
    if isinstance(chosen, Floorplan):
        return chosen
    if chosen is not None:
        return load_floorplan(Path(chosen))
    stated = data.get("floorplan")
    if isinstance(stated, dict):
        return floorplan_from_data(stated)
    if not isinstance(stated, str):
        raise InputError("floorplan", stated, "must name a floorplan file or hold a floorplan")
    found = [folder / stated for folder in folders if (folder / stated).is_file()]
    return load_floorplan(found[0] if found else folders[0] / stated)


def _specification(data: dict[str, Any], entries: Entries) -> Specification:
    values: dict[str, dict[str, int | float | str]] = {name: {} for name in (*sections(), COSTS)}
    for path, entry in entries.items():
        section, _, field = path.partition(".")
        values[section][field] = entry.value
    built: dict[str, Any] = {name: section(**values[name]) for name, section in sections().items()}
    return Specification(name=data["name"], costs=dict(sorted(values[COSTS].items())), **built)  # type: ignore[arg-type]


def _check_whole(spec: Specification, plan: Floorplan) -> None:
    """Check what no single number can break."""
    l2, launch = spec.l2, spec.launch
    if l2.slices % l2.partitions:
        nearest = max(l2.partitions, round(l2.slices / l2.partitions) * l2.partitions)
        raise InputError("l2.slices", l2.slices, "must be a multiple of l2.partitions", nearest)
    coalescers = l2.slices * len(plan.gpcs)
    if coalescers * spec.lrc.held > MOST_KEPT:
        each = f"{l2.slices} slices keep so many for each of {len(plan.gpcs)} GPCs"
        most = max(1, MOST_KEPT // coalescers)
        raise InputError("lrc.held", spec.lrc.held, f"{each}, at most {MOST_KEPT} in all", most)
    room = launch.shared_bytes_per_sm - launch.shared_reserved
    if room < 1:
        rule = "must hold launch.shared_bytes_per_cta and launch.shared_reserved"
        nearest = launch.shared_bytes_per_cta + launch.shared_reserved
        raise InputError("launch.shared_bytes_per_sm", launch.shared_bytes_per_sm, rule, nearest)
    limits: tuple[tuple[str, float, float, str], ...] = (
        ("l2.access_latency", l2.access_latency, l2.latency, "l2.latency, of which it is a part"),
        ("launch.cluster_portable", launch.cluster_portable, launch.cluster_max, "launch.cluster_max"),
        ("launch.threads_per_cta", launch.threads_per_cta, launch.threads_per_sm, "launch.threads_per_sm"),
        (
            "launch.shared_bytes_per_cta",
            launch.shared_bytes_per_cta,
            room,
            "what launch.shared_reserved leaves",
        ),
    )
    for path, value, limit, name in limits:
        if value > limit:
            raise InputError(path, value, f"must not exceed {name}", limit)
    for number, gpc in enumerate(plan.gpcs):
        if not 0 <= gpc.partition < l2.partitions:
            nearest = min(max(gpc.partition, 0), l2.partitions - 1)
            rule = f"must be one of the {l2.partitions} partitions of the L2, counted from 0"
            raise InputError(f"floorplan.gpc[{number}].partition", gpc.partition, rule, nearest)
