"""HopperSim: a cycle-level simulator of data movement in NVIDIA Hopper GPUs.

The names below are the public interface; they are loaded when first used, so importing the package is
quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "Case": "hoppersim.program.case_spec",
    "HopperSimError": "hoppersim.errors",
    "InputError": "hoppersim.errors",
    "Result": "hoppersim.result.schema",
    "Sweep": "hoppersim.sweep.study",
    "SweepResult": "hoppersim.sweep.table",
    "Tiles": "hoppersim.engine.tiles",
    "build_case": "hoppersim.program.cases",
    "load_machine": "hoppersim.machine.loading",
    "load_sweep": "hoppersim.sweep.files",
    "load_work": "hoppersim.program.files",
    "run_sweep": "hoppersim.sweep.runner",
    "save_work": "hoppersim.program.files",
    "simulate": "hoppersim.result.api",
}

if TYPE_CHECKING:
    from hoppersim.engine.tiles import Tiles
    from hoppersim.errors import HopperSimError, InputError
    from hoppersim.machine.loading import load_machine
    from hoppersim.program.case_spec import Case
    from hoppersim.program.cases import build_case
    from hoppersim.program.files import load_work, save_work
    from hoppersim.result.api import simulate
    from hoppersim.result.schema import Result
    from hoppersim.sweep.files import load_sweep
    from hoppersim.sweep.runner import run_sweep
    from hoppersim.sweep.study import Sweep
    from hoppersim.sweep.table import SweepResult

__all__ = [
    "Case",
    "HopperSimError",
    "InputError",
    "Result",
    "Sweep",
    "SweepResult",
    "Tiles",
    "__version__",
    "build_case",
    "load_machine",
    "load_sweep",
    "load_work",
    "run_sweep",
    "save_work",
    "simulate",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'hoppersim' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
