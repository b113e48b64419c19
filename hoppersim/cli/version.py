"""What ``--version`` prints: the package, its data, and the libraries that results depend on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from hoppersim import __version__
from hoppersim.cli.options import DEFAULT_PRESET

LIBRARIES = (
    "simpy",
    "numpy",
    "numba",
    "networkx",
    "matplotlib",
    "msgspec",
    "scipy",
    "cuda-bindings",
    "perfetto",
    "pyarrow",
)


def version_lines() -> list[str]:
    """List versions, one a line."""
    lines = [f"hoppersim {__version__}", f"preset {DEFAULT_PRESET}: {_preset()}", f"dataset: {_dataset()}"]
    lines.append(f"python {platform.python_version()}")
    for name in LIBRARIES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name} not installed")
    return lines


def _preset() -> str:
    from hoppersim.machine.loading import load_machine

    machine = load_machine(DEFAULT_PRESET)
    return f"{machine.hash[:12]}, {machine.provisional_count} provisional numbers"


def _dataset() -> str:
    from hoppersim.dataset import dataset_names, load_dataset

    counts = [f"{name}, {len(load_dataset(name).points):,} points" for name in dataset_names()]
    return "; ".join(counts) if counts else "none shipped"
