"""A bundle: everything that a GPU machine needs to measure a list of works, made without a GPU."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from hoppersim.program.canonical import work_hash
from hoppersim.program.work import Flow, Launch, SmSet, TensorMap, Work
from hw_validate.compile import compile_source, compiler_version
from hw_validate.expected import expected_checks
from hw_validate.lower import DEFAULT_OPTIONS, Options, kernel_source, lay_out, wait_sites
from hw_validate.lower.layout import STAMPS_KEPT, stores
from hw_validate.lower.wrappers import KERNELS, needed
from hw_validate.sass import disassemble, find_nvdisasm
from hw_validate.stored import stored_checks

PLAN_VERSION = 1
CTAS_CHECKED = 264
"""CTAs for which the checks of data are worked out when the grid is known on the GPU only."""


@dataclass(frozen=True)
class Point:
    """One work to measure.

    Parameters
    ----------
    work
        What to run.
    label
        Name for people; need not be unique.
    repeats
        Timed launches.
    verify
        Check the received data in a launch of its own.
    options
        How the lowering decides what the program leaves open.
    tags
        Anything that analysis needs beside the row, for example the case's fields or `set_aside`.
    """

    work: Work
    label: str
    repeats: int = 7
    verify: bool = True
    options: Options = DEFAULT_OPTIONS
    tags: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Identity of the row: the work's hash, and the lowering where it is not the default."""
        suffix = "" if self.options == DEFAULT_OPTIONS else f"-{self.options.idle}-{self.options.wait_limit}"
        return f"{work_hash(self.work)[:16]}{suffix}"


def make_bundle(points: Iterable[Point], folder: Path, *, probe: bool = True) -> Path:
    """Compile works and write them with their launches, tensor maps and expected data to a folder.

    Parameters
    ----------
    points
        What to measure; points with an identity seen before are left out.
    folder
        Where to write; made if missing.
    probe
        Also probe the floorplan, which sets of SMs need.

    Returns
    -------
    Path
        The plan.
    """
    folder.mkdir(parents=True, exist_ok=True)
    modules: dict[str, Any] = {}
    _add_module(folder, modules, probes_source(), (), "probes")
    rows = {}
    for point in points:
        if point.id not in rows:
            rows[point.id] = _row(folder, modules, point)
    plan = {
        "version": PLAN_VERSION,
        "compiler": compiler_version(),
        "probe": probe,
        "modules": modules,
        "points": list(rows.values()),
    }
    path = folder / "plan.json"
    path.write_text(json.dumps(plan, separators=(",", ":")), encoding="utf-8")
    return path


def probes_source() -> str:
    """Write the source of the probes' kernels with the wrappers that they use."""
    text = (KERNELS / "probes.cuh").read_text(encoding="utf-8")
    return f"{needed(text)}\n\n{text}"


def _add_module(
    folder: Path, modules: dict[str, Any], source: str, defines: tuple[str, ...], name: str = ""
) -> str:
    """Compile a source into the folder, once, and give the key of its module."""
    cubin = compile_source(source, defines)
    key = name or cubin.key
    if key not in modules:
        (folder / f"{key}.cubin").write_bytes(cubin.code)
        (folder / f"{key}.cu").write_text(source, encoding="utf-8")
        modules[key] = {
            "cubin": f"{key}.cubin",
            "source": f"{key}.cu",
            "defines": list(defines),
            "hash": cubin.key,
            "registers": cubin.registers,
            "sass": disassemble(cubin.code).counts() if name == "" and find_nvdisasm() else {},
        }
    return key


def _row(folder: Path, modules: dict[str, Any], point: Point) -> dict[str, Any]:
    warm = {flow.launch.warm for flow in point.work.flows}
    return {
        "id": point.id,
        "label": point.label,
        "hash": work_hash(point.work),
        "work": msgspec.to_builtins(point.work),
        "warm": max(warm),
        "repeats": point.repeats,
        "verify": point.verify,
        "tags": point.tags,
        "flows": [_flow(folder, modules, flow, point) for flow in point.work.flows],
    }


def _flow(folder: Path, modules: dict[str, Any], flow: Flow, point: Point) -> dict[str, Any]:
    source = kernel_source(flow, point.options)
    layout, launch, program = lay_out(flow), flow.launch, flow.program
    timed = _add_module(folder, modules, source, ())
    verifying = _add_module(folder, modules, source, ("VERIFY_DATA",)) if point.verify else timed
    checked = _clusters_checked(launch)
    return {
        "timed": timed,
        "verifying": verifying,
        "threads": layout.threads,
        "warps": layout.threads // 32,
        "shared_bytes": layout.shared_bytes,
        "cluster": list(launch.cluster),
        "cluster_size": launch.cluster_size,
        "grid": launch.grid,
        "subset": None if launch.sms == SmSet() else _subset(launch.sms),
        "record_words": layout.record_words,
        "stamps_kept": STAMPS_KEPT,
        "stores": any(stores(role) for role in program.roles),
        "roles": [
            {"name": role.name, "first_warp": layout.first_warp[role.name], "warps": role.warps}
            for role in program.roles
        ],
        "stamps": [
            {"role": role, "name": name, "offset": layout.stamp_offset(role, name)}
            for role, name in layout.stamps
        ],
        "sites": [
            {"role": site.role, "operation": site.path, "barrier": site.barrier}
            for site in wait_sites(program)
        ],
        "maps": [_map(item, launch) for item in program.maps],
        "expected": expected_checks(flow, checked) if point.verify else {"roles": {}, "why": "not asked for"},
        "stored": stored_checks(flow, checked)["allocations"] if point.verify else {},
    }


def _clusters_checked(launch: Launch) -> int:
    ctas = CTAS_CHECKED if launch.grid == "fill" else launch.grid
    return -(-ctas // launch.cluster_size)


def _subset(sms: SmSet) -> dict[str, Any]:
    return {"gpcs": list(sms.gpcs), "per_gpc": sms.per_gpc, "spread": sms.spread}


def _map(spec: TensorMap, launch: Launch) -> dict[str, Any]:
    fields = {name: getattr(spec, name) for name in spec.__struct_fields__}
    memory = msgspec.to_builtins(launch.allocation(spec.allocation))
    return {**fields, "byte_strides": spec.byte_strides, "memory": {"base": 0, **memory}}
