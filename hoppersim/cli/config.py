"""``hoppersim config``: the numbers of a machine, where they come from, and how two machines differ."""

from __future__ import annotations

from typing import Annotated

import typer

from hoppersim.cli.options import DEFAULT_PRESET, Json, Plan, Settings

app = typer.Typer(help="Show, validate and compare machines.", no_args_is_help=True, rich_markup_mode="rich")

Name = Annotated[str, typer.Argument(metavar="PRESET", help="Machine, by name or TOML file.")]


@app.command()
def show(
    preset: Name = DEFAULT_PRESET,
    provenance: Annotated[bool, typer.Option("--provenance", help="Table with the origin of each.")] = False,
    settings: Settings = None,
    floorplan: Plan = None,
    json: Json = False,
) -> None:
    """Show every number of a machine, as a TOML file that loads again.

    Examples:

      hoppersim config show

      hoppersim config show h200_sxm --provenance

      hoppersim config show --set lrc.enabled=0 > mine.toml
    """
    from hoppersim.cli.options import open_machine
    from hoppersim.machine.describe import configuration_rows, configuration_toml

    machine = open_machine(preset, settings, floorplan)
    rows = [row._asdict() for row in configuration_rows(machine)]
    if json:
        _print_json(rows)
        return
    if not provenance:
        typer.echo(configuration_toml(machine), nl=False)
        return
    from hoppersim.cli.render import console, provisional_note

    _table(rows, ("path", "value", "unit", "origin"))
    console().print(provisional_note(machine.provisional_count), markup=False)
    if machine.taken_over_count:
        taken = f"{machine.taken_over_count} of {len(rows)} parameters are taken over from another preset."
        console().print(taken, markup=False)


@app.command()
def validate(
    preset: Name = DEFAULT_PRESET,
    settings: Settings = None,
    floorplan: Plan = None,
) -> None:
    """Check a machine file; exit code 2 and a clear error if it is wrong.

    Examples:

      hoppersim config validate mine.toml
    """
    from hoppersim.cli.options import open_machine

    machine = open_machine(preset, settings, floorplan)
    numbers = len(machine.provenance)
    counts = (
        f"{machine.provisional_count} provisional, {machine.taken_over_count} taken over from another preset"
    )
    typer.echo(f"{machine.name}: {numbers} parameters, {counts}, valid")


@app.command()
def diff(
    first: Annotated[str, typer.Argument(help="Machine, by name or TOML file.")],
    second: Annotated[str, typer.Argument(help="Machine to compare it with.")],
    json: Json = False,
) -> None:
    """List the numbers in which two machines differ.

    Examples:

      hoppersim config diff h200_sxm mine.toml
    """
    from hoppersim.cli.options import open_machine
    from hoppersim.machine.describe import configuration_diff

    rows = [row._asdict() for row in configuration_diff(open_machine(first), open_machine(second))]
    if json:
        _print_json(rows)
    elif rows:
        _table(rows, ("path", "left", "right", "unit"))
    else:
        typer.echo("no difference")


def _print_json(rows: list[dict[str, object]]) -> None:
    from hoppersim.result.export import to_json

    typer.echo(to_json(rows), nl=False)


def _table(rows: list[dict[str, object]], columns: tuple[str, ...]) -> None:
    from rich.table import Table

    from hoppersim.cli.render import console

    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("-" if row[column] is None else str(row[column]) for column in columns))
    console().print(table, markup=False)
