"""The compiled fabric: the table-driven loop behind the interface that the engine speaks.

Numba's cache notices edits of the file that holds a function, not of the files that it inlines; so the cache
lives in a folder named by a hash of every inlined source and of the numba version.
"""

from __future__ import annotations

import gc
import hashlib
import os
from array import array
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from hoppersim.engine.compiled import columns as c
from hoppersim.engine.compiled.state import grow, make_state
from hoppersim.engine.interface import DEFAULT_MEMORY_LINES, KINDS, LogEntry, Passage, Transfer
from hoppersim.engine.output import COUNTER_NAMES
from hoppersim.engine.tables import SUBTICKS, Tables, first_event, first_news, launch_ticks, make_tables
from hoppersim.errors import InternalError
from hoppersim.machine import Machine

INLINED_MODULES = (
    "hoppersim.units",
    "hoppersim.blocks.addresses",
    "hoppersim.blocks.l2",
    "hoppersim.blocks.lrc",
    "hoppersim.blocks.tma",
    "hoppersim.engine.interface",
    "hoppersim.engine.tables",
    "hoppersim.engine.compiled.columns",
    "hoppersim.engine.compiled.inlined",
    "hoppersim.engine.compiled.prefetch",
    "hoppersim.engine.compiled.state",
    "hoppersim.engine.compiled.calendar",
    "hoppersim.engine.compiled.passages",
    "hoppersim.engine.compiled.coalescer",
    "hoppersim.engine.compiled.arrivals",
    "hoppersim.engine.compiled.exits",
    "hoppersim.engine.compiled.misses",
    "hoppersim.engine.compiled.requests",
    "hoppersim.engine.compiled.copies",
    "hoppersim.engine.compiled.kernel",
)
CACHE_VARIABLE = "HOPPERSIM_CACHE"


class Kernel(NamedTuple):
    """The compiled entry points."""

    advance: Callable[..., int]
    inject: Callable[..., None]
    warm: Callable[..., None]


