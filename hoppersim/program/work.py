"""Programs, launches and work: what CTAs do, as data that both executors run."""

from __future__ import annotations

from html import escape
from math import prod
from typing import Literal

import msgspec

from hoppersim.errors import InputError
from hoppersim.program.operations import Affine, Integer, Operand, Operation

PrologueStep = Literal["init", "init_fence", "entry_sync", "drain", "exit_sync"]
Width = Literal["lane", "warp", "warps"]


class _Data(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Common shape of all parts of a work."""


class Buffer(_Data, frozen=True):
    """Shared memory of `bytes` per stage, in every CTA at the same offset."""

    name: str
    bytes: Integer
    stages: Integer = 1


class Barrier(_Data, frozen=True):
    """An mbarrier per stage, initialised for `count` arrivals a phase."""

    name: str
    count: Integer
    stages: Integer = 1


class TensorMap(_Data, frozen=True):
    """A TMA descriptor on an allocation; dimension 0 is the innermost.

    `dims` and `box` are in elements, `strides` in bytes for dimensions 1 and up (empty: dense).
    """

    name: str
    allocation: str
    dims: tuple[Integer, ...]
    box: tuple[Integer, ...]
    element_bytes: Integer = 2
    strides: tuple[Integer, ...] = ()
    element_strides: tuple[Integer, ...] = ()
    base: Integer = 0
    swizzle: Literal[0, 32, 64, 128] = 0
    interleave: Literal[0, 16, 32] = 0
    l2_promotion: Literal[0, 64, 128, 256] = 0
    oob: Literal["zero", "nan"] = "zero"

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dims)

    @property
    def box_elements(self) -> tuple[int, ...]:
        """Elements that a box takes of each dimension: `box` over the element stride, rounded up.

        The element stride of dimension 0 has no effect without interleave.
        """
        steps = self.element_strides or (1,) * self.rank
        steps = steps if self.interleave else (1, *steps[1:])
        return tuple(-(-extent // step) for extent, step in zip(self.box, steps, strict=True))

    @property
    def box_bytes(self) -> int:
        """Bytes that one box delivers and that the barrier counts, out-of-bounds part included."""
        return prod(self.box_elements) * self.element_bytes

    @property
    def byte_strides(self) -> tuple[int, ...]:
        """Byte stride of every dimension, the innermost included."""
        if self.strides:
            return (self.element_bytes, *self.strides)
        dense = [self.element_bytes]
        for extent in self.dims[:-1]:
            dense.append(dense[-1] * extent)
        return tuple(dense)


class Role(_Data, frozen=True):
    """Whole warps of a CTA that run one body.

    Width ``lane``: one elected lane runs the body. ``warp``: the warp runs the loop together and elects a
    lane for each issue. ``warps``: all threads work. `ranks` empty means every cluster rank.
    """

    name: str
    body: tuple[Operation, ...]
    warps: Integer = 1
    width: Width = "lane"
    ranks: tuple[Integer, ...] = ()


class Program(_Data, frozen=True):
    """What one CTA does: its shared memory, barriers, tensor maps and roles.

    `without` removes steps of the fixed prologue (init, init fence, entry cluster sync) and epilogue
    (drain, exit cluster sync) by name; only litmus programs do that.
    """

    name: str
    roles: tuple[Role, ...]
    buffers: tuple[Buffer, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    maps: tuple[TensorMap, ...] = ()
    without: tuple[PrologueStep, ...] = ()

    def buffer(self, name: str) -> Buffer:
        """Look a buffer up by name."""
        return next(item for item in self.buffers if item.name == name)

    def barrier(self, name: str) -> Barrier:
        """Look a barrier up by name."""
        return next(item for item in self.barriers if item.name == name)

    def map(self, name: str) -> TensorMap:
        """Look a tensor map up by name."""
        return next(item for item in self.maps if item.name == name)

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return 32 * sum(role.warps for role in self.roles)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a CTA: buffers at 1,024-byte alignment, then 8 bytes a barrier."""
        data = sum(-(-item.bytes // 1024) * 1024 * item.stages for item in self.buffers)
        return data + 8 * sum(item.stages for item in self.barriers)


class Allocation(_Data, frozen=True):
    """Global memory; `base` is its offset from a 2 MiB boundary."""

    name: str
    bytes: Integer
    base: Integer = 0


class SmSet(_Data, frozen=True):
    """Which SMs take part: some GPCs (empty: all) and at most `per_gpc` SMs of each (0: all).

    With `spread` the SMs of a GPC are taken one per TPC first, else TPC by TPC.
    """

    gpcs: tuple[Integer, ...] = ()
    per_gpc: Integer = 0
    spread: bool = False


class Launch(_Data, frozen=True):
    """How a program is started.

    `grid` is a number of CTAs, or ``fill`` for one wave of as many clusters as are resident at once.
    `skew` delays a CTA's start by SM cycles. `warm` is the number of untimed launches before the timed
    one; 0 starts with a cold L2.
    """

    allocations: tuple[Allocation, ...] = ()
    grid: Integer | Literal["fill"] = "fill"
    cluster: tuple[Integer, Integer, Integer] = (1, 1, 1)
    sms: SmSet = SmSet()
    skew: Operand = 0
    seed: Integer = 0
    warm: Integer = 1

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return prod(self.cluster)

    def allocation(self, name: str) -> Allocation:
        """Look an allocation up by name."""
        return next(item for item in self.allocations if item.name == name)


class Flow(_Data, frozen=True):
    """One program and its launch."""

    program: Program
    launch: Launch


class Work(_Data, frozen=True):
    """Flows that run at the same time on one machine."""

    flows: tuple[Flow, ...]

    def _repr_html_(self) -> str:
        from hoppersim.program.text import format_work

        return f"<pre>{escape(format_work(self))}</pre>"


def require_flows(work: Work) -> None:
    """Refuse a work without any flow.

    Raises
    ------
    InputError
        If there is nothing to run.
    """
    if not work.flows:
        raise InputError("flows", [], "a work has at least one flow: a program and its launch")


def make_work(
    name: str,
    roles: tuple[Role, ...],
    buffers: tuple[Buffer, ...] = (),
    barriers: tuple[Barrier, ...] = (),
    maps: tuple[TensorMap, ...] = (),
    launch: Launch | None = None,
) -> Work:
    """Make a work of one flow; allocations that the launch leaves out get the size that their maps need."""
    launch = launch or Launch()
    needed = {item.name: item.bytes for item in launch.allocations}
    given = set(needed)
    for item in maps:
        if item.allocation not in given:
            extent = item.base + item.dims[-1] * item.byte_strides[-1]
            needed[item.allocation] = max(extent, needed.get(item.allocation, 0))
    added = tuple(Allocation(key, size) for key, size in needed.items() if key not in given)
    launch = msgspec.structs.replace(launch, allocations=(*launch.allocations, *added))
    return Work((Flow(Program(name, roles, buffers, barriers, maps), launch),))


__all__ = [
    "Affine",
    "Allocation",
    "Barrier",
    "Buffer",
    "Flow",
    "Launch",
    "Program",
    "Role",
    "SmSet",
    "TensorMap",
    "Work",
    "make_work",
    "require_flows",
]
