from __future__ import annotations

import doctest
import importlib

import pytest

from hoppersim.errors import InputError
from hoppersim.program.article import article_multicast, article_unicast
from hoppersim.program.builders import BUILDERS
from hoppersim.program.dsmem import dsmem_pull, dsmem_push
from hoppersim.program.gemm import gemm_2x2
from hoppersim.program.operands import evaluate, mask_ranks
from hoppersim.program.operations import Arrive, BulkCopy, For, TmaLoad
from hoppersim.program.text import format_work
from hoppersim.program.tiles import loop_steps
from hoppersim.program.walk import walk


@pytest.mark.parametrize(
    "name",
    ["hoppersim.program", "hoppersim.program.cases", "hoppersim.program.text", "hoppersim.program.operands"],
)
def test_examples_in_docstrings_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("build", [article_unicast, article_multicast])
def test_the_articles_loops_have_128_threads_and_one_stage(build: object) -> None:
    flow = build().flows[0]  # type: ignore[operator]
    assert flow.program.threads == 128
    assert flow.launch.cluster == (2, 1, 1)
    assert flow.program.map("matrix").box_bytes == 16384
    assert all(visit.operation.n == 5000 for visit in walk(flow.program) if isinstance(visit.operation, For))


def test_the_articles_stream_takes_2000_tiles_all_over_the_matrix() -> None:
    program = article_unicast("stream").flows[0].program
    visit = next(visit for visit in walk(program) if isinstance(visit.operation, TmaLoad))
    steps = loop_steps(visit.operation.coordinates, visit.loops)  # type: ignore[union-attr]
    assert steps.counts.sum() == 2000
    assert len(steps.counts) == 25 * 64


def test_the_articles_leader_arms_its_peer_remotely() -> None:
    text = format_work(article_multicast())
    assert "arrive and expect full 16384 B at 0b10" in text
    assert "sync cluster" in text


@pytest.mark.parametrize("cluster", [2, 5, 16])
def test_a_ring_of_copies_is_released_by_the_next_rank(cluster: int) -> None:
    visits = list(walk(dsmem_push(cluster).flows[0].program))
    copy = next(v.operation for v in visits if isinstance(v.operation, BulkCopy))
    release = next(v.operation for v in visits if isinstance(v.operation, Arrive))
    for rank in range(cluster):
        receiver = evaluate(copy.rank, 0, rank, {})
        assert receiver == (rank + 1) % cluster
        assert mask_ranks(evaluate(release.to, 0, receiver, {})) == (rank,)  # type: ignore[arg-type]


def test_gemm_masks_name_the_row_and_the_column_of_every_rank() -> None:
    program = gemm_2x2().flows[0].program
    loads = [v.operation for v in walk(program) if isinstance(v.operation, TmaLoad)]
    masks = [[mask_ranks(evaluate(load.mask, 0, rank, {})) for rank in range(4)] for load in loads]  # type: ignore[arg-type]
    assert masks[0] == [(0, 1), (0, 1), (2, 3), (2, 3)]
    assert masks[1] == [(0, 2), (1, 3), (0, 2), (1, 3)]


@pytest.mark.parametrize("build", [dsmem_push, dsmem_pull])
def test_builders_refuse_what_has_no_meaning(build: object) -> None:
    for arguments in ({"cluster": 17}, {"tile_bytes": 1000}, {"tile_bytes": 2**20}):
        with pytest.raises(InputError):
            build(**arguments)  # type: ignore[operator]


@pytest.mark.parametrize("name", BUILDERS)
def test_a_program_prints_one_operation_a_line(name: str) -> None:
    work = BUILDERS[name]()
    visits = sum(1 for flow in work.flows for _ in walk(flow.program))
    roles = sum(len(flow.program.roles) for flow in work.flows)
    bodies = format_work(work).split("  role ", 1)[1]
    assert len(bodies.splitlines()) == visits + roles
