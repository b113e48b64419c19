"""``hoppersim new``: write a commented flow file to start from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hoppersim.errors import InputError


def new(
    flow: Annotated[Path, typer.Argument(help="File to write; its name ends in .toml.")],
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
) -> None:
    """Write a commented flow file to start from.

    Examples:

      hoppersim new flow.toml

      hoppersim check flow.toml

      hoppersim run flow.toml
    """
    from importlib.resources import files

    from hoppersim.result.export import write_text

    if flow.suffix != ".toml":
        raise InputError("flow", str(flow), "must end in .toml", str(flow.with_suffix(".toml")))
    if flow.exists() and not force:
        raise InputError("flow", str(flow), "exists already; choose another name, or replace it with --force")
    template = files("hoppersim.cli").joinpath("templates", "flow.toml").read_text(encoding="utf-8")
    write_text(flow, template.format(file=flow, name=json.dumps(flow.stem)[1:-1]))
    typer.echo(f"Wrote {flow}. Next: hoppersim check {flow}; hoppersim run {flow}")
