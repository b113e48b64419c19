"""Where an iteration of the article's hot loops goes: stamps between its steps, alone and on the full chip.

And by how much an acquire at cluster scope grows with the box that was loaded before it.

Two hypotheses for what the loop takes beyond the model. A: the load takes longer after a sync than measured
apart. B: issue, wait and sync take longer together than their slopes. The stamps' differences tell; the
same loops without stamps say what the stamps themselves take.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hoppersim.program.article import article_multicast, article_unicast
from hoppersim.program.operations import For, Operation, Stamp, Wait
from hoppersim.program.work import Role, Work
from hw_validate.bundle import Point
from hw_validate.plans.one_box import BEFORE, TRIPS, box_after
from hw_validate.plans.parts import named

ITERATIONS = 96
WAYS = {"unicast": article_unicast, "multicast": article_multicast}


def points() -> list[Point]:
    """List the points: both ways, clusters of 1 and 2, one cluster and all, with stamps or not; sizes."""
    return [*_points(), *_sizes()]


def _sizes() -> Iterator[Point]:
    for name in ("cluster acq_rel", "fence cluster", "cluster relaxed"):
        for rows in (2, 8, 16, 32, 64, 96, 192, 256):
            tags = {"before": name, "rows": rows, "warps": 1, "trips": TRIPS}
            work = box_after(2, rows, BEFORE[name], 1, None)
            yield named(work, "after_size", tags, 5, experiment="after_size", kind="after_sync")


def _points() -> Iterator[Point]:
    for way, build in WAYS.items():
        for cluster in (1, 2):
            for where, grid in (("alone", cluster), ("chip", "fill")):
                plain = build("hot", ITERATIONS, cluster)
                flow = plain.flows[0]
                placed = replace(flow, launch=replace(flow.launch, grid=grid))
                stamped = replace(
                    placed, program=replace(flow.program, roles=tuple(map(_stamped, flow.program.roles)))
                )
                for name, one in (("plain", placed), ("stamped", stamped)):
                    tags = {"way": way, "cluster": cluster, "where": where, "stamps": name}
                    yield named(Work((one,)), "article_steps", tags, 5, experiment="article_steps")


def _stamped(role: Role) -> Role:
    """Stamp the issuer: at the begin of an iteration, once all is issued, and once the tile is there."""
    if role.name != "issuer":
        return role
    (loop,) = role.body
    assert isinstance(loop, For)
    body: list[Operation] = [Stamp("begin")]
    for operation in loop.body:
        if isinstance(operation, Wait):
            body += [Stamp("issued"), operation, Stamp("arrived")]
        else:
            body.append(operation)
    return replace(role, body=(replace(loop, body=tuple(body)),))
