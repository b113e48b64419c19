"""``hoppersim topology``: the floorplan of a machine in the terminal, or as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoppersim.cli.options import DEFAULT_PRESET, Plan, Preset, Settings

app = typer.Typer(
    help="Show where SMs, GPCs and clusters sit.", no_args_is_help=True, rich_markup_mode="rich"
)


@app.command()
def show(
    cluster: Annotated[
        int, typer.Option("--cluster", "-c", metavar="N", help="Name the SMs that clusters of N strand.")
    ] = 1,
    preset: Preset = DEFAULT_PRESET,
    settings: Settings = None,
    floorplan: Plan = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw it into a .png or .svg too.")
    ] = None,
) -> None:
    """Draw the GPCs, CPCs, TPCs and SMs of a machine, and what clusters of a size leave unused.

    Examples:

      hoppersim topology show

      hoppersim topology show --cluster 16

      hoppersim topology show --preset tiny --picture chip.png
    """
    from hoppersim.cli.options import open_machine
    from hoppersim.machine.placement import resident
    from hoppersim.machine.topology import topology_text

    machine = open_machine(preset, settings, floorplan)
    # One CTA on an SM: what clusters strand does not depend on the program then.
    placement = resident(machine, cluster, machine.spec.launch.shared_bytes_per_cta, threads=32)
    typer.echo(topology_text(machine, placement))
    if picture is not None:
        from hoppersim.machine.drawing import draw_topology

        typer.echo(f"Picture: {draw_topology(machine, picture)}")


@app.callback()
def root() -> None:
    """Show where SMs, GPCs and clusters sit."""
