"""Options that several commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hoppersim.errors import InputError

if TYPE_CHECKING:
    from hoppersim.machine.machine import Machine

Preset = Annotated[str, typer.Option("--preset", "-p", metavar="NAME", help="Machine, by name or TOML file.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="PATH=VALUE", help="Change one number of the machine; repeatable."),
]
Plan = Annotated[
    str | None, typer.Option("--floorplan", metavar="FILE", help="Floorplan instead of the preset's own.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Fabric = Annotated[
    str,
    typer.Option(
        "--fabric", metavar="NAME", help="compiled, or reference: slow and simple, for small cases."
    ),
]
DEFAULT_PRESET = "h200_sxm"
FABRICS = ("compiled", "reference")


def open_machine(preset: str, settings: list[str] | None = None, floorplan: str | None = None) -> Machine:
    """Load the machine that the shared options describe."""
    from hoppersim.machine.loading import load_machine

    return load_machine(preset, settings or (), floorplan)


def announce_compilation() -> None:
    """Tell a user who watches why the first use takes longer."""
    from hoppersim.engine.compiled.fabric import is_compiled

    if sys.stderr.isatty() and not is_compiled():
        typer.echo("Compiling the simulator for this machine; the next run starts at once.", err=True)


def require_fabric(fabric: str) -> str:
    """Refuse a fabric that does not exist."""
    if fabric not in FABRICS:
        raise InputError("--fabric", fabric, f"must be one of {', '.join(FABRICS)}", FABRICS[0])
    return fabric


def require_file(field: str, path: Path) -> Path:
    """Refuse a path that is no readable file."""
    if not path.is_file():
        raise InputError(field, str(path), "must be a file that exists")
    return path
