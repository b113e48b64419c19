"""The command line's root: which commands there are, and how errors leave."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from hoppersim.cli import check, config, data, experiment, explain, new, run, sweep, topology, trace
from hoppersim.digits import require_plain_digits
from hoppersim.errors import EXIT_INTERNAL, HopperSimError, InternalError

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
    """Run one command and give its exit code.

    An error that the package raises on purpose becomes one line on the standard error stream.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        require_plain_digits(given)
        app(args=given, prog_name="hoppersim")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except HopperSimError as error:
        prefix = "internal error" if isinstance(error, InternalError) else "error"
        typer.echo(f"{prefix}: {error}", err=True)
        return error.exit_code
    except BrokenPipeError:
        # The reader of a pipe has gone; what is still buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_INTERNAL
    return 0


def entry() -> None:
    """Run the command line of this process."""
    sys.exit(main())
