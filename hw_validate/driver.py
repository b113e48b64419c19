"""The CUDA driver, as far as the runner needs it. Imports standard library, numpy and cuda.bindings only."""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CAPABILITY = (9, 0)
MINIMUM_DRIVER = 12_040
"""CUDA 12.4, as the driver counts its interface."""
_TYPES = {1: 0, 2: 6, 4: 2, 8: 4}  # element bytes to CU_TENSOR_MAP_DATA_TYPE_: UINT8, FLOAT16, UINT32, UINT64
_FLOAT_TYPES = {2: 6, 4: 7, 8: 8}  # FLOAT16, FLOAT32, FLOAT64: what a fill with NaN needs
_INTERLEAVE = {0: 0, 16: 1, 32: 2}
_SWIZZLE = {0: 0, 32: 1, 64: 2, 128: 3}
_PROMOTION = {0: 0, 64: 1, 128: 2, 256: 3}


class NoDevice(Exception):
    """There is no GPU that the kernels can run on; the message says why."""


class DriverError(Exception):
    """A call of the driver failed."""

    def __init__(self, call: str, code: int, name: str) -> None:
        self.code = code
        super().__init__(f"{call}: {name} ({code})")


class TimeLimit(Exception):
    """The GPU did not finish within the time limit."""


@dataclass(frozen=True)
class Shape:
    """How a kernel is launched: blocks, cluster, threads, dynamic shared memory [B]."""

    grid: tuple[int, int, int]
    cluster: tuple[int, int, int]
    threads: int
    shared_bytes: int


