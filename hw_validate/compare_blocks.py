"""Blocks of text that are generated between marks of a file: the README's table, and parts of the docs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hoppersim.dataset import Dataset, ErrorSummary
from hoppersim.errors import InputError
from hoppersim.result.files import write_text
from hw_validate.compare_docs import ablation_block, worst_block
from hw_validate.compare_readme import measured_block

BLOCKS: dict[str, Callable[[Dataset, ErrorSummary], str]] = {
    "measured": measured_block,
    "ablations": ablation_block,
    "worst": worst_block,
}
"""What writes each block, by the name in its marks ``<!-- BEGIN name ... -->`` and ``<!-- END name -->``."""


def present_blocks(path: Path) -> dict[str, str]:
    """Give what stands between the marks of a file, by the name of the block.

    Raises
    ------
    InputError
        If the file cannot be read or has no marks.
    """
    lines = _read(path)
    return {name: "\n".join(lines[begin:end]) for name, (begin, end) in _places(path, lines).items()}


def rewrite_blocks(path: Path, dataset: Dataset, summary: ErrorSummary) -> list[str]:
    """Write every block that a file has marks for, anew from the dataset and its kept scores.

    Returns
    -------
    list[str]
        Names of the blocks.

    Raises
    ------
    InputError
        If the file cannot be read or written, or has no marks.
    """
    lines = _read(path)
    places = _places(path, lines)
    for name, (begin, end) in sorted(places.items(), key=lambda item: -item[1][0]):
        lines[begin:end] = BLOCKS[name](dataset, summary).split("\n")
    write_text(path, "\n".join(lines))
    return list(places)


def _read(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("--readme", str(path), f"must be a readable text file ({error})") from error


def _places(path: Path, lines: list[str]) -> dict[str, tuple[int, int]]:
    """Give the first line of each block, and the line behind its last."""
    found = {}
    for name in BLOCKS:
        begin, end = (_first(lines, f"<!-- {word} {name}") for word in ("BEGIN", "END"))
        if 0 <= begin < end:
            found[name] = (begin + 1, end)
        elif begin >= 0 or end >= 0:
            rule = f"must have a line that starts with <!-- BEGIN {name} above one with <!-- END {name}"
            raise InputError("--readme", str(path), rule)
    if not found:
        names = ", ".join(BLOCKS)
        rule = f"must have lines that start with <!-- BEGIN NAME and <!-- END NAME; NAME is one of {names}"
        raise InputError("--readme", str(path), rule)
    return found


def _first(lines: list[str], begin: str) -> int:
    return next((number for number, line in enumerate(lines) if line.startswith(begin)), -1)
