"""Lets ``python -m hoppersim`` work like the ``hoppersim`` command."""

from hoppersim.cli.app import entry

if __name__ == "__main__":
    entry()
