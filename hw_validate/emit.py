"""A flow as CUDA C++ source that stands alone: kernel, host program, data check, the line that builds it."""

from __future__ import annotations

from functools import cache

from hoppersim.errors import InputError
from hoppersim.program.canonical import work_hash
from hoppersim.program.work import Flow, SmSet, TensorMap, Work
from hw_validate.expected import expected_checks
from hw_validate.lower import DEFAULT_OPTIONS, Options, kernel_text, lay_out
from hw_validate.lower.layout import HEADER_WORDS, WARP_WORDS
from hw_validate.lower.source import limit_text
from hw_validate.lower.wrappers import KERNELS, needed

BUILD_LINE = "nvcc -gencode=arch=compute_90a,code=sm_90a -o flow flow.cu"
INCLUDES = ("cudaTypedefs.h", "algorithm", "cstdio", "vector")
REPEATS = 7
CLUSTERS_CHECKED = 10
_TYPES = {1: "UINT8", 2: "FLOAT16", 4: "UINT32", 8: "UINT64"}
_NAN_TYPES = {2: "FLOAT16", 4: "FLOAT32", 8: "FLOAT64"}


def emit(work: Work, options: Options = DEFAULT_OPTIONS) -> str:
    """Write a CUDA C++ program that runs a work of one flow and prints time, cycles and the data check.

    Raises
    ------
    InputError
        If the work has several flows, or chooses SMs: those need the runner.
    """
    if len(work.flows) != 1:
        raise InputError("work.flows", len(work.flows), "source that stands alone runs one flow", 1)
    flow = work.flows[0]
    if flow.launch.sms != SmSet():
        rule = "source that stands alone runs on all SMs"
        raise InputError("launch.sms", flow.launch.sms, rule, "all SMs")
    kernel = kernel_text(flow, options, head="template <bool CHECK>")
    parts = [
        f"// {flow.program.name}, work {work_hash(work)[:16]}; runs on an H100 or H200.",
        f"// {BUILD_LINE}",
        *(f"#include <{name}>" for name in INCLUDES),
        *_constants(flow),
        limit_text(options).strip(),
        needed(kernel + _part("helpers"), joined=True),
        kernel.strip(),
        _part("helpers"),
        *_main(flow),
    ]
    return "\n".join(parts) + "\n"


@cache
def _parts() -> dict[str, str]:
    """Read the parts of the host program, by name."""
    text = (KERNELS / "standalone.cuh").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.split("//@ ")[1:])
    return {name.strip(): body.rstrip("\n") for name, _, body in parts}


def _part(name: str, **values: object) -> str:
    """Give a part of the host program with its places filled in."""
    text = _parts()[name]
    for place, value in values.items():
        text = text.replace(f"@{place}@", str(value))
    return text


def _constants(flow: Flow) -> list[str]:
    """Write the launch, and the check that each cluster's data must give."""
    layout, launch = lay_out(flow), flow.launch
    sums = _cluster_sums(flow)
    x, y, z = launch.cluster
    launched = {"CLUSTER_X": x, "CLUSTER_Y": y, "CLUSTER_Z": z, "CLUSTER": launch.cluster_size}
    launched |= {"WARM": launch.warm, "REPEATS": REPEATS, "CHECKED": len(sums)}
    shape = {"THREADS": layout.threads, "WARPS": layout.threads // 32, "SHARED_BYTES": layout.shared_bytes}
    shape |= {"RECORD": layout.record_words, "HEADER": HEADER_WORDS, "WARP": WARP_WORDS}
    return [
        *(
            f"constexpr int {', '.join(f'{k} = {v}' for k, v in group.items())};"
            for group in (launched, shape)
        ),
        f"const unsigned EXPECTED[] = {{{', '.join(map(hex, sums)) or 0}}};",
    ]


def _cluster_sums(flow: Flow) -> list[int]:
    """Fold the checks of all warps of a cluster to 32 bits; empty where they cannot be followed."""
    grid, size = flow.launch.grid, flow.launch.cluster_size
    clusters = CLUSTERS_CHECKED if grid == "fill" else min(CLUSTERS_CHECKED, grid // size)
    roles = expected_checks(flow, clusters)["roles"]
    if not roles:
        return []
    totals = [
        sum(value or 0 for table in roles.values() for value in table[k]) % 2**64 for k in range(clusters)
    ]
    return [(total ^ total >> 32) & 0xFFFFFFFF for total in totals]


def _main(flow: Flow) -> list[str]:
    """Write the host program."""
    launch = flow.launch
    memory = {item.name: f"memory{number}" for number, item in enumerate(launch.allocations)}
    lines = [_part("main")]
    for item in launch.allocations:
        size = -(-item.bytes // 4) * 4
        lines.append(
            f"    char* const {memory[item.name]} = allocate({size}ull, {item.base});  // {item.name}"
        )
    for number, spec in enumerate(flow.program.maps):
        lines.append(_encode(spec, number, f"{memory[spec.allocation]} + {spec.base}"))
    lines.append(_part("launch"))
    if launch.grid == "fill":
        lines.append("    CU(cudaOccupancyMaxActiveClusters(&clusters, flow<false>, &config));")
    else:
        lines.append(f"    clusters = {launch.grid // launch.cluster_size};")
    if launch.warm:
        return [*lines, _part("repeats", FLUSH="")]
    return [*lines, _part("cold"), _part("repeats", FLUSH=" CU(cudaMemset(scratch, k, 256 << 20));")]


def _encode(spec: TensorMap, number: int, address: str) -> str:
    """Write the encoding of one tensor map."""
    return _part(
        "map",
        N=number,
        NAME=spec.name,
        RANK=spec.rank,
        ADDRESS=address,
        DIMS=", ".join(map(str, spec.dims)),
        STRIDES=", ".join(map(str, spec.byte_strides[1:])) or "0",
        BOX=", ".join(map(str, spec.box)),
        STEPS=", ".join(map(str, spec.element_strides or (1,) * spec.rank)),
        KIND=(_NAN_TYPES if spec.oob == "nan" else _TYPES)[spec.element_bytes],
        INTERLEAVE=f"{spec.interleave}B" if spec.interleave else "NONE",
        SWIZZLE=f"{spec.swizzle}B" if spec.swizzle else "NONE",
        PROMOTION=f"L2_{spec.l2_promotion}B" if spec.l2_promotion else "NONE",
        OOB="NAN_REQUEST_ZERO_FMA" if spec.oob == "nan" else "NONE",
    )
