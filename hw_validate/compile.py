"""CUDA C++ text to a cubin with NVRTC, on a machine that needs no GPU; also what ptxas says of it."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoppersim.errors import HopperSimError

ARCHITECTURE = "sm_90a"
_USAGE = {
    "registers": r"Used (\d+) registers",
    "stack": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
}


class CompileError(HopperSimError):
    """NVRTC refused a source, or is not installed; the message holds its log."""


@dataclass(frozen=True)
class Cubin:
    """Machine code of one source.

    Parameters
    ----------
    code
        The cubin.
    key
        Hash of source, options and compiler version: the identity of the code.
    registers
        Registers of a thread; -1 where the compiler did not say.
    stack, spill_stores, spill_loads
        Bytes of local memory: all 0 in a kernel that spills nothing.
    log
        What the compiler printed.
    """

    code: bytes
    key: str
    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    log: str


def compile_source(source: str, defines: tuple[str, ...] = (), cache: Path | None = None) -> Cubin:
    """Compile CUDA C++ to machine code for Hopper.

    Parameters
    ----------
    source
        Text that includes no headers.
    defines
        Macros to define.
    cache
        Folder in which results are kept by hash; None takes `HW_VALIDATE_CACHE`, or one in the user's cache.

    Raises
    ------
    CompileError
        If NVRTC is missing or refuses the source.
    """
    nvrtc = _nvrtc()
    version = _check(nvrtc, nvrtc.nvrtcVersion())
    options = [
        f"--gpu-architecture={ARCHITECTURE}",
        "--std=c++17",
        "--ptxas-options=-v",
        "--diag-suppress=177",
    ]
    options += [f"--define-macro={name}" for name in defines]
    key = hashlib.sha256("\n".join((source, *options, str(version))).encode()).hexdigest()[:24]
    folder = cache or _cache_folder()
    code_file, log_file = folder / f"{key}.cubin", folder / f"{key}.log"
    if code_file.exists() and log_file.exists():
        return _cubin(code_file.read_bytes(), key, log_file.read_text(encoding="utf-8"))
    code, log = _compile(nvrtc, source, options)
    folder.mkdir(parents=True, exist_ok=True)
    log_file.write_text(log, encoding="utf-8")
    partial = code_file.with_suffix(f".{os.getpid()}")
    partial.write_bytes(code)
    partial.replace(code_file)
    return _cubin(code, key, log)


def compiler_version() -> str:
    """Name the compiler."""
    nvrtc = _nvrtc()
    major, minor = _check(nvrtc, nvrtc.nvrtcVersion())
    return f"NVRTC {major}.{minor}"


def _cache_folder() -> Path:
    named = os.environ.get("HW_VALIDATE_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "hw_validate"


def _nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise CompileError(
            "NVRTC is not installed; install the extra: pip install 'hoppersim[cuda]'"
        ) from error
    return nvrtc


def _check(nvrtc: Any, answer: tuple[Any, ...]) -> Any:
    """Give the values of a call's answer, without its status; raise on a bad one."""
    if int(answer[0]) != 0:
        raise CompileError(f"NVRTC: {answer[0]}")
    values = answer[1:]
    return values[0] if len(values) == 1 else values


def _compile(nvrtc: Any, source: str, options: list[str]) -> tuple[bytes, str]:
    program = _check(nvrtc, nvrtc.nvrtcCreateProgram(source.encode(), b"flow.cu", 0, [], []))
    try:
        status = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])[0]
        log = (
            _text(nvrtc, program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
            .decode()
            .strip("\0\n ")
        )
        if int(status) != 0:
            raise CompileError(f"{status}\n{log}")
        return _text(nvrtc, program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN), log
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _text(nvrtc: Any, program: Any, size: Any, read: Any) -> bytes:
    buffer = b" " * int(_check(nvrtc, size(program)))
    _check(nvrtc, read(program, buffer))
    return buffer


def _cubin(code: bytes, key: str, log: str) -> Cubin:
    found = {name: re.findall(pattern, log) for name, pattern in _USAGE.items()}
    usage = {name: max(map(int, values)) if values else -1 for name, values in found.items()}
    return Cubin(
        code, key, usage["registers"], usage["stack"], usage["spill_stores"], usage["spill_loads"], log
    )
