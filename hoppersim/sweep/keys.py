"""The identity of a point: what can change its figures, and nothing else."""

from __future__ import annotations

import hashlib

from hoppersim.program.canonical import canonical_json
from hoppersim.program.work import Work
from hoppersim.result.sources import SIMULATOR, sources_hash

OUTCOME_SCHEMA = "hoppersim.sweep-outcome/1"
"""Raised when what is kept of a point changes its meaning."""
MODEL_PARTS = (*SIMULATOR, "sweep/figures.py")
"""What of the package decides the figures of a point."""


def model_hash() -> str:
    """Hash the sources that decide the figures of a point, as they are when this is first asked."""
    return sources_hash(MODEL_PARTS)


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
