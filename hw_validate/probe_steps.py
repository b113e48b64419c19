"""The probe's steps on the GPU: what each launches and what it gives. Imports numpy and the driver only."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_validate.driver import Device, DriverError, Shape, clocks
from hw_validate.floorplan_probe import BIG_SHARED, pair_latencies, probe_floorplan
from hw_validate.launch import BOUNDARY, Session

Words = NDArray[np.uint32]

MODULE = "latency"
LIMIT = 30.0
"""Seconds that one launch may take."""
KINDS = {"load": 0, "bulk": 1}
"""A load past the L1 and a bulk copy of the TMA; the numbers are those of the kernels."""
NONE = 2**32 - 1
LINE_BYTES = 128
CLUSTERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
SHARED_KB = (1, 16, 32, 48, 64, 72, 96, 112, 128, 160, 200, 227)
L2_LINES = 2048
L2_BYTES = 16 * 2**20
"""So small that both sides of the L2 can hold all of it."""
L2_LOADS = 11
L2_WRITES = 3
SMEM_LOADS = 256
SMEM_SIZES = (16, 14, 12, 10, 8, 6, 4, 2)
SMEM_ROUNDS = 8
HBM_BYTES = 2 * 2**30
HBM_SWEPT = 512 * 2**20
"""The end of the memory, read to empty the L2 of the rest."""
HBM_LINES = 192
SPIN_CYCLES = 20_000_000


def device_step(session: Session) -> dict[str, Any]:
    """Say which device and driver this is, and how fast each SM's clock ran [GHz]."""
    device = session.device
    count = device.attribute("MULTIPROCESSOR_COUNT")
    cycles, nanoseconds = device.allocate(8 * count), device.allocate(8 * count)
    shape = _one_on_each(count)
    values = [ctypes.c_uint64(cycles), ctypes.c_uint64(nanoseconds), ctypes.c_uint32(SPIN_CYCLES)]
    device.launch(_kernel(session, "clock_rate", shape), shape, values)
    device.wait(LIMIT)
    rates = device.read(cycles, (count,), np.uint64) / device.read(nanoseconds, (count,), np.uint64)
    return {
        "name": device.name,
        "uuid": device.uuid,
        "driver": device.driver_version,
        "sms": count,
        "l2_bytes": device.attribute("L2_CACHE_SIZE"),
        "shared_bytes_per_sm": device.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        "bus_bits": device.attribute("GLOBAL_MEMORY_BUS_WIDTH"),
        "clock_khz": device.attribute("CLOCK_RATE"),
        "memory_clock_khz": device.attribute("MEMORY_CLOCK_RATE"),
        "nvidia_smi": clocks(),
        "sm_ghz": rates.round(4).tolist(),
    }


def occupancy_step(session: Session) -> dict[str, Any]:
    """Ask how many clusters are resident at once, by shared memory of a CTA [KB] and cluster size."""
    table = []
    for kilobytes in SHARED_KB:
        shared = kilobytes * 1024
        function = session.probe("members", shared)
        table.append([_resident(session.device, function, size, shared) for size in CLUSTERS])
    return {"clusters": list(CLUSTERS), "shared_kb": list(SHARED_KB), "resident": table}


def _resident(device: Device, function: Any, size: int, shared: int) -> int:
    try:
        return device.max_clusters(function, Shape((size, 1, 1), (size, 1, 1), 32, shared))
    except DriverError:
        return 0