class Device:
    """One GPU of compute capability 9.0, with its primary context."""

    def __init__(self, ordinal: int = 0) -> None:
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise NoDevice(
                "cuda.bindings is not installed; install the extra: pip install 'hoppersim[cuda]'"
            ) from error
        self.api: Any = driver
        try:
            count = self.call("cuInit", 0) or self.call("cuDeviceGetCount")
            self.driver_version = int(self.call("cuDriverGetVersion"))
        except DriverError as error:
            raise NoDevice(f"no usable GPU: {error}") from error
        except Exception as error:  # the bindings raise their own kinds when no driver is installed
            raise NoDevice(f"no usable GPU: {type(error).__name__}: {str(error).splitlines()[0]}") from error
        if not count:
            raise NoDevice("no GPU found")
        if self.driver_version < MINIMUM_DRIVER:
            raise NoDevice(
                f"the driver speaks CUDA {self.driver_version}, at least {MINIMUM_DRIVER} is needed"
            )
        self.handle = self.call("cuDeviceGet", ordinal)
        found = tuple(self.attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        if found != CAPABILITY:
            raise NoDevice(
                f"{self.name} has compute capability {found[0]}.{found[1]}, the kernels need 9.0 (H100, H200)"
            )
        self.call("cuCtxSetCurrent", self.call("cuDevicePrimaryCtxRetain", self.handle))
        self.stream = self.call("cuStreamCreate", 1)
        self._raw: Any = ctypes.CDLL("libcuda.so.1")

    def call(self, name: str, *arguments: Any) -> Any:
        """Call the driver and give what it returns beside the status.

        Raises
        ------
        DriverError
            If the status is not success.
        """
        answer = getattr(self.api, name)(*arguments)
        code = int(answer[0])
        if code:
            raise DriverError(name, code, str(answer[0]).rpartition(".")[2])
        return answer[1] if len(answer) == 2 else answer[1:] or None

    def attribute(self, name: str) -> int:
        """Read a device attribute by the end of its name."""
        attribute = getattr(self.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", attribute, self.handle))

    @property
    def name(self) -> str:
        """Name of the device."""
        return bytes(self.call("cuDeviceGetName", 100, self.handle)).split(b"\0")[0].decode()

    @property
    def uuid(self) -> str:
        """UUID of the device, as nvidia-smi writes it."""
        text = bytes(self.call("cuDeviceGetUuid", self.handle).bytes).hex()
        return "GPU-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def load(self, image: bytes) -> Any:
        """Load a cubin."""
        return self.call("cuModuleLoadData", image)

    def function(self, module: Any, name: str, shared_bytes: int = 0) -> Any:
        """Get a kernel, with its limit of dynamic shared memory raised and clusters of 16 allowed."""
        function = self.call("cuModuleGetFunction", module, name.encode())
        kinds = self.api.CUfunction_attribute
        self.call(
            "cuFuncSetAttribute",
            function,
            kinds.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            shared_bytes,
        )
        self.call(
            "cuFuncSetAttribute", function, kinds.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1
        )
        return function

    def _config(self, shape: Shape, stream: Any) -> Any:
        api = self.api
        dimension = api.CUlaunchAttribute()
        dimension.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        cluster = dimension.value.clusterDim
        cluster.x, cluster.y, cluster.z = shape.cluster
        config = api.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = shape.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = shape.threads, 1, 1
        config.sharedMemBytes = shape.shared_bytes
        config.hStream = stream
        config.attrs = [dimension]
        config.numAttrs = 1
        return config

    def max_clusters(self, function: Any, shape: Shape) -> int:
        """Ask how many clusters of this shape can be resident at once."""
        return int(self.call("cuOccupancyMaxActiveClusters", function, self._config(shape, self.stream)))

    def launch(self, function: Any, shape: Shape, parameters: Sequence[Any], stream: Any = None) -> None:
        """Launch a kernel; `parameters` are ctypes values or numpy arrays of the bytes of a structure."""
        places = [
            item.ctypes.data if isinstance(item, np.ndarray) else ctypes.addressof(item)
            for item in parameters
        ]
        table = np.array(places, dtype=np.uint64)
        target = self.stream if stream is None else stream
        self.call("cuLaunchKernelEx", self._config(shape, target), function, table.ctypes.data, 0)

    def wait(self, limit: float, stream: Any = None) -> None:
        """Wait for a stream without blocking in the driver.

        Raises
        ------
        TimeLimit
            If it is still busy after `limit` seconds.
        """
        end = time.monotonic() + limit
        target = self.stream if stream is None else stream
        while int(status := self.api.cuStreamQuery(target)[0]) == 600:
            if time.monotonic() > end:
                raise TimeLimit(f"no end after {limit:.0f} s")
            time.sleep(20e-6)
        if int(status):
            raise DriverError("cuStreamQuery", int(status), str(status).rpartition(".")[2])

    def allocate(self, size: int) -> int:
        """Allocate device memory and give its address."""
        return int(self.call("cuMemAlloc", size))

    def free(self, address: int) -> None:
        """Free device memory."""
        self.call("cuMemFree", address)

    def zero(self, address: int, size: int) -> None:
        """Set device memory to 0, in stream order."""
        self.call("cuMemsetD8Async", address, 0, size, self.stream)

    def read(self, address: int, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Copy device memory to a numpy array."""
        array = np.empty(shape, dtype)
        self.call("cuMemcpyDtoH", array.ctypes.data, address, array.nbytes)
        return array

    def write(self, address: int, array: NDArray[Any]) -> None:
        """Copy a numpy array to device memory."""
        self.call("cuMemcpyHtoD", address, array.ctypes.data, array.nbytes)

    def tensor_map(self, spec: dict[str, Any], address: int) -> bytes:
        """Encode a tensor map whose fields are those of the program language."""
        rank, size = len(spec["dims"]), int(spec["element_bytes"])
        kind = _FLOAT_TYPES[size] if spec["oob"] == "nan" else _TYPES[size]
        place = np.zeros(192, np.uint8)
        target = (place.ctypes.data + 63) // 64 * 64
        strides = list(spec["byte_strides"][1:]) or [0]
        steps = list(spec["element_strides"]) or [1] * rank
        words = ctypes.c_uint64 * 5
        halves = ctypes.c_uint32 * 5
        code = self._raw.cuTensorMapEncodeTiled(
            ctypes.c_void_p(target), ctypes.c_int(kind), ctypes.c_uint32(rank), ctypes.c_void_p(address),
            words(*spec["dims"]), words(*strides), halves(*spec["box"]), halves(*steps),
            ctypes.c_int(_INTERLEAVE[spec["interleave"]]), ctypes.c_int(_SWIZZLE[spec["swizzle"]]),
            ctypes.c_int(_PROMOTION[spec["l2_promotion"]]), ctypes.c_int(int(spec["oob"] == "nan")),
        )  # fmt: skip
        if code:
            raise DriverError("cuTensorMapEncodeTiled", code, f"map {spec['name']} refused")
        start = target - place.ctypes.data
        return place[start : start + 128].tobytes()

    def event(self) -> Any:
        """Make an event and record it on the stream."""
        made = self.call("cuEventCreate", 0)
        self.call("cuEventRecord", made, self.stream)
        return made

    def elapsed(self, begin: Any, end: Any) -> float:
        """Give the milliseconds between two events that have passed, and destroy them."""
        time_ms = float(self.call("cuEventElapsedTime", begin, end))
        for item in (begin, end):
            self.call("cuEventDestroy", item)
        return time_ms


def clocks() -> dict[str, str]:
    """Read clocks, power and temperature with nvidia-smi; empty where it cannot be run."""
    fields = "clocks.sm,clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu,ecc.mode.current"
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader", "--id=0"]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(
        zip(fields.split(","), (part.strip() for part in text.splitlines()[0].split(",")), strict=False)
    )
