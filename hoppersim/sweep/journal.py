"""What is kept of a study as it runs: a line for each finished point, so that a killed run goes on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal

import msgspec

from hoppersim.errors import InputError

JOURNAL = "journal.jsonl"
Status = Literal["ok", "hang", "failed"]


class Outcome(msgspec.Struct, frozen=True):
    """What the simulation of a point gave: figures, or the reason why there are none."""

    status: Status
    figures: dict[str, Any] = {}
    reason: str = ""


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the file."""

    key: str
    outcome: Outcome


class Journal:
    """Outcomes by the key of their point, in a file to which lines are only ever added.

    Each line is handed to the system whole, before the next point is taken up. The last line of a run that
    was killed may be torn; it is cut off when the file is opened, and its point is simulated again.

    Parameters
    ----------
    folder
        Where the file lies; None keeps outcomes in memory alone.

    Raises
    ------
    InputError
        If the file cannot be written, or another run is writing it.
    """

    def __init__(self, folder: Path | None) -> None:
        self.known: dict[str, Outcome] = {}
        self._file: BinaryIO | None = None
        if folder is not None:
            self._file = _open(folder)
            self._read(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, key: str, outcome: Outcome) -> None:
        """Keep one outcome.

        Raises
        ------
        InputError
            If the file system refuses the line.
        """
        self.known[key] = outcome
        if self._file is None:
            return
        line = msgspec.json.encode(_Line(key, outcome)) + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise OSError("only part of it was written")
            os.fsync(self._file.fileno())
        except OSError as error:
            rule = f"must take the line of a finished point ({error.strerror or error})"
            raise InputError("out", str(self._file.name), rule) from None

    def _read(self, file: BinaryIO) -> None:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
        for line in content[:whole].splitlines():
            try:
                found = msgspec.json.decode(line, type=_Line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue  # not a line of ours; its point, if there was one, is simulated again
            self.known[found.key] = found.outcome


def _open(folder: Path) -> BinaryIO:
    """Open the file for reading and adding, unbuffered, for this process alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / JOURNAL).open("a+b", buffering=0)
    except OSError as error:
        rule = f"must be a folder that can be written ({error.strerror})"
        raise InputError("out", str(folder), rule) from None
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            rule = "is being written by another run of a study; wait for it, or choose another folder"
            raise InputError("out", str(folder), rule) from None
    file.seek(0)
    return file
