"""Rules of tensor maps: what the driver refuses to encode, and what the engine cannot load."""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import TmaLoad, TmaStore
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.registry import Finding, rule
from hoppersim.program.work import TensorMap

_ENCODE = "CUDA driver API, cuTensorMapEncodeTiled"
MOST_DIM, MOST_STRIDE, MOST_BOX, MOST_ELEMENT_STRIDE = 2**32, 2**40, 256, 8
SHARED_ALIGNMENT = 128


def _maps(context: Context) -> Iterator[tuple[str, TensorMap]]:
    for number, item in enumerate(context.program.maps):
        yield f"program.maps[{number}]", item


def _beyond(field: str, extents: tuple[int, ...], most: int, text: str) -> Iterator[Finding]:
    """Find the extents that do not lie from 1 to `most`."""
    for dim, extent in enumerate(extents):
        if not 1 <= extent <= most:
            yield Finding(f"{field}[{dim}]", extent, text, _clamp(extent, 1, most))


def _clamp(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def _unit(item: TensorMap) -> int:
    return 32 if item.interleave == 32 else 16


@rule(
    "HS-TM-001",
    "A tensor has 1 to 5 dimensions, and every list of a tensor map has one entry for each.",
    _ENCODE,
    needed=True,
)
def rank(context: Context) -> Iterator[Finding]:
    """Check the rank; the descriptor has room for five dimensions, and an interleaved layout needs three.

    Example: ``dims = [64, 64, 8, 4, 2, 2]`` has six dimensions.

    Fix: fold two dimensions into one, or load the outer one in a loop over `base`.
    """
    for path, item in _maps(context):
        least = 3 if item.interleave else 1
        if not least <= item.rank <= 5:
            yield Finding(
                f"{path}.dims",
                item.dims,
                f"a tensor has {least} to 5 dimensions",
                _clamp(item.rank, least, 5),
            )
        if len(item.box) != item.rank:
            yield Finding(f"{path}.box", item.box, f"a box of this tensor has {item.rank} dimensions", None)
        if item.strides and len(item.strides) != item.rank - 1:
            rule_text = f"strides are given for dimensions 1 and up: {item.rank - 1} of them, or none"
            yield Finding(f"{path}.strides", item.strides, rule_text, ())
        if item.element_strides and len(item.element_strides) != item.rank:
            rule_text = f"element strides are given for all {item.rank} dimensions, or none"
            yield Finding(f"{path}.element_strides", item.element_strides, rule_text, ())


@rule("HS-TM-002", "Every extent of a tensor lies from 1 to 2^32.", _ENCODE, needed=True)
def extents(context: Context) -> Iterator[Finding]:
    """Check the extents; the descriptor stores them less one in 32 bits.

    Example: ``dims = [64, 0]``.

    Fix: give the extent of the tensor in elements.
    """
    for path, item in _maps(context):
        yield from _beyond(f"{path}.dims", item.dims, MOST_DIM, "an extent lies from 1 to 2^32 elements")


@rule("HS-TM-003", "Every extent of a box lies from 1 to 256.", _ENCODE, needed=True)
def box_extents(context: Context) -> Iterator[Finding]:
    """Check the box; the descriptor stores its extents less one in 8 bits.

    Example: ``box = [64, 512]``.

    Fix: load two boxes of 256 rows on the same barrier phase.
    """
    for path, item in _maps(context):
        yield from _beyond(f"{path}.box", item.box, MOST_BOX, "a box has 1 to 256 elements a dimension")


@rule(
    "HS-TM-004",
    "The address of a tensor is a multiple of 16 bytes (32 when interleaved by 32).",
    _ENCODE,
    needed=True,
)
def base_alignment(context: Context) -> Iterator[Finding]:
    """Check the address; the engine fetches in units of 16 bytes.

    Example: a view that starts at element 1 of an fp16 array: ``base = 2``.

    Fix: start at a multiple and shift the coordinates, or copy to an aligned array.
    """
    for path, item in _maps(context):
        memory = context.allocations.get(item.allocation)
        address, unit = item.base + (memory.base if memory else 0), _unit(item)
        if address % unit or item.base < 0:
            nearest = max(0, item.base - address % unit)
            yield Finding(f"{path}.base", item.base, f"the address is a multiple of {unit} bytes", nearest)


@rule(
    "HS-TM-005",
    "Every stride is a multiple of 16 bytes (32 when interleaved by 32) below 2^40.",
    _ENCODE,
    needed=True,
)
def stride_alignment(context: Context) -> Iterator[Finding]:
    """Check the strides; every row must start on a 16-byte boundary, as the first one does.

    Example: a dense fp16 matrix of 100 columns has a stride of 200 bytes.

    Fix: pad the rows: 104 columns have a stride of 208 bytes.
    """
    for path, item in _maps(context):
        unit = _unit(item)
        for dim, stride in enumerate(item.byte_strides[1:]):
            field = f"{path}.strides[{dim}]" if item.strides else f"{path}.dims[{dim}]"
            if stride % unit or not 0 < stride < MOST_STRIDE:
                nearest = _clamp(-(-stride // unit) * unit, unit, MOST_STRIDE - unit)
                rule_text = f"the stride of dimension {dim + 1} is a multiple of {unit} bytes below 2^40"
                yield Finding(field, stride, rule_text, nearest)


@rule("HS-TM-006", "The inner extent of a box is a multiple of 16 bytes.", _ENCODE)
def inner_bytes(context: Context) -> Iterator[Finding]:
    """Check the inner box; shared memory is written in units of 16 bytes.

    Example: a box of 1 fp32 column has an inner extent of 4 bytes.

    Fix: load 4 columns, or use a layout with the long dimension inside.
    """
    for path, item in _maps(context):
        if item.box and not item.interleave and (size := item.box[0] * item.element_bytes) % 16:
            nearest = -(-size // 16) * 16 // max(1, item.element_bytes)
            yield Finding(f"{path}.box[0]", item.box[0], f"{size} bytes are no multiple of 16", nearest)


@rule("HS-TM-007", "The inner extent of a box fits the swizzle span.", _ENCODE)
def swizzle_span(context: Context) -> Iterator[Finding]:
    """Check box against swizzle; the pattern permutes 16-byte units inside rows of the span.

    Example: a box of 128 fp16 columns (256 bytes) with ``swizzle = 128``.

    Fix: load two boxes of 64 columns, or choose a wider swizzle, or none.
    """
    for path, item in _maps(context):
        inner = (item.box[0] if item.box else 0) * item.element_bytes
        if item.swizzle and not item.interleave and inner > item.swizzle:
            nearest = item.swizzle // max(1, item.element_bytes)
            rule_text = f"{inner} bytes do not fit a swizzle of {item.swizzle} bytes"
            yield Finding(f"{path}.box[0]", item.box[0], rule_text, nearest)


@rule("HS-TM-008", "Every element stride lies from 1 to 8.", _ENCODE, needed=True)
def element_strides(context: Context) -> Iterator[Finding]:
    """Check element strides; the descriptor stores them less one in 3 bits.

    Example: ``element_strides = [1, 16]``.

    Fix: multiply the byte stride instead and divide the extent.
    """
    for path, item in _maps(context):
        for dim, step in enumerate(item.element_strides):
            if not 1 <= step <= MOST_ELEMENT_STRIDE:
                nearest = _clamp(step, 1, MOST_ELEMENT_STRIDE)
                yield Finding(
                    f"{path}.element_strides[{dim}]", step, "an element stride lies from 1 to 8", nearest
                )


@rule("HS-TM-009", "An interleave of 32 bytes goes with a swizzle of 32 bytes.", _ENCODE)
def interleave_swizzle(context: Context) -> Iterator[Finding]:
    """Check interleave against swizzle; the driver refuses any other pair.

    Example: ``interleave = 32`` without swizzle.

    Fix: ``swizzle = 32``.
    """
    for path, item in _maps(context):
        if item.interleave == 32 and item.swizzle != 32:
            yield Finding(f"{path}.swizzle", item.swizzle, "an interleave of 32 needs a swizzle of 32", 32)


@rule("HS-TM-010", "An element has 1, 2, 4 or 8 bytes.", _ENCODE, needed=True)
def element_size(context: Context) -> Iterator[Finding]:
    """Check the element's size against the data types of a tensor map.

    Example: ``element_bytes = 3``.

    Fix: describe the data as bytes: ``element_bytes = 1``.
    """
    for path, item in _maps(context):
        if item.element_bytes not in (1, 2, 4, 8):
            nearest = min((1, 2, 4, 8), key=lambda size: abs(size - item.element_bytes))
            yield Finding(
                f"{path}.element_bytes", item.element_bytes, "an element has 1, 2, 4 or 8 bytes", nearest
            )


@rule(
    "HS-TM-011",
    "A tensor lies inside its allocation.",
    "Bounds are those of the tensor, not of the memory",
    needed=True,
)
def inside_allocation(context: Context) -> Iterator[Finding]:
    """Check the tensor's end; the engine clips at the tensor's extents and knows nothing of allocations.

    Example: ``dims = [64, 1024]`` of fp16 (128 KiB) on an allocation of 64 KiB.

    Fix: enlarge the allocation or lower the extents.
    """
    for path, item in _maps(context):
        memory = context.allocations.get(item.allocation)
        if memory is None or len(item.byte_strides) != item.rank or min(item.dims, default=0) < 1:
            continue
        last = sum((extent - 1) * stride for extent, stride in zip(item.dims, item.byte_strides, strict=True))
        end = item.base + last + item.element_bytes
        if end > memory.bytes:
            rule_text = f"the tensor ends at byte {end} of an allocation of {memory.bytes}"
            yield Finding(f"{path}.dims", item.dims, rule_text, f"{memory.name}.bytes = {end}")


@rule(
    "HS-TM-012",
    "A load names one coordinate for each dimension.",
    "PTX ISA, cp.async.bulk.tensor",
    needed=True,
)
def coordinate_count(context: Context) -> Iterator[Finding]:
    """Check the number of coordinates; the instruction has a form for each rank.

    Example: ``coordinates = [0]`` on a map of two dimensions.

    Fix: add the missing coordinate, innermost first.
    """
    for visit in context.visits:
        operation = visit.operation
        if isinstance(operation, TmaLoad | TmaStore) and operation.map in context.maps:
            wanted = context.maps[operation.map].rank
            if len(operation.coordinates) != wanted:
                rule_text = f"a box of {operation.map} has {wanted} coordinates"
                yield Finding(f"{visit.path}.coordinates", len(operation.coordinates), rule_text, wanted)


@rule(
    "HS-TM-013",
    "A box lands on a 128-byte boundary of shared memory.",
    "PTX ISA, tensor data in shared memory",
)
def shared_alignment(context: Context) -> Iterator[Finding]:
    """Check the offset inside the buffer; buffers themselves start on 1,024-byte boundaries.

    Example: slices of 24 rows of 16 bytes: rank 1 writes at byte 384, but slices of 20 rows at byte 320.

    Fix: make the slice a multiple of 128 bytes.
    """
    for visit in context.visits:
        operation = visit.operation
        if not isinstance(operation, TmaLoad | TmaStore):
            continue
        wrong = [int(v) for _, values in context.values(operation.offset, visit) for v in values if v % 128]
        if wrong:
            nearest = wrong[0] // SHARED_ALIGNMENT * SHARED_ALIGNMENT
            yield Finding(f"{visit.path}.offset", wrong[0], "an offset is a multiple of 128 bytes", nearest)
