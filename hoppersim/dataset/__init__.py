"""Measurements of real GPUs that the package ships, and how wrong the simulator is on them."""

from __future__ import annotations

from hoppersim.dataset.reader import (
    dataset_folder,
    dataset_names,
    error_summary,
    floorplans,
    kernels,
    load_dataset,
    measured_cycles,
    per_sm,
)
from hoppersim.dataset.rebuild import rebuild_work
from hoppersim.dataset.schema import (
    Counters,
    Dataset,
    ErrorSummary,
    Litmus,
    Look,
    Manifest,
    Point,
    Run,
    WorstPoint,
)
from hoppersim.dataset.verify import verify_dataset

__all__ = [
    "Counters",
    "Dataset",
    "ErrorSummary",
    "Litmus",
    "Look",
    "Manifest",
    "Point",
    "Run",
    "WorstPoint",
    "dataset_folder",
    "dataset_names",
    "error_summary",
    "floorplans",
    "kernels",
    "load_dataset",
    "measured_cycles",
    "per_sm",
    "rebuild_work",
    "verify_dataset",
]
