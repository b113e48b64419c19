"""Programs that several plans share: a ring of boxes in every CTA, in phases, with a pace and stamps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hoppersim.program.operations import (
    Affine,
    Arrive,
    Compute,
    ExpectTx,
    Operation,
    Stamp,
    TmaLoad,
    Wait,
)
from hoppersim.program.work import Launch, Role, SmSet, Work, make_work
from hw_validate.plans.parts import (
    LINE,
    STEADY,
    Phases,
    alone,
    phased,
    ring_barriers,
    rows_of,
    spread_starts,
)


@dataclass(frozen=True)
class Ring:
    """One ring of boxes: what is loaded, how, and in which pace.

    Parameters
    ----------
    place
        Row of a box, with the loops ``round`` and ``tile``.
    total_rows
        Rows of the tensor.
    rows
        Rows of a box, 128 bytes each.
    stages, region, phases
        Stages; tiles of a round; rounds, without or with stamps. A phase but the last goes whole times
        twice around the ring.
    mode, cluster
        Every CTA for itself, or rank 0 for the cluster.
    pace
        SM cycles that the producer computes between two boxes; CTAs start evenly spread over an interval.
    """

    place: Affine
    total_rows: int
    rows: int = 128
    stages: int = 8
    region: int = 8
    phases: Phases = STEADY
    mode: Literal["unicast", "multicast"] = "unicast"
    cluster: int = 1
    pace: int = 0
    grid: int | Literal["fill"] = 132
    sms: SmSet = field(default_factory=SmSet)
    warm: int = 1

    @property
    def tiles(self) -> int:
        """Tiles of each CTA."""
        return self.region * sum(rounds for rounds, _ in self.phases)


def ring_work(ring: Ring, name: str = "ring") -> Work:
    """Write the program and the launch of a ring.

    Stamps: ``issued`` after each load and ``arrived`` after each wait, in the phases that have stamps.
    """
    cluster, skew = (ring.cluster, 1, 1), spread_starts(ring.pace)
    return make_work(
        name,
        roles=(*_producers(ring), _consumer(ring)),
        buffers=alone("tile", ring.rows * LINE, ring.stages),
        barriers=ring_barriers(ring.stages, ring.cluster if ring.mode == "multicast" else 1),
        maps=(rows_of("tiles", "data", ring.total_rows, ring.rows),),
        launch=Launch((), ring.grid, cluster, ring.sms, skew, warm=ring.warm),
    )


def _producers(ring: Ring) -> tuple[Role, ...]:
    """Give the role that issues and, for a leader's multicast, the role that arms the peers' barriers."""
    multicast = ring.mode == "multicast"
    mask = 2**ring.cluster - 1 if multicast else None
    arm = ExpectTx("full", ring.rows * LINE)
    load = TmaLoad("tiles", (0, ring.place), "tile", "full", mask=mask)
    pace = (Compute(ring.pace),) if ring.pace else ()
    body: tuple[Operation, ...] = (Wait("free", "free"), arm, load, Stamp("issued"), *pace)
    producer = phased(ring.phases, ring.stages, ring.region, body)
    if not multicast or ring.cluster == 1:
        return (Role("producer", producer),)
    arms = phased(ring.phases, ring.stages, ring.region, (Wait("full", "free"), arm))
    peers = tuple(range(1, ring.cluster))
    return (Role("leader", producer, ranks=(0,)), Role("arm", arms, ranks=peers))


def _consumer(ring: Ring) -> Role:
    to = 1 if ring.mode == "multicast" and ring.cluster > 1 else None
    body = (Wait("full"), Stamp("arrived"), Arrive("free", to=to))
    return Role("consumer", phased(ring.phases, ring.stages, ring.region, body))
