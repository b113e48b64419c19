"""Rules of masks and ranks: whom an operation reaches."""

from __future__ import annotations

from collections.abc import Iterator

from hoppersim.program.operations import Arrive, BulkCopy, ExpectTx, RemoteLoad, RemoteStore, StAsync, TmaLoad
from hoppersim.program.rules.context import Context
from hoppersim.program.rules.registry import Finding, rule

_MULTICAST = (
    "PTX ISA, cp.async.bulk.tensor .multicast::cluster: bit i of the 16-bit mask is the CTA of rank i"
)


@rule("HS-MC-001", "A multicast mask names at least one CTA.", _MULTICAST)
def empty_mask(context: Context) -> Iterator[Finding]:
    """Check for empty masks: data that go nowhere complete nowhere. The issuer need not be in the mask.

    Example: ``mask = {by_rank = [3, 0]}``: rank 1 multicasts to nobody.

    Fix: name the receivers, or give the load to a role on some ranks only.
    """
    for visit in context.visits:
        load = visit.operation
        if isinstance(load, TmaLoad) and load.mask is not None:
            empty = next((rank for rank, values in context.values(load.mask, visit) if 0 in values), None)
            if empty is not None:
                everyone = bin(2**context.cluster_size - 1)
                yield Finding(f"{visit.path}.mask", 0, f"the mask of rank {empty} names nobody", everyone)


@rule("HS-MC-002", "A mask names ranks of the cluster only.", _MULTICAST, needed=True)
def mask_bits(context: Context) -> Iterator[Finding]:
    """Check masks against the cluster's size; a bit beyond it names a CTA that does not exist.

    Example: ``mask = 0b111`` in clusters of 2.

    Fix: ``mask = 0b11``.
    """
    everyone = 2**context.cluster_size - 1
    for visit in context.visits:
        operation = visit.operation
        field = "mask" if isinstance(operation, TmaLoad) else "to"
        if not isinstance(operation, TmaLoad | Arrive | ExpectTx):
            continue
        mask = getattr(operation, field)
        if mask is None:
            continue
        found = (int(v) for _, values in context.values(mask, visit) for v in values if v & ~everyone)
        wrong = next(found, None)
        if wrong is not None:
            rule_text = f"a mask has bits for ranks 0 to {context.cluster_size - 1}"
            yield Finding(f"{visit.path}.{field}", bin(wrong), rule_text, bin(wrong & everyone or 1))


@rule(
    "HS-MC-003",
    "A target rank lies inside the cluster.",
    "PTX ISA, mapa: the rank of a CTA of the cluster",
    needed=True,
)
def target_rank(context: Context) -> Iterator[Finding]:
    """Check target ranks of copies, loads and stores between CTAs.

    Example: ``rank = {base = 1, rank = 1}`` without wrap: the last rank would name a CTA that does not exist.

    Fix: ``wrap`` of the cluster's size.
    """
    last = context.cluster_size - 1
    for visit in context.visits:
        operation = visit.operation
        if not isinstance(operation, BulkCopy | RemoteLoad | RemoteStore | StAsync):
            continue
        found = (
            int(v)
            for _, values in context.values(operation.rank, visit)
            for v in values
            if not 0 <= v <= last
        )
        wrong = next(found, None)
        if wrong is not None:
            yield Finding(
                f"{visit.path}.rank", wrong, f"a rank lies from 0 to {last}", min(max(wrong, 0), last)
            )
