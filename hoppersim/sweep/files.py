"""Studies of design spaces in TOML files, and the check of their shape, however they were made."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hoppersim.errors import InputError
from hoppersim.machine.rules import closest, require_known
from hoppersim.machine.tables import ZERO
from hoppersim.sweep.study import Draw, Limit, Random, Range, Sweep

_TABLES: dict[str, type[msgspec.Struct] | None] = {
    "set": None,
    "case": None,
    "against": None,
    "objectives": None,
    "axes": Range,
    "limits": Limit,
}
"""Tables by parameter or column, and the struct that a value of them may be."""


def load_sweep(path: str | Path) -> Sweep:
    """Read a study from a TOML file; files that it names are looked for beside it.

    Raises
    ------
    InputError
        If the file cannot be read, or a field is unknown, missing or of the wrong type.
    """
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        near = closest(path.name, [item.name for item in path.parent.glob("*.toml")])
        nearest = str(path.with_name(near)) if near else None
        raise InputError("study", str(path), "must be a file that exists", nearest) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("study", str(path), f"must be a readable TOML file ({error})") from None
    try:
        return _beside(read_sweep({"name": path.stem, **document}), path.parent)
    except InputError as error:
        raise InputError(f"{path}: {error.field}", error.value, error.rule, error.nearest) from None


def plain_sweep(sweep: Sweep) -> Sweep:
    """Check the shape of a study made in Python, and give it as its file would be read.

    Raises
    ------
    InputError
        As for `read_sweep`.
    """
    try:
        return read_sweep(msgspec.to_builtins(sweep, enc_hook=_plain))
    except TypeError as error:
        raise InputError("study", sweep.name, f"must hold plain values only ({error})") from None


def read_sweep(document: dict[str, Any]) -> Sweep:
    """Make a study of plain data in the shape of a study file.

    Raises
    ------
    InputError
        If a field is unknown, missing or of the wrong type.
    """
    known = [field.encode_name for field in msgspec.structs.fields(Sweep)]
    for name in document:
        require_known(name, name, known, "field of a study")
    document = _flat_tables(document)
    try:
        sweep = msgspec.convert(document, Sweep)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$.")
        field = path.rstrip("`") or "study"
        rule = text[:1].lower() + text[1:].replace("`", "")
        raise InputError(field, _follow(document, field), rule) from None
    legal = "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in sweep.name) or "study"
    if sweep.name != legal:
        raise InputError("name", sweep.name, "names files: letters, digits, _ and - only", legal)
    if sweep.max_cycles is not None and sweep.max_cycles < 1:
        raise InputError("max_cycles", sweep.max_cycles, "must be at least 1 cycle", 1)
    return sweep


def _flat_tables(document: dict[str, Any]) -> dict[str, Any]:
    """Join the parts of dotted names, which TOML reads as nested tables unless they are quoted."""
    flat = dict(document)
    for name, leaf in _TABLES.items():
        if isinstance(flat.get(name), dict):
            flat[name] = _flat(flat[name], _fields(leaf))
    if isinstance(flat.get("linked"), list):
        flat["linked"] = [_flat(group, ()) if isinstance(group, dict) else group for group in flat["linked"]]
    random = flat.get("random")
    if isinstance(random, dict):
        for name in random:
            require_known(f"random.{name}", name, _fields(Random), "field of random samples")
        if isinstance(random.get("axes"), dict):
            flat["random"] = random | {"axes": _flat(random["axes"], _fields(Draw))}
    return flat


def _fields(kind: type[msgspec.Struct] | None) -> tuple[str, ...]:
    return () if kind is None else tuple(field.encode_name for field in msgspec.structs.fields(kind))


def _flat(table: Mapping[str, Any], leaf: tuple[str, ...], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and value and not set(leaf) & value.keys():
            found |= _flat(value, leaf, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def _beside(sweep: Sweep, folder: Path) -> Sweep:
    """Turn relative names of files into paths from the folder of the study."""

    def every(table: dict[str, Any]) -> dict[str, Any]:
        return {name: _anchor(name, value, folder) for name, value in table.items()}

    return replace(
        sweep,
        preset=_anchor("preset", sweep.preset, folder),
        floorplan=_anchor("floorplan", sweep.floorplan, folder),
        flow=_anchor("flow", sweep.flow, folder),
        settings=every(sweep.settings),
        axes=every(sweep.axes),
        linked=tuple(map(every, sweep.linked)),
        random=None if sweep.random is None else replace(sweep.random, axes=every(sweep.random.axes)),
        against=every(sweep.against),
    )


def _anchor(name: str, value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_anchor(name, part, folder) for part in value]
    if isinstance(value, dict):
        return {key: _anchor(name, part, folder) for key, part in value.items()}
    if not isinstance(value, str):
        return value
    is_file = name in ("floorplan", "flow") or (name == "preset" and value.endswith(".toml"))
    is_file = is_file or (name.startswith("tables.") and value != ZERO)
    return str(folder / value) if is_file else value


def _plain(value: Any) -> Any:
    """Turn arrays and numbers of numpy, ranges and other sequences into plain values."""
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _follow(document: Any, path: str) -> Any:
    """Give the value at a dotted path; None where it does not lead to one."""
    for step in path.split("."):
        document = document.get(step) if isinstance(document, dict) else None
    return document
