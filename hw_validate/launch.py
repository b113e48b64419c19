"""One point of a plan on the GPU: memory, tensor maps, launches, repeats, verification."""

from __future__ import annotations

import contextlib
import ctypes
import math
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hw_validate import records
from hw_validate.driver import Device, DriverError, Shape

BOUNDARY = 2 * 2**20
KEPT_MEMORY = 48 * 2**30
FLUSH_BYTES = 512 * 2**20
WARM_UP_CYCLES = 800_000_000
NOT_THERE = 255
NO_QUOTA = 2**30
BAD_IMAGE = (200, 209, 218, 222, 223)  # invalid image, no binary for the GPU, invalid PTX, unsupported


@dataclass
class Prepared:
    """One flow, ready to launch."""

    flow: dict[str, Any]
    shape: Shape
    clusters: int
    max_clusters: int
    parameters: np.ndarray[Any, Any]
    out: int
    out_shape: tuple[int, int]
    tickets: int
    stream: Any
    functions: dict[str, Any] = field(default_factory=dict)


class Session:
    """Runs points on one device; keeps modules and filled memory between them."""

    def __init__(self, device: Device, bundle: Path, plan: dict[str, Any], groups: list[list[int]]) -> None:
        self.device = device
        self.bundle = bundle
        self.plan = plan
        self.groups = groups
        self._modules: dict[str, Any] = {}
        self._memory: dict[tuple[str, int, int], tuple[int, int]] = {}
        self._scratch = 0
        self._probes = self.module("probes")

    def module(self, key: str) -> Any:
        """Load a module of the bundle once; where the driver refuses the cubin, compile its source here."""
        if key not in self._modules:
            entry = self.plan["modules"][key]
            image = (self.bundle / entry["cubin"]).read_bytes()
            try:
                self._modules[key] = self.device.load(image)
            except DriverError as error:
                if error.code not in BAD_IMAGE or shutil.which("nvcc") is None:
                    raise
                self._modules[key] = self.device.load(
                    _compile_here(self.bundle / entry["source"], entry["defines"])
                )
        return self._modules[key]

    def probe(self, name: str, shared_bytes: int = 0) -> Any:
        """Get one of the probes' kernels."""
        return self.device.function(self._probes, name, shared_bytes)

    def fill(self, address: int, size: int) -> None:
        """Write the pattern by which data are verified: a word says where it lies."""
        shape = Shape((self.device.attribute("MULTIPROCESSOR_COUNT") * 8, 1, 1), (1, 1, 1), 256, 0)
        self.device.launch(self.probe("fill"), shape, [ctypes.c_uint64(address), ctypes.c_uint64(size // 4)])
        self.device.wait(60)

    def warm_up(self) -> None:
        """Keep all SMs busy for a while, so that the clocks have risen before anything is timed."""
        count = self.device.attribute("MULTIPROCESSOR_COUNT")
        place = self.device.allocate(4 * count)
        values = [ctypes.c_uint64(place), ctypes.c_uint32(1), ctypes.c_uint32(WARM_UP_CYCLES)]
        self.device.launch(self.probe("members"), Shape((count, 1, 1), (1, 1, 1), 32, 0), values)
        self.device.wait(60)
        self.device.free(place)

    def poison(self) -> None:
        """Fill the shared memory of all SMs with a word that no data holds."""
        shared = self.device.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        shape = Shape((self.device.attribute("MULTIPROCESSOR_COUNT"), 1, 1), (1, 1, 1), 256, shared)
        self.device.launch(self.probe("poison_shared", shared), shape, [ctypes.c_uint32(shared // 4 * 4)])
        self.device.wait(60)

    def allocation(self, spec: dict[str, Any]) -> int:
        """Give the address of an allocation, filled, at its offset from a 2 MiB boundary."""
        key = (spec["name"], spec["bytes"], spec["base"])
        if key not in self._memory:
            size = -(-spec["bytes"] // 4) * 4 + spec["base"] + BOUNDARY
            if sum(held for _, held in self._memory.values()) + size > KEPT_MEMORY:
                self.forget()
            raw = self.device.allocate(size)
            self._memory[key] = (raw, size)
            self.fill(-(-raw // BOUNDARY) * BOUNDARY + spec["base"], -(-spec["bytes"] // 4) * 4)
        return -(-self._memory[key][0] // BOUNDARY) * BOUNDARY + int(spec["base"])

    def forget(self) -> None:
        """Free all filled memory."""
        for raw, _ in self._memory.values():
            self.device.free(raw)
        self._memory.clear()

    def flush(self) -> None:
        """Push everything out of the L2 by reading other data, so that no line is left dirty."""
        if not self._scratch:
            self._scratch = self.device.allocate(FLUSH_BYTES)
            self.device.zero(self._scratch, FLUSH_BYTES)
        shape = Shape((self.device.attribute("MULTIPROCESSOR_COUNT") * 8, 1, 1), (1, 1, 1), 256, 0)
        values = [
            ctypes.c_uint64(self._scratch),
            ctypes.c_uint64(FLUSH_BYTES // 16),
            ctypes.c_uint64(self._scratch),
        ]
        self.device.launch(self.probe("read_all"), shape, values)
        self.device.wait(60)

    def prepare(self, flow: dict[str, Any], number: int) -> Prepared:
        """Resolve the grid, encode the tensor maps and allocate the records of a flow."""
        device, size = self.device, flow["cluster_size"]
        functions = {
            name: device.function(self.module(flow[name]), "flow", flow["shared_bytes"])
            for name in ("timed", "verifying")
        }
        cluster = tuple(flow["cluster"])
        one = Shape(cluster, cluster, flow["threads"], flow["shared_bytes"])
        fitting = device.max_clusters(functions["timed"], one)
        if fitting < 1:
            raise ValueError(
                f"no cluster of {size} with {flow['shared_bytes']} B of shared memory fits on this GPU"
            )
        wanted = fitting if flow["grid"] == "fill" else flow["grid"] // size
        launched = fitting if flow["subset"] else wanted
        shape = Shape((cluster[0] * launched, *cluster[1:]), cluster, flow["threads"], flow["shared_bytes"])
        out_shape = (launched * size, flow["record_words"])
        out = device.allocate(math.prod(out_shape) * 8)
        tickets = device.allocate(4 * 1024)
        table, quota = self._groups(flow)
        groups = device.allocate(4 * len(table))
        device.write(groups, table)
        maps = [
            device.tensor_map(item, self.allocation(item["memory"]) + item["base"]) for item in flow["maps"]
        ]
        tail = (
            np.array([out, groups, tickets], np.uint64).tobytes()
            + np.array([wanted, quota], np.uint32).tobytes()
        )
        blob = b"".join(maps or [bytes(128)]) + tail
        parameters = np.frombuffer(blob + bytes(-len(blob) % 64), np.uint8).copy()
        stream = device.stream if number == 0 else device.call("cuStreamCreate", 1)
        return Prepared(flow, shape, wanted, fitting, parameters, out, out_shape, tickets, stream, functions)

    def _groups(self, flow: dict[str, Any]) -> tuple[np.ndarray[Any, Any], int]:
        """Give the group of each SM id and the quota of CTAs in a group, for the flow's set of SMs."""
        table = np.full(1024, NOT_THERE, np.uint32)
        subset = flow["subset"]
        if not subset:
            return table, NO_QUOTA
        if not self.groups:
            raise ValueError("a set of SMs needs the floorplan: put the floorplan probe into the bundle")
        single = flow["cluster_size"] == 1 and subset["per_gpc"] > 0
        for group, sms in enumerate(self.groups):
            if subset["gpcs"] and group not in subset["gpcs"]:
                continue
            order = sorted(sms, key=lambda sm: (sm % 2, sm)) if subset["spread"] else sorted(sms)
            table[order[: subset["per_gpc"]] if single else order] = group
        return table, subset["per_gpc"] if subset["per_gpc"] and not single else NO_QUOTA

    def once(self, flows: list[Prepared], kind: str, limit: float) -> tuple[list[records.Run], float]:
        """Launch all flows at the same time and give what each wrote, and the milliseconds by events."""
        device = self.device
        for item in flows:
            device.zero(item.out, math.prod(item.out_shape) * 8)
            device.zero(item.tickets, 4 * 1024)
        if len(flows) > 1:
            device.wait(limit)
        begin = device.event()
        for item in flows:
            device.launch(item.functions[kind], item.shape, [item.parameters], item.stream)
        end = device.event()
        for item in flows:
            device.wait(limit, item.stream)
        elapsed = device.elapsed(begin, end)
        read = [device.read(item.out, item.out_shape, np.uint64) for item in flows]
        return [
            records.decode(words, item.flow["warps"]) for words, item in zip(read, flows, strict=True)
        ], elapsed

    @contextlib.contextmanager
    def prepared(self, point: dict[str, Any]) -> Any:
        """Prepare all flows of a point; free their records at the end."""
        flows = [self.prepare(flow, number) for number, flow in enumerate(point["flows"])]
        self.poison()
        try:
            yield flows
        finally:
            with contextlib.suppress(DriverError):
                for item in flows:
                    self.device.free(item.out)
                    self.device.free(item.tickets)
            if any(flow["stores"] for flow in point["flows"]):
                self.forget()

    def run(self, point: dict[str, Any], limit: float) -> dict[str, Any]:
        """Run a point: warm launches, timed repeats, then one launch that verifies data."""
        with self.prepared(point) as flows:
            return self._measure(point, flows, limit)

    def _measure(self, point: dict[str, Any], flows: list[Prepared], limit: float) -> dict[str, Any]:
        runs: list[list[records.Run]] = []
        times: list[float] = []
        for _ in range(point["warm"]):
            self.once(flows, "timed", limit)
        for _ in range(point["repeats"]):
            if point["warm"] == 0:
                self.flush()
            made, elapsed = self.once(flows, "timed", limit)
            runs.append(made)
            times.append(elapsed)
            stuck = [records.hangs(run, item.flow) for run, item in zip(made, flows, strict=True)]
            if any(stuck):
                return {"status": "hang", "hang": stuck, **_placement(flows)}
        checked = [{"verified": None, "why": "not asked for"} for _ in flows]
        if point["verify"]:
            for item in flows:
                self._clear_stored(item.flow)
            made, _ = self.once(flows, "verifying", limit)
            checked = [
                records.verify(run, item.flow, self._weigh_stored(item.flow))
                for run, item in zip(made, flows, strict=True)
            ]
        parts = []
        for number, item in enumerate(flows):
            result = records.summary([made[number] for made in runs], times, item.flow)
            parts.append({**result, "check": checked[number]})
        return {"status": "ok", **_placement(flows), "flows": parts}

    def _stored(self, flow: dict[str, Any]) -> dict[str, tuple[int, int]]:
        """Give address and bytes of each allocation whose stored data are checked."""
        memory = {item["memory"]["name"]: item["memory"] for item in flow["maps"]}
        return {
            name: (self.allocation(memory[name]), int(memory[name]["bytes"]))
            for name in flow.get("stored", ())
        }

    def _clear_stored(self, flow: dict[str, Any]) -> None:
        """Set to zero what the flow stores to, so that only the launch that follows can have written it."""
        for address, size in self._stored(flow).values():
            self.device.zero(address, size)

    def _weigh_stored(self, flow: dict[str, Any]) -> dict[str, int]:
        """Give the check of each allocation that the flow stored to, as `hw_validate.stored` foresees it."""
        shape = Shape((self.device.attribute("MULTIPROCESSOR_COUNT") * 8, 1, 1), (1, 1, 1), 256, 0)
        found = {}
        for name, (address, size) in self._stored(flow).items():
            place = self.device.allocate(8)
            self.device.zero(place, 8)
            values = [ctypes.c_uint64(address), ctypes.c_uint64(size // 4), ctypes.c_uint64(place)]
            self.device.launch(self.probe("weigh_memory"), shape, values)
            self.device.wait(60)
            found[name] = int(self.device.read(place, (1,), np.uint64)[0])
            self.device.free(place)
        return found


def _placement(flows: list[Prepared]) -> dict[str, Any]:
    return {
        "clusters": [item.clusters for item in flows],
        "max_clusters": [item.max_clusters for item in flows],
    }


def _compile_here(source: Path, defines: list[str]) -> bytes:
    """Compile a source with the nvcc of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "flow.cubin"
        command = ["nvcc", "-cubin", "-gencode=arch=compute_90a,code=sm_90a", "-std=c++17", "-o", str(target)]
        subprocess.run(
            [*command, *(f"-D{name}" for name in defines), str(source)], check=True, capture_output=True
        )
        return target.read_bytes()
