"""Which SM sits in which TPC, CPC and GPC, and on which side of the L2: a file of its own for every part."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from hoppersim.errors import InputError
from hoppersim.machine.provenance import check_origin
from hoppersim.machine.rules import is_name, require_known

MOST_SMS = 1024
"""SMs that no chip exceeds."""

Tpc = tuple[int, ...]
Cpc = tuple[Tpc, ...]


class Gpc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One GPC: its partition of the L2 and its SM ids, by CPC and TPC.

    The TPCs of `pairs_only` share the GPC's port, but the hardware forms no cluster above two CTAs on them.
    """

    partition: int
    cpcs: tuple[Cpc, ...]
    pairs_only: tuple[Tpc, ...] = ()

    @property
    def tpcs(self) -> tuple[Tpc, ...]:
        """TPCs in hardware order, which is that of their SM ids."""
        return tuple(sorted(chain.from_iterable(self.cpcs)))

    @property
    def sms(self) -> tuple[int, ...]:
        """SM ids, TPC by TPC."""
        return tuple(chain.from_iterable(self.tpcs))

    def cluster_sms(self, size: int) -> tuple[int, ...]:
        """SM ids on which clusters of `size` CTAs can be formed, TPC by TPC."""
        lone = set(chain.from_iterable(self.pairs_only)) if size > 2 else set()
        return tuple(sm for sm in self.sms if sm not in lone)


class Floorplan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The GPCs of one part. SM ids run from 0 without gaps."""

    name: str
    origin: str
    gpcs: tuple[Gpc, ...]

    @cached_property
    def sm_count(self) -> int:
        """SMs of the chip."""
        return sum(self.gpc_sizes)

    @cached_property
    def gpc_sizes(self) -> tuple[int, ...]:
        """SMs of each GPC."""
        return tuple(len(gpc.sms) for gpc in self.gpcs)


def load_floorplan(path: Path) -> Floorplan:
    """Read a floorplan file.

    Raises
    ------
    InputError
        If the file cannot be read or describes no chip.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("floorplan", str(path), f"must be a readable TOML file ({error})") from error
    return floorplan_from_data(data)


def floorplan_from_data(data: dict[str, Any]) -> Floorplan:
    """Make a floorplan from plain data in the shape of its file.

    Raises
    ------
    InputError
        If a field is unknown, missing or of the wrong type, or an SM id is missing or used twice.
    """
    for name in data:
        require_known(f"floorplan.{name}", name, ("name", "origin", "gpc"), "field of a floorplan")
    renamed = {"gpcs" if name == "gpc" else name: value for name, value in data.items()}
    try:
        plan = msgspec.convert(renamed, Floorplan)
    except msgspec.ValidationError as error:
        rule = f"must have the floorplan's shape ({error})"
        raise InputError("floorplan", data.get("name", "?"), rule) from error
    check_origin("floorplan", plan.origin)
    if not is_name(plan.name):
        raise InputError("floorplan.name", plan.name, "must be the floorplan's name as text", "my_part")
    _check_ids(plan)
    return plan


def floorplan_to_data(plan: Floorplan) -> dict[str, Any]:
    """Give a floorplan as plain data in the shape of its file."""
    gpcs = [
        {"partition": gpc.partition, "cpcs": msgspec.to_builtins(gpc.cpcs)}
        | ({"pairs_only": msgspec.to_builtins(gpc.pairs_only)} if gpc.pairs_only else {})
        for gpc in plan.gpcs
    ]
    return {"name": plan.name, "origin": plan.origin, "gpc": gpcs}


def floorplan_from_groups(
    gpcs: Sequence[Sequence[int]],
    partitions: Sequence[int],
    origin: str,
    *,
    cpcs: Iterable[Iterable[int]] | None = None,
    name: str = "probed",
    sms_per_tpc: int = 2,
    cpcs_per_gpc: int = 3,
) -> Floorplan:
    """Make a floorplan from what a probe found: which SM ids share a GPC.

    Parameters
    ----------
    gpcs
        SM ids of each GPC, in any order.
    partitions
        L2 partition of each GPC.
    origin
        Origin of the grouping.
    cpcs
        SM ids of each CPC where they were probed; else the TPCs are dealt out in the order of their ids.
    name
        Name of the floorplan.
    sms_per_tpc, cpcs_per_gpc
        Sizes to assume where nothing was probed.

    Raises
    ------
    InputError
        If ids are missing or used twice, or the numbers of GPCs and partitions differ.
    """
    if len(gpcs) != len(partitions):
        rule = "must name one partition for each GPC"
        raise InputError("floorplan.partitions", len(partitions), rule, len(gpcs))
    groups = [sorted(group) for group in cpcs] if cpcs is not None else None
    built = []
    for sms, partition in zip(gpcs, partitions, strict=True):
        tpcs = _tpcs(sorted(sms), sms_per_tpc)
        parts = _assumed_cpcs(tpcs, cpcs_per_gpc) if groups is None else _probed_cpcs(tpcs, groups)
        built.append(Gpc(partition, tuple(parts)))
    plan = Floorplan(name, check_origin("floorplan", origin), tuple(built))
    _check_ids(plan)
    return plan


def _tpcs(sms: list[int], sms_per_tpc: int) -> list[Tpc]:
    by_tpc: dict[int, list[int]] = {}
    for sm in sms:
        by_tpc.setdefault(sm // sms_per_tpc, []).append(sm)
    return [tuple(members) for members in by_tpc.values()]


def _assumed_cpcs(tpcs: list[Tpc], count: int) -> list[Cpc]:
    return [tuple(tpcs[first::count]) for first in range(min(count, len(tpcs)))]


def _probed_cpcs(tpcs: list[Tpc], groups: list[list[int]]) -> list[Cpc]:
    parts = [tuple(tpc for tpc in tpcs if tpc[0] in group) for group in groups]
    return [part for part in parts if part]


def _check_ids(plan: Floorplan) -> None:
    ids = list(chain.from_iterable(gpc.sms for gpc in plan.gpcs))
    for sm in ids:
        if not 0 <= sm < MOST_SMS:
            nearest = min(max(sm, 0), MOST_SMS - 1)
            raise InputError("floorplan.gpc.cpcs", sm, f"must be an SM id from 0 to {MOST_SMS - 1}", nearest)
    repeated = sorted(sm for sm, times in Counter(ids).items() if times > 1)
    if repeated:
        raise InputError("floorplan.gpc.cpcs", repeated, "must name every SM once", "remove the repeated ids")
    if sorted(ids) != list(range(len(ids))) or not ids:
        missing = sorted(set(range(max(ids, default=0) + 1)) - set(ids))
        rule = "must name the SM ids from 0 without gaps, and these are missing"
        raise InputError("floorplan.gpc.cpcs", missing, rule, "add them")
    if any(not cpc or not all(cpc) for gpc in plan.gpcs for cpc in gpc.cpcs):
        raise InputError("floorplan.gpc.cpcs", "[]", "must not hold an empty CPC or TPC", "remove it")
