"""Preset files that name a base: what a file leaves out is taken over from the base, and says so.

A file with ``base = "h200_sxm"`` states only what differs. Every number, table and floorplan that comes from
the base has the origin ``assumed: taken over from h200_sxm (...)``, with the base's own origin in brackets.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hoppersim.errors import InputError
from hoppersim.machine.entries import flatten_costs
from hoppersim.machine.floorplan import floorplan_to_data, load_floorplan
from hoppersim.machine.provenance import TAKEN_OVER
from hoppersim.machine.rules import COSTS, closest, is_name, require_known, sections

PRESETS = Path(__file__).parent / "presets"
MOST_BASES = 8
"""Files that a chain of bases may lead through."""


def preset_names() -> tuple[str, ...]:
    """List the presets of the package."""
    stems = (file.stem for file in PRESETS.glob("*.toml"))
    return tuple(sorted(stem for stem in stems if stem.isidentifier()))


def read_preset(preset: str | Path) -> tuple[Path, dict[str, Any]]:
    """Read a preset, with what it takes over from its base.

    Parameters
    ----------
    preset
        Name of a preset of the package, or path of a TOML file of the same shape.

    Returns
    -------
    tuple
        The preset's file, and its data without ``base``.

    Raises
    ------
    InputError
        If a file is unknown, cannot be read, has an unknown section, or is its own base.
    """
    return _read(preset, ())


def read_toml(file: Path, field: str = "machine") -> dict[str, Any]:
    """Read a TOML file, which `field` names.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(field, str(file), f"must be a readable TOML file ({error})") from error


def _read(preset: str | Path, above: tuple[Path, ...]) -> tuple[Path, dict[str, Any]]:
    field, prefix = ("base", "base.") if above else ("machine", "")
    file = _find(preset, field)
    data = read_toml(file, field)
    if file.resolve() in above:
        raise InputError(field, str(preset), "must not lead back to the file itself", "remove it")
    if len(above) > MOST_BASES:
        raise InputError(
            field, str(preset), f"must not lead through more than {MOST_BASES} files", "remove it"
        )
    known = ("name", "base", "floorplan", "tables", COSTS, *sections())
    for name in data:
        require_known(f"{prefix}{name}", name, known, "section of a machine")
    if not is_name(data.get("name")):
        raise InputError(f"{prefix}name", data.get("name"), "must be the machine's name as text", file.stem)
    base = data.pop("base", None)
    if base is None:
        return file, data
    if not isinstance(base, str):
        raise InputError(f"{prefix}base", base, "must be the name of a preset or the path of a .toml file")
    there = file.parent / base if base.endswith(".toml") else base
    return file, _merged(data, *_read(there, (*above, file.resolve())))


def _find(preset: str | Path, field: str) -> Path:
    if isinstance(preset, Path) or preset.endswith(".toml"):
        return Path(preset)
    if preset not in preset_names():
        rule = f"must be a preset ({', '.join(preset_names())}) or the path of a .toml file"
        raise InputError(field, preset, rule, closest(preset, preset_names()))
    return PRESETS / f"{preset}.toml"


def _merged(own: dict[str, Any], file: Path, base: dict[str, Any]) -> dict[str, Any]:
    """Put what a file states over what its base states; what has the wrong shape is left to later checks."""
    found = dict(own)
    for section in ("tables", COSTS, *sections()):
        above, below = own.get(section, {}), base.get(section)
        if isinstance(above, dict) and isinstance(below, dict):
            if section == COSTS:
                above, below = dict(flatten_costs(above)), dict(flatten_costs(below))
            taken = {name: _taken_over(entry, base["name"], file) for name, entry in below.items()}
            found[section] = taken | above
    if "floorplan" not in own:
        found["floorplan"] = _taken_over(_floorplan(base.get("floorplan"), file), base["name"], file)
    return found


def _taken_over(entry: Any, name: str, file: Path) -> Any:
    """Give a number, table or floorplan of the base with an origin that says so."""
    if not isinstance(entry, dict) or not isinstance(entry.get("origin"), str):
        return entry
    kind = "provisional" if entry["origin"].startswith("provisional:") else "assumed"
    taken = {**entry, "origin": f"{kind}: {TAKEN_OVER} {name} ({entry['origin']})"}
    if isinstance(entry.get("file"), str) and (file.parent / entry["file"]).is_file():
        taken["file"] = str(file.parent / entry["file"])
    return taken


def _floorplan(stated: Any, file: Path) -> Any:
    """Give the base's floorplan as data, where it names a file."""
    if not isinstance(stated, str):
        return stated
    there = file.parent / stated
    return floorplan_to_data(load_floorplan(there if there.is_file() else PRESETS / stated))
