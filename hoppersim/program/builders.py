"""All builders of common programs in one place, by name."""

from __future__ import annotations

from collections.abc import Callable

from hoppersim.program.article import article_multicast, article_unicast
from hoppersim.program.dsmem import dsmem_pull, dsmem_push
from hoppersim.program.gemm import gemm_2x2
from hoppersim.program.work import Work, make_work

BUILDERS: dict[str, Callable[[], Work]] = {
    "article_unicast": article_unicast,
    "article_multicast": article_multicast,
    "dsmem_push": dsmem_push,
    "dsmem_pull": dsmem_pull,
    "gemm_2x2": gemm_2x2,
}
"""Builders that need no argument."""

__all__ = [
    "BUILDERS",
    "article_multicast",
    "article_unicast",
    "dsmem_pull",
    "dsmem_push",
    "gemm_2x2",
    "make_work",
]
