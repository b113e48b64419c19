"""The command line's root: which commands there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from hoppersim.cli import check, config, data, experiment, explain, new, run, sweep, topology, trace
from hoppersim.command import run_command, run_process

app = typer.Typer(
    name="hoppersim",
    help="Simulate how data moves through a Hopper GPU: HBM, L2, crossbar, clusters, TMA and mbarriers.",
    epilog="Start with: hoppersim run multicast --cluster 2 --against unicast",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("experiment")(experiment.experiment)
app.command("sweep")(sweep.sweep)
app.command("check")(check.check)
app.command("explain")(explain.explain)
app.command("trace")(trace.trace)
app.command("new")(new.new)
app.add_typer(config.app, name="config")
app.add_typer(data.app, name="data")
app.add_typer(topology.app, name="topology")


def _show_version(wanted: bool) -> None:
    if wanted:
        from hoppersim.cli.version import version_lines

        typer.echo("\n".join(version_lines()))
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print versions and exit."),
    ] = False,
) -> None:
    """Simulate how data moves through a Hopper GPU: HBM, L2, crossbar, clusters, TMA and mbarriers."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    return run_command(app, "hoppersim", arguments)


def entry() -> None:
    """Run the command line of this process."""
    run_process(app, "hoppersim")
