"""How a command line runs: errors leave in one line, and a pipe whose reader has gone is no error."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import typer

from hoppersim.digits import require_plain_digits
from hoppersim.errors import EXIT_INPUT, EXIT_INTERNAL, HopperSimError, InternalError

UsageError: type[Any] = typer.BadParameter.__bases__[0]
"""What Typer raises for arguments that do not fit; the module it lies in differs between versions."""


class PipeOutput(io.TextIOWrapper):
    """Standard output that drops what it is given once nobody reads the pipe any longer."""

    def write(self, text: str) -> int:
        """Write a text, or drop it."""
        with suppress(BrokenPipeError):
            return super().write(text)
        self._drop()
        return len(text)

    def flush(self) -> None:
        """Write what is buffered, or drop it."""
        try:
            super().flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        """Lead what comes, and what is still buffered, to nowhere."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


def run_command(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code.

    An error that the package raises on purpose, and an argument that does not fit, become one line on the
    standard error stream.

    Parameters
    ----------
    app
        The command line.
    name
        What users call it.
    arguments
        Without it, those of the process.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        require_plain_digits(given)
        code = app(args=given, prog_name=name, standalone_mode=False)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except HopperSimError as error:
        prefix = "internal error" if isinstance(error, InternalError) else "error"
        typer.echo(f"{prefix}: {error}", err=True)
        return error.exit_code
    except MemoryError:
        typer.echo("error: out of memory: a smaller work, or fewer processes, takes less", err=True)
        return EXIT_INTERNAL
    except UsageError as error:
        if text := _usage_text(error, given):
            typer.echo(f"error: {text}; see {error.ctx.command_path if error.ctx else name} --help", err=True)
        return EXIT_INPUT
    return code if isinstance(code, int) else 0


def run_process(app: typer.Typer, name: str) -> None:
    """Run the command line of this process, and end it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        old = sys.stdout
        sys.stdout = PipeOutput(
            old.buffer, old.encoding, old.errors, line_buffering=old.line_buffering, write_through=False
        )
    sys.exit(run_command(app, name))


def _usage_text(error: Any, given: Sequence[str]) -> str:
    """Say what does not fit: option, value and rule, where the error is of an option's value."""
    message = " ".join(error.format_message().split()).rstrip(".")
    options = getattr(getattr(error, "param", None), "opts", [])
    value = next((value for option, value in _options(given) if option in options), None)
    if value is None:
        return message[:1].lower() + message[1:]
    rule = message.rpartition(": ")[2].split(",")[0].replace("Input should be", "must be")
    return f"{max(options, key=len)} = {value!r}: {rule[:1].lower()}{rule[1:]}"


def _options(given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pair every argument with what may be its value: what follows it, or what follows its equals sign."""
    yield from pairwise(given)
    for argument in given:
        option, equals, value = argument.partition("=")
        if equals:
            yield option, value
