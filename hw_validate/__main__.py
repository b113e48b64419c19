"""Run the command line: ``python -m hw_validate``."""

from hoppersim.start import start


def main() -> None:
    """Run the command line of this process."""
    start("hw_validate.cli")


if __name__ == "__main__":
    main()
