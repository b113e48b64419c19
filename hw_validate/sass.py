"""What stands in the machine code: instruction counts, loops, local memory, divisions. Needs nvdisasm."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
_LABEL = re.compile(r"^(\.L_x_\d+):")
_TARGET = re.compile(r"`\((\.L_x_\d+)\)")
_OPCODE = re.compile(r"(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)")
_LOCAL = ("LDL", "STL")
_SLOW = ("CALL", "MUFU", "I2F", "F2I")
"""Signs of a division by a value that is known at run time only."""


@dataclass(frozen=True)
class Listing:
    """A kernel's instructions in order, and its loops as ranges of them."""

    instructions: tuple[str, ...]
    loops: tuple[tuple[int, int], ...]

    def counts(self) -> dict[str, int]:
        """Count the instructions by their first word."""
        return dict(sorted(Counter(_opcode(text) for text in self.instructions).items()))

    def local_memory(self) -> list[str]:
        """List the accesses to local memory: spilled registers."""
        return [text for text in self.instructions if _opcode(text) in _LOCAL]

    def divisions_in_loops(self) -> list[str]:
        """List the signs of divisions inside loops."""
        inside = {place for first, last in self.loops for place in range(first, last + 1)}
        return [
            self.instructions[place] for place in sorted(inside) if _opcode(self.instructions[place]) in _SLOW
        ]


def find_nvdisasm() -> Path | None:
    """Find the disassembler: that of the nvidia-cuda-nvdisasm package, else one on the PATH."""
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in Path(folder).glob("*/bin/nvdisasm"):
            return found
    on_path = shutil.which("nvdisasm")
    return Path(on_path) if on_path else None


def disassemble(code: bytes) -> Listing:
    """Disassemble a cubin of one kernel.

    Raises
    ------
    FileNotFoundError
        If there is no nvdisasm.
    """
    tool = find_nvdisasm()
    if tool is None:
        raise FileNotFoundError("nvdisasm is missing; install nvidia-cuda-nvdisasm")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code)
        file.flush()
        command = [str(tool), "-c", file.name]
        return parse_listing(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def parse_listing(text: str) -> Listing:
    """Read what nvdisasm prints."""
    instructions: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = len(instructions)
        elif match := _INSTRUCTION.match(line):
            instructions.append(match[1])
    loops = []
    for place, instruction in enumerate(instructions):
        target = _TARGET.search(instruction)
        if target and _opcode(instruction) == "BRA" and labels.get(target[1], place + 1) < place:
            loops.append((labels[target[1]], place))
    return Listing(tuple(instructions), tuple(loops))


def _opcode(instruction: str) -> str:
    found = _OPCODE.match(instruction)
    return found[1].partition(".")[0] if found else ""
