"""Run the command line: ``python -m hw_validate``."""

from hw_validate.cli import entry

entry()
