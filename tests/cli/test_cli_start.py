"""Help is quick, complete, and imports nothing heavy."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from hoppersim.errors import EXIT_INTERRUPTED

HEAVY = ("numba", "matplotlib", "networkx", "numpy", "simpy")
COMMANDS = (
    "run",
    "experiment",
    "check",
    "explain",
    "new",
    "config show",
    "config diff",
    "topology show",
    "sweep",
    "trace",
)


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_help_imports_nothing_heavy() -> None:
    code = f"""
import sys
from hoppersim.cli.app import main
main(["run", "--help"])
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    assert _python(code).splitlines()[-1] == "[]"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, hoppersim; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert _python(code).strip() == "[]"


@pytest.mark.parametrize("package", ["hoppersim", "hw_validate"])
def test_an_interrupt_while_the_command_still_loads_ends_it_quietly(package: str) -> None:
    code = f"""
import sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from {package}.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (EXIT_INTERRUPTED, "", "")


def test_help_takes_less_than_half_a_second() -> None:
    times = []
    for _ in range(4):
        started = _spent_by_children()
        subprocess.run([sys.executable, "-m", "hoppersim", "--help"], capture_output=True, check=True)
        times.append(_spent_by_children() - started)
    assert min(times) < 0.5


def _spent_by_children() -> float:
    """Processor time, not wall time: other processes of the machine do not count against the command."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_examples(cli, command: str) -> None:
    outcome = cli(*command.split(), "--help")
    assert outcome.code == 0
    assert "Examples:" in outcome.out
    assert f"hoppersim {command}" in outcome.out


def test_no_colour_codes_without_a_terminal(cli) -> None:
    assert "\x1b[" not in cli("run", "unicast", "-p", "tiny", "-n", "2").out
