"""``python -m hw_validate``: probe a GPU, run works on it, compare with the simulator."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from hoppersim.command import run_command, run_process
from hw_validate import cli_compare, cli_measure

app = typer.Typer(
    name="hw_validate",
    help="Run the simulator's programs on a real H100 or H200, and compare.",
    epilog="Start with: python -m hw_validate run --out measured.jsonl",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("probe")(cli_measure.probe)
app.command("run")(cli_measure.run)
app.command("compare")(cli_compare.compare)
app.command("calibrate")(cli_compare.calibrate)
app.command("record")(cli_measure.record)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    return run_command(app, "hw_validate", arguments)


def entry() -> None:
    """Run the command line of this process."""
    run_process(app, "hw_validate")
