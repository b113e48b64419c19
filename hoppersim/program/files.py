"""Works in files: TOML for people, JSON for programs."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from hoppersim.errors import InputError
from hoppersim.program.canonical import LANGUAGE_VERSION
from hoppersim.program.file_errors import explain_mismatch
from hoppersim.program.operands import nearest_name
from hoppersim.program.plain import plain
from hoppersim.program.toml_text import write_toml
from hoppersim.program.walk import MOST_NESTED
from hoppersim.program.work import Work, require_flows

SUFFIXES = (".toml", ".json")
_TOO_DEEP = f"must not lie in each other so deep; at most {MOST_NESTED} loops do"
_OUTLINE = frozenset({"flows", "program", "launch", "roles", "sms"})


def load_work(path: str | Path) -> Work:
    """Read a work from a ``.toml`` or ``.json`` file.

    Raises
    ------
    InputError
        If the file cannot be read or does not hold a work; the field is ``FILE: path.to.field``.
    """
    path = Path(path)
    try:
        suffix = _suffix(path)
        return parse_work(_read(path), suffix)
    except InputError as error:
        if error.field.startswith(str(path)):
            raise
        field = f"{path}: {error.field}" if error.field else str(path)
        raise InputError(field, error.value, error.rule, error.nearest) from None


def save_work(work: Work, path: str | Path) -> None:
    """Write a work to a ``.toml`` or ``.json`` file, whole or not at all.

    Raises
    ------
    InputError
        If the suffix is another one or the file cannot be written.
    """
    path = Path(path)
    text = format_file(work, _suffix(path))
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise InputError(str(path), str(error), "the file must be writable") from None
    finally:
        scratch.unlink(missing_ok=True)


def parse_work(text: str, suffix: str = ".toml") -> Work:
    """Read a work from the text of a file; a table `about` may hold notes of any kind, which are left aside.

    Raises
    ------
    InputError
        If the text does not hold a work; the field is the dotted path inside the text.
    """
    document = _parse(text, suffix)
    version = document.pop("language", LANGUAGE_VERSION)
    document.pop("about", None)
    if type(version) is not int or version != LANGUAGE_VERSION:
        rule = f"this version reads language {LANGUAGE_VERSION}"
        raise InputError("language", version, rule, LANGUAGE_VERSION)
    try:
        work = msgspec.convert(document, Work)
    except msgspec.ValidationError as error:
        raise explain_mismatch(str(error), document) from None
    except RecursionError:
        raise InputError("", "tables", _TOO_DEEP) from None
    require_flows(work)
    return work


def format_file(work: Work, suffix: str = ".toml") -> str:
    """Write a work as the text of a file."""
    document = {"language": LANGUAGE_VERSION, **plain(work)}
    if suffix == ".json":
        return json.dumps(document, indent=2) + "\n"
    return write_toml(document, _OUTLINE)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        near = nearest_name(path.name, [item.name for item in path.parent.glob("*")])
        nearest = str(path.with_name(near)) if near else None
        raise InputError(str(path), path.name, "the file must exist", nearest) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), str(error), "the file must be readable UTF-8 text") from None


def _suffix(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        rule = "the name of a flow file ends in .toml or .json"
        raise InputError(str(path), path.suffix, rule, path.with_suffix(".toml").name)
    return path.suffix.lower()


def _parse(text: str, suffix: str) -> dict[str, Any]:
    try:
        document = json.loads(text) if suffix == ".json" else tomllib.loads(text)
    except RecursionError:
        raise InputError("", "tables and lists", _TOO_DEEP) from None
    except ValueError as error:  # of the syntax, or of a number of thousands of digits
        kind = "JSON" if suffix == ".json" else "TOML"
        text = str(error).partition("; use sys")[0]
        raise InputError("", text, f"the file must be valid {kind}") from None
    if not isinstance(document, dict):
        raise InputError("", document, "the file holds one table with the key flows")
    return document
