"""Turns a mismatch between a file and the language into an error that names the field and a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from hoppersim.errors import InputError
from hoppersim.program import operations, work
from hoppersim.program.operands import nearest_name
from hoppersim.program.operations import Affine, Operation

_MESSAGE = re.compile(r"(?P<text>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_OPERATIONS: dict[str, type[msgspec.Struct]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(Operation)
}
_STRUCTS: dict[str, type[msgspec.Struct]] = {
    "": work.Work,
    "flows": work.Flow,
    "program": work.Program,
    "launch": work.Launch,
    "roles": work.Role,
    "buffers": work.Buffer,
    "barriers": work.Barrier,
    "maps": work.TensorMap,
    "allocations": work.Allocation,
    "sms": work.SmSet,
}


def explain_mismatch(message: str, document: dict[str, Any]) -> InputError:
    """Make an error of the decoder's message and the document that it refused."""
    match = _MESSAGE.match(message)
    text, path = (match["text"], match["path"] or "") if match else (message, "")
    steps = _steps(path)
    value = _follow(document, steps)
    field = path.removeprefix(".")
    if found := re.search(r"unknown field `(.*)`", text):
        return _unknown_field(field, found[1], _struct_at(document, steps))
    if found := re.search(r"missing required field `(.*)`", text):
        return InputError(_join(field, found[1]), None, "this field is required")
    if steps and steps[-1] == "op":
        rule = "must be an operation of the language"
        return InputError(field, value, rule, nearest_name(str(value), _OPERATIONS))
    choices = list(_choices(_struct_at(document, steps[:-1]), str(steps[-1]) if steps else ""))
    if choices and "= " not in text:  # a number that is too large is meant as one
        rule = f"must be {' or '.join(map(str, choices))}"
        near = nearest_name(str(value), [str(choice) for choice in choices])
        return InputError(field, value, f"{rule} ({_lower(text)})", near)
    return InputError(field, value, _lower(text).replace("`", ""))


def _unknown_field(field: str, name: str, kind: type[msgspec.Struct]) -> InputError:
    tag = kind.__struct_config__.tag or kind.__name__
    rule = f"{tag} has the fields {', '.join(kind.__struct_fields__)}"
    return InputError(_join(field, name), name, rule, nearest_name(name, kind.__struct_fields__))


def _steps(path: str) -> list[str | int]:
    return [int(index) if index.isdigit() else key or index for key, index in _STEP.findall(path)]


def _follow(document: Any, steps: list[str | int]) -> Any:
    """Give the value at a path; None where the path does not lead to one."""
    for step in steps:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _struct_at(document: dict[str, Any], steps: list[str | int]) -> type[msgspec.Struct]:
    """Give the struct that the table at a path should hold."""
    value = _follow(document, steps)
    if isinstance(value, dict) and "op" in value:
        return _OPERATIONS.get(value["op"], operations.For)
    keys = [step for step in steps if isinstance(step, str)]
    return _STRUCTS.get(keys[-1] if keys else "", Affine)


def _choices(kind: type[msgspec.Struct], field: str) -> Iterator[object]:
    """List the literal values that a field accepts."""
    pending = [get_type_hints(kind).get(field)] if field in kind.__struct_fields__ else []
    for hint in pending:
        if get_origin(hint) is Literal:
            yield from get_args(hint)
        elif get_origin(hint) is not tuple:
            pending.extend(get_args(hint))


def _join(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
