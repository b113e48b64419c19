"""The identity of a point: what can change its figures, and nothing else."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import hoppersim
from hoppersim.program.canonical import canonical_json
from hoppersim.program.work import Work

OUTCOME_SCHEMA = "hoppersim.sweep-outcome/1"
"""Raised when what is kept of a point changes its meaning."""
MODEL_PARTS = ("units.py", "machine", "program", "blocks", "engine", "result", "sweep/figures.py")
"""What of the package decides the figures of a point."""


@cache
def model_hash() -> str:
    """Hash the sources that decide the figures of a point, as they are when this is first asked."""
    root = Path(hoppersim.__file__).parent
    state = hashlib.sha256()
    for part in MODEL_PARTS:
        files = sorted((root / part).rglob("*.py")) if (root / part).is_dir() else [root / part]
        for file in files:
            state.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return state.hexdigest()[:16]


def point_key(machine_hash: str, work: Work, max_cycles: int | None) -> str:
    """Hash machine, work, seeds, limit of cycles, and the simulator's own sources.

    Parameters
    ----------
    machine_hash
        `Machine.hash`.
    work
        The work; its names do not count.
    max_cycles
        Limit of the run [cycle].
    """
    seeds = [flow.launch.seed for flow in work.flows]
    parts = (OUTCOME_SCHEMA, model_hash(), machine_hash, canonical_json(work), seeds, max_cycles)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
