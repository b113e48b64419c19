"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from hoppersim.errors import InputError


def write_whole(path: Path, write: Callable[[Path], None], field: str = "out") -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place in one step.

    Parameters
    ----------
    path
        The file.
    write
        Writes it under another name.
    field
        What names the file in errors.

    Raises
    ------
    InputError
        If the folder cannot be made or written, or something other than a file has the name.
    """
    require_place(field, path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
    except OSError as error:
        rule = f"the folder must be one that can be written ({error.strerror})"
        raise InputError(field, str(path), rule) from error
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def require_place(field: str, path: Path) -> None:
    """Refuse a file that could not be written, before what would be written is worked out.

    Raises
    ------
    InputError
        If something other than a file has the name, or the folder that it would be in, or be made in, is
        none that can be written.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError(field, str(path), "must name a file: what has this name is not one")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
    except OSError as error:
        raise InputError(field, str(path), f"must name a file ({error.strerror})") from error
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(field, str(path), f"must be in a folder that can be written: {folder} is none")


def write_text(path: Path, text: str, field: str = "out") -> None:
    """Write a text file whole or not at all; see `write_whole`."""
    write_whole(path, lambda temporary: _write(temporary, text), field)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
