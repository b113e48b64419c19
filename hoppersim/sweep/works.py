"""The work of a point: a case by its fields, or a flow file with some of its values changed."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from hoppersim.errors import InputError
from hoppersim.machine.rules import closest
from hoppersim.program.case_spec import Case
from hoppersim.program.file_errors import explain_mismatch
from hoppersim.program.work import SmSet, Work
from hoppersim.units import parse_bytes

SIZES = ("row_bytes", "footprint", "shared_bytes")
"""Fields of a case that are sizes in bytes, and may have a suffix."""
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def case_names() -> tuple[str, ...]:
    """List the fields of a case, those of its set of SMs by dotted names."""
    inner = tuple(f"sms.{name}" for name in SmSet.__struct_fields__)
    return tuple(name for name in Case.__struct_fields__ if name != "sms") + inner


def make_case(fields: dict[str, Any]) -> Case:
    """Make a case of its fields by name.

    Raises
    ------
    InputError
        If a field is unknown, missing or of the wrong type.
    """
    document: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in case_names():
            raise InputError(name, value, "is no field of a case", closest(name, case_names()))
        table, _, field = name.rpartition(".")
        (document.setdefault(table, {}) if table else document)[field] = case_value(name, value)
    try:
        return msgspec.convert(document, Case)
    except msgspec.ValidationError as error:
        raise _case_error(str(error), fields) from None


def case_value(name: str, value: Any) -> Any:
    """Give the value of a field of a case, a size as a number of bytes.

    Raises
    ------
    InputError
        If a size cannot be read.
    """
    try:
        return parse_bytes(value) if name in SIZES and isinstance(value, str) else value
    except ValueError as error:
        raise InputError(name, value, f"must be a size in bytes ({error})") from None


def _case_error(message: str, fields: dict[str, Any]) -> InputError:
    """Name the field and what it may be, from the decoder's message."""
    text, _, path = message.partition(" - at `$.")
    name = path.rstrip("`")
    if missing := re.search(r"missing required field `(.*)`", text):
        return InputError(missing[1], None, "this field of the case is required")
    choices = _choices(get_type_hints(Case).get(name))
    value = fields.get(name)
    if choices:
        return InputError(name, value, f"must be {' or '.join(choices)}", closest(str(value), choices))
    return InputError(name, value, text[:1].lower() + text[1:].replace("`", ""))


def _choices(hint: Any) -> list[str]:
    if get_origin(hint) is Literal:
        return [str(choice) for choice in get_args(hint)]
    return [choice for part in get_args(hint) for choice in _choices(part)]


def make_flow(document: dict[str, Any], places: dict[str, Any]) -> Work:
    """Make a work of a flow file's content with some of its values changed.

    Parameters
    ----------
    document
        The work as plain data.
    places
        Values by path, such as ``flows[0].launch.seed``.

    Raises
    ------
    InputError
        If a path leads nowhere or a value has the wrong type.
    """
    changed = msgspec.json.decode(msgspec.json.encode(document))
    for path, value in places.items():
        _put(changed, path, value)
    try:
        return msgspec.convert(changed, Work)
    except msgspec.ValidationError as error:
        raise explain_mismatch(str(error), changed) from None


def _put(document: Any, path: str, value: Any) -> None:
    """Change the value at a path; tables that the file leaves out are made."""
    *steps, last = [int(index) if index else name for name, index in _STEP.findall(path)]
    try:
        for step in steps:
            document = document.setdefault(step, {}) if isinstance(document, dict) else document[step]
        if isinstance(document, list):
            document[last]
        document[last] = value
    except (IndexError, TypeError):
        raise InputError(path, value, "leads nowhere in the flow file") from None