def source_key(paths: list[Path]) -> str:
    """Hash the inlined sources and the versions that decide what they compile to."""
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Folder of the compiled kernel for the present sources; `HOPPERSIM_CACHE` moves its parent."""
    base = os.environ.get(CACHE_VARIABLE) or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    paths = [Path(str(import_module(name).__file__)) for name in INLINED_MODULES]
    return Path(base).expanduser() / "hoppersim" / source_key(paths)


def is_compiled() -> bool:
    """Say whether a compiled kernel lies in the cache, so that a first use need not compile."""
    return any(cache_folder().glob("*.nbc"))


@cache
def load_kernel() -> Kernel:
    """Compile the kernel, or take it from the cache."""
    from hoppersim.engine.compiled import kernel

    config: Any = numba.config
    compiler = numba.njit(cache=True, _nrt=False)  # type: ignore[call-overload]
    previous, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder())
    try:
        compiled = [compiler(entry) for entry in (kernel.advance, kernel.inject, kernel.warm)]
    finally:
        config.CACHE_DIR = previous
    gc.freeze()  # numba leaves a hundred thousand objects that stay; collections need not walk them again
    return Kernel(*compiled)


class CompiledFabric:
    """Line traffic in a compiled loop.

    Parameters
    ----------
    machine
        The machine to model.
    granular
        Log the bytes of every line (see `make_tables`).
    memory_lines
        Lines of the address space; no transfer may reach beyond.
    kinds
        Kinds of transfers that may come: the sooner they start, the smaller the steps of the fabric.
    """

    def __init__(
        self,
        machine: Machine,
        granular: bool = False,
        memory_lines: int = DEFAULT_MEMORY_LINES,
        kinds: frozenset[int] = KINDS,
    ) -> None:
        self.tables: Tables = make_tables(machine, granular, kinds)
        self.lookahead = first_event(self.tables, kinds)
        self.latest_unknown = first_news(self.tables)
        self._state = make_state(machine, self.tables, memory_lines)
        self._kernel = load_kernel()
        self._passages: list[Passage] = []
        self._launch = [launch_ticks(self.tables, kind) for kind in sorted(KINDS)]

    def warm(self, first_line: int, last_line: int) -> None:
        """Bring a range of lines into the L2 of every partition."""
        self._kernel.warm(self.tables, self._state, first_line, last_line)

    def inject(self, transfers: list[Transfer]) -> None:
        """Take transfers in order of (tick, order)."""
        self._make_room(len(transfers))
        values, passed = array("q"), self.frontier
        if self.idle and transfers:  # the calendar need not turn through time in which nothing happens
            scalars = self._state.scalars
            scalars[c.BUCKET] = max(int(scalars[c.BUCKET]), transfers[0].tick >> c.BUCKET_BITS)
        for transfer in transfers:
            start = transfer.tick + self._launch[transfer.kind]
            if start < passed:
                raise InternalError(
                    f"a transfer at tick {transfer.tick} comes after the fabric passed {start}"
                )
            _write(transfer, start, values)
        self._kernel.inject(self.tables, self._state, np.array(values))

    def _make_room(self, count: int) -> None:
        scalars = self._state.scalars
        packets = len(self._state.packets) if scalars[c.PACKETS_LEFT] <= count else 0
        records = len(self._state.records) + count if scalars[c.RECORDS_LEFT] <= count else 0
        if packets or records:
            self._state = grow(self._state, packets, records)

    def advance(self, horizon: int) -> list[LogEntry]:
        """Process all events before `horizon`, but stop `lookahead` after the first entry that it returns."""
        entries: list[LogEntry] = []
        scalars = self._state.scalars
        while True:
            reason = self._kernel.advance(self.tables, self._state, horizon, self.lookahead)
            count = int(scalars[c.LOG_COUNT])
            if count:
                entries += self._read_log(count)
                scalars[c.LOG_COUNT] = 0
            if reason == c.DONE:
                return entries
            horizon = min([horizon, *(entry.tick + self.lookahead for entry in entries)])
            if reason == c.NEED_PACKETS:
                self._state = grow(self._state, packets=len(self._state.packets))

    def _read_log(self, count: int) -> list[LogEntry]:
        """Give the first entries of the log, and keep the passages that they tell."""
        log, scalars = self._state.log, self._state.scalars
        if not scalars[c.ENDED]:
            return [LogEntry(tick, at, 0, data) for tick, at, data in log[:count, : c.L_TILE].tolist()]
        scalars[c.ENDED] = 0
        rows = log[:count].tolist()
        self._passages += [
            Passage(row[c.L_TILE], row[c.L_DESTINATION], row[c.L_TICK], tuple(row[c.L_STAGES :]))
            for row in rows
            if row[c.L_TILE] >= 0
        ]
        return [LogEntry(row[c.L_TICK], row[c.L_BARRIER], 0, row[c.L_BYTES]) for row in rows]

    def passages(self) -> list[Passage]:
        """Give the passages of transfers with a number that ended since the last call."""
        passages, self._passages = self._passages, []
        return passages

    @property
    def frontier(self) -> int:
        """Tick up to which everything inside the fabric is settled."""
        return int(self._state.scalars[c.NOW])

    @property
    def idle(self) -> bool:
        """Whether no line is under way."""
        return bool(self._state.scalars[c.ACTIVE] == 0)

    @property
    def lines(self) -> int:
        """Line requests made so far."""
        return int(self._state.scalars[c.LINES])

    def counters(self) -> dict[str, NDArray[np.int64]]:
        """Counters so far, by block name, one value for each unit."""
        return collect_counters(self.tables, self._state.count, self._state.busy)


def _write(transfer: Transfer, start: int, values: array[int]) -> None:
    """Append a transfer as the kernel's `inject` reads it."""
    _, kind, sm, _, destinations, address, row_bytes, counts, strides, size, tile, paired = transfer
    count = len(destinations)
    values.extend((kind, sm, address, row_bytes, *counts, *strides, size, count, start, tile, paired))
    for destination in destinations:
        values.extend(destination)


def collect_counters(
    tables: Tables, count: NDArray[np.int64], busy: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """Cut the counter rows to their units, and add the busy ticks of every kind of server."""
    units = _units(tables)
    result: dict[str, Any] = {}
    for row, name in enumerate(COUNTER_NAMES[: c.COUNTERS]):
        result[name] = count[row, : units[name.split(".")[0]]].copy()
    first = (tables.slice_server, tables.fabric_server, tables.hbm_server, tables.gpc_server,
             tables.sm_server, tables.copy_server, tables.peer_server)  # fmt: skip
    names = ("slice", "fabric", "hbm", "gpc", "sm", "dsmem")
    for name, start, end in zip(names, first[:-1], first[1:], strict=True):
        result[f"busy.{name}"] = busy[start:end] // SUBTICKS
    result["busy.tma"] = result["tma.lines"] * tables.line_interval
    return result


def _units(tables: Tables) -> dict[str, int]:
    return {
        "tma": tables.sms, "sm": tables.sms, "lrc": tables.slices, "gpc": tables.gpcs, "l2": tables.slices,
        "hbm": tables.channels,
    }  # fmt: skip
