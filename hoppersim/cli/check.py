"""``hoppersim check``: every rule that a work breaks, without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoppersim.cli.options import DEFAULT_PRESET, Json, Plan, Preset, Settings
from hoppersim.errors import EXIT_VIOLATIONS


def check(
    flow: Annotated[Path, typer.Argument(help="Flow file, .toml or .json.")],
    preset: Preset = DEFAULT_PRESET,
    settings: Settings = None,
    floorplan: Plan = None,
    json: Json = False,
) -> None:
    """List every rule that a flow breaks; exit code 3 if there is any.

    Examples:

      hoppersim check flow.toml

      hoppersim check flow.toml --preset tiny --json
    """
    from hoppersim.cli.notes import notes_on
    from hoppersim.cli.options import open_machine
    from hoppersim.program.files import load_work
    from hoppersim.program.rules import check as find_violations

    work = load_work(flow)
    machine = open_machine(preset, settings, floorplan)
    violations = find_violations(work, machine)
    if json:
        from hoppersim.result.export import to_json

        typer.echo(to_json([violation._asdict() for violation in violations]), nl=False)
    else:
        for violation in violations:
            typer.echo(str(violation))
        typer.echo(f"{flow}: {len(violations) or 'no'} rule{'s' if len(violations) > 1 else ''} broken")
        for line in [] if violations else notes_on(machine, work):
            typer.echo(f"note: {line}")
    if violations:
        raise typer.Exit(EXIT_VIOLATIONS)
