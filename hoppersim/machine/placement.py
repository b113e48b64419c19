"""Which SMs the clusters of a launch land on, and whether it can be launched at all."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import zip_longest

from hoppersim.errors import InputError
from hoppersim.machine.floorplan import Floorplan, Gpc
from hoppersim.machine.machine import Machine

_WARP_THREADS = 32

Cluster = tuple[int, ...]


@dataclass(frozen=True)
class StrandedSm:
    """An SM that no cluster reaches, because its GPC has too few SMs left."""

    sm: int
    gpc: int


@dataclass(frozen=True)
class Placement:
    """Where the clusters of one wave run.

    Parameters
    ----------
    cluster_size
        CTAs of a cluster.
    max_active_clusters
        Clusters that are resident at once when all SMs take part.
    ctas_per_sm
        CTAs that fit an SM side by side.
    clusters
        SM ids by rank of every cluster that takes part, in launch order.
    stranded
        SMs that no cluster can use, whichever take part.
    """

    cluster_size: int
    max_active_clusters: int
    ctas_per_sm: int
    clusters: tuple[Cluster, ...]
    stranded: tuple[StrandedSm, ...]

    @property
    def sms(self) -> tuple[int, ...]:
        """SMs that run at least one CTA, in ascending order."""
        return tuple(sorted({sm for cluster in self.clusters for sm in cluster}))


def resident(
    machine: Machine,
    cluster_size: int,
    shared_bytes: int,
    threads: int,
    allowed_sms: Collection[int] | None = None,
) -> Placement:
    """Place one wave of clusters.

    Clusters go to the GPCs in turn; within a GPC they take SMs TPC by TPC. A second CTA comes to an SM
    when every SM has its first.

    Parameters
    ----------
    machine
        The machine.
    cluster_size
        CTAs of a cluster.
    shared_bytes
        Dynamic shared memory of a CTA in bytes.
    threads
        Threads of a CTA.
    allowed_sms
        SMs that may take part; a cluster with any CTA elsewhere exits at once. None allows all.

    Returns
    -------
    Placement
        The clusters that take part, in launch order.

    Raises
    ------
    InputError
        If nothing can be launched.
    """
    require_launchable(machine, cluster_size, shared_bytes, threads, allowed_sms)
    layer = _layer(machine.floorplan, cluster_size)
    used = {sm for cluster in layer for sm in cluster}
    stranded = tuple(
        StrandedSm(sm, number)
        for number, gpc in enumerate(machine.floorplan.gpcs)
        for sm in gpc.sms
        if sm not in used
    )
    layers = ctas_per_sm(machine, shared_bytes, threads)
    taking_part = _taking_part(layer, allowed_sms) * layers
    return Placement(cluster_size, len(layer) * layers, layers, taking_part, stranded)


def ctas_per_sm(machine: Machine, shared_bytes: int, threads: int) -> int:
    """Give the number of CTAs that fit one SM side by side; 0 where none does."""
    launch = machine.spec.launch
    rounded = -(-threads // _WARP_THREADS) * _WARP_THREADS
    by_memory = launch.shared_bytes_per_sm // max(1, shared_bytes + launch.shared_reserved)
    return min(launch.ctas_per_sm, launch.threads_per_sm // rounded, by_memory)


def require_launchable(
    machine: Machine,
    cluster_size: int,
    shared_bytes: int,
    threads: int,
    allowed_sms: Collection[int] | None = None,
    *,
    large_clusters: bool = True,
) -> None:
    """Refuse a launch that the hardware would refuse.

    Parameters
    ----------
    machine, cluster_size, shared_bytes, threads, allowed_sms
        As for `resident`.
    large_clusters
        Whether the kernel opts in to clusters above the portable size.

    Raises
    ------
    InputError
        Saying why, and what fits.
    """
    _check_cta(machine, shared_bytes, threads)
    _check_cluster(machine, cluster_size, large_clusters)
    _check_allowed(machine, cluster_size, allowed_sms)


def select_sms(
    floorplan: Floorplan, gpcs: Collection[int] = (), per_gpc: int = 0, spread: bool = False
) -> tuple[int, ...]:
    """Choose the SMs that may take part in a launch.

    Parameters
    ----------
    floorplan
        Where the SMs sit.
    gpcs
        GPCs to choose from; empty means all.
    per_gpc
        SMs of each GPC at most; 0 means all.
    spread
        Take one SM of every TPC first, else TPC by TPC.

    Raises
    ------
    InputError
        If a GPC does not exist or `per_gpc` is negative.
    """
    last = len(floorplan.gpcs) - 1
    for number in gpcs:
        if not 0 <= number <= last:
            nearest = min(max(number, 0), last)
            raise InputError("launch.sms.gpcs", number, f"must be a GPC from 0 to {last}", nearest)
    if per_gpc < 0:
        raise InputError("launch.sms.per_gpc", per_gpc, "must not be negative", 0)
    chosen: list[int] = []
    for number in sorted(set(gpcs)) or range(last + 1):
        order = _spread(floorplan.gpcs[number]) if spread else floorplan.gpcs[number].sms
        chosen += order[: per_gpc or None]
    return tuple(chosen)


def _spread(gpc: Gpc) -> Cluster:
    return tuple(sm for row in zip_longest(*gpc.tpcs) for sm in row if sm is not None)


def _layer(floorplan: Floorplan, size: int) -> tuple[Cluster, ...]:
    """One CTA on every SM that a cluster can reach."""
    queues = [_groups(gpc.cluster_sms(size), size) for gpc in floorplan.gpcs]
    return tuple(cluster for turn in zip_longest(*queues) for cluster in turn if cluster is not None)


def _groups(sms: Cluster, size: int) -> list[Cluster]:
    return [tuple(sms[first : first + size]) for first in range(0, len(sms) - size + 1, size)]


def _taking_part(layer: tuple[Cluster, ...], allowed: Collection[int] | None) -> tuple[Cluster, ...]:
    if allowed is None:
        return layer
    return tuple(cluster for cluster in layer if set(cluster) <= set(allowed))


def _check_cta(machine: Machine, shared_bytes: int, threads: int) -> None:
    launch = machine.spec.launch
    most = launch.shared_bytes_per_cta
    if not 0 <= shared_bytes <= most:
        rule = f"a CTA can have 0 to {most} bytes of dynamic shared memory"
        raise InputError("program.shared_bytes", shared_bytes, rule, min(max(shared_bytes, 0), most))
    if not 1 <= threads <= launch.threads_per_cta:
        rule = f"a CTA can have 1 to {launch.threads_per_cta} threads"
        raise InputError("program.threads", threads, rule, min(max(threads, 1), launch.threads_per_cta))


def _check_cluster(machine: Machine, size: int, large_clusters: bool) -> None:
    launch = machine.spec.launch
    sizes = machine.floorplan.gpc_sizes
    if not 1 <= size <= launch.cluster_max:
        rule = f"a cluster can have 1 to {launch.cluster_max} CTAs"
        raise InputError("launch.cluster", size, rule, min(max(size, 1), launch.cluster_max, max(sizes)))
    if size > launch.cluster_portable and not large_clusters:
        rule = f"a cluster of more than {launch.cluster_portable} CTAs must opt in to non-portable sizes"
        raise InputError("launch.cluster", size, rule, launch.cluster_portable)
    if size > max(sizes):
        rule = f"a cluster runs within one GPC, and the largest GPC of {machine.name} has {max(sizes)} SMs"
        raise InputError("launch.cluster", size, rule, max(sizes))


def _check_allowed(machine: Machine, size: int, allowed: Collection[int] | None) -> None:
    if allowed is None or _taking_part(_layer(machine.floorplan, size), allowed):
        return
    strange = sorted(set(allowed) - set(range(machine.sm_count)))
    if strange:
        rule = f"must be SM ids from 0 to {machine.sm_count - 1}"
        raise InputError("launch.sms", strange, rule, min(max(strange[0], 0), machine.sm_count - 1))
    fitting = [fit for fit in range(size, 0, -1) if _taking_part(_layer(machine.floorplan, fit), allowed)]
    rule = f"no cluster of {size} has all its SMs among the {len(set(allowed))} that may take part"
    raise InputError("launch.sms", size, rule, f"clusters of {fitting[0]}" if fitting else "more SMs")
