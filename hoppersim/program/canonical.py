"""The identity of a work: a hash of its meaning, blind to names and to the seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from hoppersim.program.operands import constant_value
from hoppersim.program.operations import Affine, For, Operation, Stamp
from hoppersim.program.plain import plain
from hoppersim.program.work import Flow, Program, Work

LANGUAGE_VERSION = 1
"""Raised whenever a default or the meaning of an operation changes."""

_REFERENCES = {
    "barrier": "barriers", "buffer": "buffers", "source": "buffers", "destination": "buffers", "map": "maps"
}  # fmt: skip


def work_hash(work: Work) -> str:
    """Hash what a work means: equal for renamed works, different for any change of meaning.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    return hashlib.sha256(canonical_json(work).encode()).hexdigest()


def canonical_json(work: Work) -> str:
    """Write the text that `work_hash` hashes: sorted keys, no names, no seed, no defaults."""
    document = {"language": LANGUAGE_VERSION, "flows": [_flow(flow) for flow in work.flows]}
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def _flow(flow: Flow) -> dict[str, Any]:
    launch = plain(flow.launch)
    launch.pop("seed", None)
    launch["skew"] = _operand(flow.launch.skew, ())
    launch["allocations"] = _nameless(flow.launch.allocations)
    allocations = _numbers(flow.launch.allocations)
    return {"launch": launch, "program": _Renamer(flow.program, allocations).program()}


class _Renamer:
    """Writes one program with every name replaced by the place of its declaration."""

    def __init__(self, program: Program, allocations: dict[str, int]) -> None:
        self.source = program
        self.allocations = allocations
        self.tables = {
            "barriers": _numbers(program.barriers),
            "buffers": _numbers(program.buffers),
            "maps": _numbers(program.maps),
        }
        self.stamps: dict[str, int] = {}

    def program(self) -> dict[str, Any]:
        """Write the whole program."""
        maps = _nameless(self.source.maps)
        for item, tensor_map in zip(maps, self.source.maps, strict=True):
            item["allocation"] = _number(self.allocations, tensor_map.allocation)
        roles = _nameless(self.source.roles)
        for item, role in zip(roles, self.source.roles, strict=True):
            item["body"] = self.body(role.body, ())
            if "ranks" in item:
                item["ranks"] = sorted(set(role.ranks))
        return {
            "roles": roles,
            "maps": maps,
            "buffers": _nameless(self.source.buffers),
            "barriers": _nameless(self.source.barriers),
            "without": sorted(set(self.source.without)),
        }

    def body(self, body: Iterable[Operation], loops: tuple[str, ...]) -> list[dict[str, Any]]:
        """Write the operations of a body inside the named loops."""
        return [self.operation(operation, loops) for operation in body]

    def operation(self, operation: Operation, loops: tuple[str, ...]) -> dict[str, Any]:
        """Write one operation."""
        item: dict[str, Any] = plain(operation)
        if isinstance(operation, For):
            item.pop("name", None)
            item["body"] = self.body(operation.body, (*loops, operation.name))
            return item
        if isinstance(operation, Stamp):
            item["name"] = self.stamps.setdefault(operation.name, len(self.stamps))
            return item
        for field in operation.__struct_fields__:
            value = getattr(operation, field)
            if field in _REFERENCES:
                item[field] = _number(self.tables[_REFERENCES[field]], value)
            elif isinstance(value, Affine):
                item[field] = _operand(value, loops)
                if item[field] == _default(operation, field):
                    del item[field]
            elif field == "coordinates":
                item[field] = [_operand(part, loops) for part in value]
        return item


def _operand(operand: int | Affine, loops: tuple[str, ...]) -> Any:
    """Write an operand; loops are numbered from the outermost, and one without effect is left out."""
    constant = constant_value(operand)
    if constant is not None:
        return constant
    item = plain(operand)
    assert isinstance(operand, Affine)
    steps = {_depth(name, loops): step for name, step in operand.loops.items() if step}
    item.pop("loops", None)
    return {**item, "loops": steps} if steps else item


def _default(operation: Operation, field: str) -> Any:
    """Give the default of a field; None where it has none."""
    defaults = operation.__struct_defaults__
    return dict(zip(operation.__struct_fields__[::-1], defaults[::-1], strict=False)).get(field)


def _depth(name: str, loops: tuple[str, ...]) -> str:
    """Give the number of an enclosing loop; of two with one name, the inner one is meant."""
    return str(len(loops) - 1 - loops[::-1].index(name)) if name in loops else f"?{name}"


def _numbers(items: Iterable[Any]) -> dict[str, int]:
    return {item.name: place for place, item in enumerate(items)}


def _number(numbers: dict[str, int], name: str) -> int | str:
    return numbers.get(name, f"?{name}")


def _nameless(items: Iterable[Any]) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = [plain(item) for item in items]
    for item in written:
        del item["name"]
    return written
