"""``hoppersim trace``: run what a stored Result holds again, and write down what happens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hoppersim.cli.options import Fabric
from hoppersim.errors import InputError

if TYPE_CHECKING:
    from hoppersim.result.schema import Result


def trace(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="File that run --out wrote, .json.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Trace to write.", show_default="RESULT.pftrace"),
    ] = None,
    window: Annotated[
        str | None, typer.Option("--window", "-w", metavar="START:LENGTH", help="Only these SM cycles.")
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            metavar="LIST",
            help="Clusters to show, as in 0-3,8.",
            show_default="the first 8 CTAs",
        ),
    ] = None,
    sms: Annotated[
        str | None, typer.Option("--sms", metavar="LIST", help="SMs whose clusters to show.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="MB", help="Largest size of the file.")] = 32,
    number: Annotated[
        int | None,
        typer.Option("--run", metavar="N", help="Which run, of a file that holds two.", show_default="1"),
    ] = None,
    fabric: Fabric = "compiled",
) -> None:
    """Trace a stored Result: its work runs again on its machine, and a Perfetto trace shows it.

    There is a track for each role, TMA engine and barrier of the clusters that
    are shown, and counters of how busy the links are; arrows lead from the issue
    of a transfer to its completion and to who waited for it.

    Examples:

      hoppersim trace result.json

      hoppersim trace result.json --window 2000:500 --clusters 0,1 -o short.pftrace

      hoppersim trace pair.json --run 2 --sms 0-3
    """
    from hoppersim.cli.options import announce_compilation, require_fabric
    from hoppersim.result.api import simulate
    from hoppersim.result.source import reopen
    from hoppersim.trace.perfetto_file import require_writer
    from hoppersim.trace.recorder import Recorder
    from hoppersim.trace.save import save_trace
    from hoppersim.trace.selection import make_selection

    file = out if out is not None else result.with_suffix(".pftrace")
    require_writer("--out", file)
    recorder = Recorder(make_selection(window, clusters, sms, limit))
    stored = _choose(result, number)
    machine, work = reopen(stored)
    if require_fabric(fabric) == "compiled":
        announce_compilation()
    again = simulate(machine, work, fabric=fabric, checks=not stored.hung, observer=recorder)
    for line in save_trace(recorder, again, file):
        typer.echo(line)
    if again.cycles != stored.cycles:
        typer.echo(
            f"The run takes {again.cycles:,.0f} cycles now, {stored.cycles:,.0f} in the file: it was made by "
            f"another version of the model."
        )


def _choose(path: Path, number: int | None) -> Result:
    """Read the run that is meant."""
    from hoppersim.result.export import read_document, runs_of

    runs = runs_of(read_document(path))
    if number is not None and not 1 <= number <= len(runs):
        raise InputError(
            "--run", number, f"the file holds runs 1 to {len(runs)}", min(max(1, number), len(runs))
        )
    return runs[(number or 1) - 1]
