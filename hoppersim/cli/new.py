"""``hoppersim new``: write a commented flow file to start from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hoppersim.errors import InputError

TEMPLATES = ("flow", "gemm")


def new(
    flow: Annotated[Path, typer.Argument(help="File to write; its name ends in .toml.")],
    template: Annotated[
        str,
        typer.Option("--template", "-t", metavar="NAME", help="flow, or gemm: the main loop of a GEMM."),
    ] = "flow",
    settings: Annotated[
        list[str] | None,
        typer.Option("--with", "-w", metavar="NAME=VALUE", help="Size of the GEMM; repeatable."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
) -> None:
    """Write a commented flow file to start from.

    Sizes of the GEMM, and what they are without --with: m=4096, n=4096, k=4096,
    tile_m=128, tile_n=128, tile_k=64, stages=4; cluster_rows=2, CTAs of a cluster
    that share a tile of B; cluster_columns=2, those that share one of A; compute,
    SM cycles of a stage's product, is what dense fp16 takes at its peak.

    Examples:

      hoppersim new flow.toml

      hoppersim check flow.toml

      hoppersim run flow.toml

      hoppersim new gemm.toml --template gemm --with tile_m=256 --with stages=3
    """
    from hoppersim.result.files import write_text

    if flow.suffix != ".toml":
        raise InputError("flow", str(flow), "must end in .toml", str(flow.with_suffix(".toml")))
    if flow.exists() and not force:
        raise InputError("flow", str(flow), "exists already; choose another name, or replace it with --force")
    text = _filled(template, settings or [], flow)
    _check(text)
    write_text(flow, text)
    typer.echo(f"Wrote {flow}. Next: hoppersim check {flow}; hoppersim run {flow}")


def _filled(template: str, settings: list[str], flow: Path) -> str:
    """Give the text of a template, with its numbers in their places."""
    from importlib.resources import files

    if template not in TEMPLATES:
        raise InputError("--template", template, f"must be one of {', '.join(TEMPLATES)}", TEMPLATES[0])
    numbers: dict[str, object] = {}
    if template == "gemm":
        from hoppersim.cli.gemm import gemm_numbers

        numbers = gemm_numbers(settings)
    elif settings:
        raise InputError("--with", settings[0], "has no meaning for this template", "--template gemm")
    text = files("hoppersim.cli").joinpath("templates", f"{template}.toml").read_text(encoding="utf-8")
    if not flow.stem.isprintable():
        raise InputError("name of the file", ascii(flow.stem), "must be printable", "flow.toml")
    return text.format(file=flow, name=json.dumps(flow.stem, ensure_ascii=False)[1:-1], **numbers)


def _check(text: str) -> None:
    """Refuse what no H200 could run."""
    from hoppersim.cli.options import DEFAULT_PRESET, open_machine
    from hoppersim.program.files import parse_work
    from hoppersim.program.rules import check
    from hoppersim.result.api import IllegalWorkError

    violations = check(parse_work(text), open_machine(DEFAULT_PRESET))
    if violations:
        raise IllegalWorkError(violations)
