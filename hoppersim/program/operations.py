"""The operations that a role can perform, as plain data.

An operand is an integer or an `Affine` expression. A set of CTAs is a bit mask of cluster ranks, as in
the hardware's multicast mask; an operand may give it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Release = Literal["cta", "cluster", "relaxed"]
Scope = Literal["warp", "role", "cta", "cluster"]
FenceKind = Literal["mbarrier_init", "proxy_async", "acq_rel_cta", "acq_rel_cluster"]

Integer = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
"""What a file may hold where a number is wanted: all of these are exact in JSON."""


class Affine(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """``(base + by_rank[r] + cluster * c + rank * r + sum(loops[name] * i)) mod wrap``.

    `c` is the number of the cluster among those that take part, `r` the cluster rank of the CTA and `i`
    the trip count of the named enclosing loop. A `wrap` of 0 means no modulus. In a loop the value is
    advanced by an increment and a compare-and-reset, so each step must be smaller than `wrap`.
    """

    base: Integer = 0
    cluster: Integer = 0
    rank: Integer = 0
    by_rank: tuple[Integer, ...] = ()
    loops: dict[str, Integer] = {}
    wrap: Integer = 0


Operand = Integer | Affine


class _Operation(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="op"):
    """Common shape of all operations."""


class Wait(_Operation, frozen=True, tag="wait"):
    """Wait until `barrier`'s phase of the given parity has completed.

    `phase` is ``full`` (the ring's parity, starting at 0), ``free`` (starting at 1, so the first round
    passes) or an explicit parity operand whose value is 0 or 1.
    """

    barrier: str
    phase: Literal["full", "free"] | Operand = "full"
    form: Literal["try", "test"] = "try"


class Arrive(_Operation, frozen=True, tag="arrive"):
    """Arrive once on `barrier` in each CTA of the mask `to`; None means the own CTA."""

    barrier: str
    to: Operand | None = None
    release: Release = "cta"


class ExpectTx(_Operation, frozen=True, tag="expect_tx"):
    """Raise the transaction count of `barrier` by `bytes`, with an arrival unless `arrive` is false."""

    barrier: str
    bytes: Operand
    to: Operand | None = None
    arrive: bool = True
    release: Release = "cta"


class TmaLoad(_Operation, frozen=True, tag="tma_load"):
    """Load one box of tensor map `map` into `buffer` at byte `offset` of the current stage.

    With `mask`, the box is multicast to every CTA of the mask, at the same offset, and completes on the
    barrier at the same place in each of them. Without, it goes to the issuing CTA.
    """

    map: str
    coordinates: tuple[Operand, ...]
    buffer: str
    barrier: str
    offset: Operand = 0
    mask: Operand | None = None


class TmaStore(_Operation, frozen=True, tag="tma_store"):
    """Store one box from `buffer` to the tensor map, in a bulk group of its own."""

    map: str
    coordinates: tuple[Operand, ...]
    buffer: str
    offset: Operand = 0


class StoreWait(_Operation, frozen=True, tag="store_wait"):
    """Wait until at most `pending` of the role's bulk groups are incomplete (`read`: still read SMEM)."""

    pending: Integer = 0
    read: bool = False


class BulkCopy(_Operation, frozen=True, tag="bulk_copy"):
    """Copy `bytes` of own `source` to `destination` in the CTA `rank`, completing on its `barrier`."""

    source: str
    destination: str
    bytes: Integer
    rank: Operand
    barrier: str
    source_offset: Operand = 0
    destination_offset: Operand = 0


class RemoteLoad(_Operation, frozen=True, tag="remote_ld"):
    """All threads of the role read `bytes` of `buffer` in CTA `rank`, `width` bytes a thread at a time."""

    buffer: str
    rank: Operand
    bytes: Integer
    width: Literal[4, 8, 16] = 16
    unroll: Integer = 4


class RemoteStore(_Operation, frozen=True, tag="remote_st"):
    """All threads of the role write `bytes` to `buffer` in CTA `rank`, `width` bytes a thread at a time."""

    buffer: str
    rank: Operand
    bytes: Integer
    width: Literal[4, 8, 16] = 16
    unroll: Integer = 4


class StAsync(_Operation, frozen=True, tag="st_async"):
    """Asynchronous stores of `bytes` to `buffer` in CTA `rank`, completing on `barrier` there."""

    buffer: str
    rank: Operand
    bytes: Integer
    barrier: str
    width: Literal[4, 8, 16] = 16


class LocalRead(_Operation, frozen=True, tag="local_read"):
    """All threads of the role read the current stage of `buffer` `times` times and keep a checksum."""

    buffer: str
    times: Integer = 1
    width: Literal[4, 8, 16] = 16


class Compute(_Operation, frozen=True, tag="compute"):
    """Keep the role busy for a number of SM cycles without using memory."""

    cycles: Operand


class Sync(_Operation, frozen=True, tag="sync"):
    """Meet the other threads of the scope; `relaxed` drops the memory fence of a cluster sync."""

    scope: Scope = "cta"
    form: Literal["acq_rel", "relaxed"] = "acq_rel"


class Fence(_Operation, frozen=True, tag="fence"):
    """A memory fence of the given kind."""

    kind: FenceKind


class Stamp(_Operation, frozen=True, tag="stamp"):
    """Record the present SM clock under a name."""

    name: str


class Exit(_Operation, frozen=True, tag="exit"):
    """Leave the role at once; a CTA whose roles have all left exits."""


class For(_Operation, frozen=True, tag="for"):
    """Run `body` `n` times.

    With `stages`, the loop drives a ring of that many stages: buffers and barriers with as many stages are
    indexed by the ring's stage, and ``full``/``free`` parities flip whenever the ring comes round. The
    ring keeps its position when the loop is entered again.
    """

    n: Integer
    body: tuple[Operation, ...]
    stages: Integer = 1
    name: str = "i"


Operation = (
    Wait
    | Arrive
    | ExpectTx
    | TmaLoad
    | TmaStore
    | StoreWait
    | BulkCopy
    | RemoteLoad
    | RemoteStore
    | StAsync
    | LocalRead
    | Compute
    | Sync
    | Fence
    | Stamp
    | Exit
    | For
)
