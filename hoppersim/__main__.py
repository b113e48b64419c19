"""Lets ``python -m hoppersim`` work like the ``hoppersim`` command."""

from hoppersim.start import start


def main() -> None:
    """Run the command line of this process."""
    start("hoppersim.cli.app")


if __name__ == "__main__":
    main()
