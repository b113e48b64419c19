"""What a GPU machine needs to be probed: two cubins and their plan, made without a GPU."""

from __future__ import annotations

import json
from pathlib import Path

from hw_validate.bundle import make_bundle
from hw_validate.compile import compile_source
from hw_validate.lower.source import DEFAULT_OPTIONS, limit_text
from hw_validate.lower.wrappers import KERNELS, needed

MODULE = "latency"
"""Key of the latency kernels' module in the plan."""


def latency_source() -> str:
    """Write the source of the latency kernels with the wrappers that they use."""
    text = (KERNELS / "probes_latency.cuh").read_text(encoding="utf-8")
    return f"{limit_text(DEFAULT_OPTIONS)}{needed(text)}\n\n{text}"


def make_probe_bundle(folder: Path) -> Path:
    """Compile the probes' kernels into a folder, which is made if missing, and give the plan's path.

    Raises
    ------
    CompileError
        If NVRTC is missing.
    """
    path = make_bundle([], folder, probe=True)
    plan = json.loads(path.read_text(encoding="utf-8"))
    source = latency_source()
    cubin = compile_source(source)
    (folder / f"{MODULE}.cubin").write_bytes(cubin.code)
    (folder / f"{MODULE}.cu").write_text(source, encoding="utf-8")
    plan["modules"][MODULE] = {
        "cubin": f"{MODULE}.cubin",
        "source": f"{MODULE}.cu",
        "defines": [],
        "hash": cubin.key,
        "registers": cubin.registers,
        "sass": {},
    }
    path.write_text(json.dumps(plan, separators=(",", ":")), encoding="utf-8")
    return path