def l2_step(session: Session) -> dict[str, Any]:
    """Time single lines that the L2 holds, from every SM [cycles].

    Returns
    -------
    dict
        `lines`: line numbers in a buffer that starts at a multiple of 2 MiB; `load`, `bulk`: median of
        several loads of each line, shape (SMs, lines); `written`: the first load after the line has been
        written, with one SM active at a time. A line whose only copy is on the other side of the L2 shows
        there.
    """
    device = session.device
    count = device.attribute("MULTIPROCESSOR_COUNT")
    memory = session.allocation({"name": "l2", "bytes": L2_BYTES, "base": 0})
    lines = sample_lines(L2_LINES, L2_BYTES // LINE_BYTES)
    found: dict[str, Any] = {"lines": lines.tolist()}
    for kind in KINDS:
        found[kind] = _time_lines(session, memory, lines, kind, L2_LOADS).tolist()
    opening = np.arange(0, L2_BYTES, BOUNDARY, dtype=np.uint32) // LINE_BYTES + 1  # a line of each page
    walk = np.concatenate([opening, lines])
    written = np.zeros((L2_WRITES, count, len(lines)), np.uint32)
    for sm in range(count):
        for turn in range(L2_WRITES):
            session.fill(memory, L2_BYTES)
            written[turn, sm] = _time_lines(session, memory, walk, "load", 1, only=sm)[sm, len(opening) :]
    return {**found, "written": np.median(written, axis=0).astype(int).tolist()}


def sample_lines(count: int, lines: int, seed: int = 1) -> Words:
    """Draw different lines out of `lines`: an eighth of them neighbours, the rest anywhere behind those."""
    near = count // 8
    far = near + 2 + np.random.default_rng(seed).permutation(lines - near - 2)[: count - near]
    return np.concatenate([np.arange(2, near + 2), far]).astype(np.uint32)


def smem_step(session: Session) -> dict[str, Any]:
    """Time loads from own and from other SMs' shared memory [cycles].

    Returns
    -------
    dict
        `own`: a load from the SM's own shared memory, by SM; `pairs`: [cluster size, reader, owner, cycles]
        for all pairs of SMs that met in a cluster, median of all meetings in clusters of that size.
    """
    device = session.device
    count = device.attribute("MULTIPROCESSOR_COUNT")
    place, shape = device.allocate(4 * count), _one_on_each(count)
    values = [ctypes.c_uint64(place), ctypes.c_uint32(SMEM_LOADS)]
    device.launch(_kernel(session, "own_latency", shape), shape, values)
    device.wait(LIMIT)
    own = device.read(place, (count,), np.uint32) / SMEM_LOADS
    members = session.probe("members", BIG_SHARED)
    pairs: list[list[float]] = []
    for size in (size for size in SMEM_SIZES if _resident(device, members, size, BIG_SHARED)):
        met: dict[tuple[int, int], list[float]] = {}
        for _ in range(SMEM_ROUNDS):
            for cluster in pair_latencies(session, size, LIMIT)["clusters"]:
                for reader, row in zip(cluster["sms"], cluster["cycles"], strict=True):
                    for owner, cycles in zip(cluster["sms"], row, strict=True):
                        met.setdefault((reader, owner), []).append(cycles)
        pairs += [[size, *pair, float(np.median(cycles))] for pair, cycles in sorted(met.items())]
    return {"own": own.round(2).tolist(), "pairs": pairs}


def hbm_step(session: Session) -> dict[str, Any]:
    """Time single lines that the L2 does not hold, from every SM [cycles].

    Returns
    -------
    dict
        For `load` and `bulk`: `page`, the first line of a page of 2 MiB, and `line`, another line of the
        same page right after it, both of shape (SMs, lines).
    """
    device = session.device
    count = device.attribute("MULTIPROCESSOR_COUNT")
    memory = session.allocation({"name": "hbm", "bytes": HBM_BYTES, "base": 0})
    found = {}
    for seed, kind in enumerate(KINDS):
        _sweep(session, memory + HBM_BYTES - HBM_SWEPT)
        walk = cold_lines(count, HBM_LINES, seed)
        cycles = _time_lines(session, memory, walk, kind, 1)
        found[kind] = {"page": cycles[:, 0::2].tolist(), "line": cycles[:, 1::2].tolist()}
    return found


def cold_lines(sms: int, lines: int, seed: int) -> Words:
    """Draw `lines` pairs of lines of one page for each SM, no line twice, shape (SMs, 2 x lines)."""
    in_page = BOUNDARY // LINE_BYTES
    pages = (HBM_BYTES - HBM_SWEPT) // BOUNDARY
    draw = np.random.default_rng(seed)
    page = np.stack([draw.permutation(pages)[:lines] for _ in range(sms)])
    places = np.stack(
        [draw.permutation(in_page)[: 2 * sms] for _ in range(pages)]
    )  # by page: two for each SM
    mine = np.arange(sms)[:, None]
    pair = np.stack([page * in_page + places[page, 2 * mine + k] for k in range(2)], axis=-1)
    return pair.reshape(sms, 2 * lines).astype(np.uint32)


def spin_step(session: Session) -> dict[str, Any]:
    """Keep all SMs busy between a profiler's marks, for the clocks that it reads."""
    device = session.device
    count = device.attribute("MULTIPROCESSOR_COUNT")
    place, shape = device.allocate(4 * count), _one_on_each(count)
    values = [ctypes.c_uint64(place), ctypes.c_uint32(1), ctypes.c_uint32(SPIN_CYCLES)]
    function = session.probe("members", shape.shared_bytes)
    device.call("cuProfilerStart")
    device.launch(function, shape, values)
    device.wait(LIMIT)
    device.call("cuProfilerStop")
    return {}


ON_DEVICE: dict[str, Callable[[Session], dict[str, Any]]] = {
    "device": device_step,
    "occupancy": occupancy_step,
    "floorplan": probe_floorplan,
    "l2": l2_step,
    "smem": smem_step,
    "hbm": hbm_step,
    "spin": spin_step,
}
"""What runs in a process with the GPU, by name."""


def _one_on_each(sms: int) -> Shape:
    """Give a launch of one CTA for each SM, with so much shared memory that none takes two."""
    return Shape((sms, 1, 1), (1, 1, 1), 32, BIG_SHARED)


def _kernel(session: Session, name: str, shape: Shape) -> Any:
    return session.device.function(session.module(MODULE), name, shape.shared_bytes)


def _time_lines(
    session: Session, memory: int, lines: Words, kind: str, loads: int, only: int = NONE
) -> Words:
    """Time lines from every SM, or from one: median of `loads` loads of each, shape (SMs, lines)."""
    device = session.device
    count, walked = device.attribute("MULTIPROCESSOR_COUNT"), lines.shape[-1]
    places = [device.allocate(size) for size in (lines.nbytes, 4 * count * walked, 4 * count)]
    at, cycles, wrong = places
    device.write(at, np.ascontiguousarray(lines))
    device.zero(wrong, 4 * count)
    shape = _one_on_each(count)
    parameters = [_walk(memory, at, (walked, loads, lines.ndim - 1, only)), ctypes.c_uint32(KINDS[kind])]
    parameters += [ctypes.c_uint64(cycles), ctypes.c_uint64(wrong)]
    device.launch(_kernel(session, "line_latency", shape), shape, parameters)
    device.wait(LIMIT)
    found = device.read(cycles, (count, walked), np.uint32)
    counts = device.read(wrong, (count,), np.uint32)
    for place in places:
        device.free(place)
    if counts.any():
        bad = int(np.argmax(counts != 0))
        what = "a wait gave up" if counts[bad] == NONE else f"{counts[bad]} words were wrong"
        raise RuntimeError(f"{kind}: {what} on SM {bad}")
    return found


def _walk(memory: int, lines: int, words: Sequence[int]) -> NDArray[np.uint8]:
    """Lay out the kernel's `Walk`."""
    data = np.array([memory, lines], np.uint64).tobytes() + np.array(words, np.uint32).tobytes()
    return np.frombuffer(data, np.uint8).copy()


def _sweep(session: Session, memory: int) -> None:
    """Fill the L2 with clean lines of other memory."""
    device = session.device
    place = device.allocate(4)
    shape = Shape((device.attribute("MULTIPROCESSOR_COUNT") * 8, 1, 1), (1, 1, 1), 256, 0)
    values = [ctypes.c_uint64(memory), ctypes.c_uint64(HBM_SWEPT // 4), ctypes.c_uint64(place)]
    device.launch(_kernel(session, "sweep", shape), shape, values)
    device.wait(LIMIT)
    device.free(place)
