"""The work of a point, built again from its tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from hoppersim.program.work import Work


def rebuild_work(tags: dict[str, Any]) -> Work | None:
    """Build the work that a point's tags describe: a case, the article's loops, DSMEM push or pull.

    Parameters
    ----------
    tags
        Of the point.

    Returns
    -------
    Work | None
        None where only the plan that the point comes from can write it.

    Raises
    ------
    InputError
        If the tags describe something that has no meaning.
    """
    from hoppersim.program import builders
    from hoppersim.program.case_spec import Case
    from hoppersim.program.cases import build_case

    if "case" in tags:
        return build_case(msgspec.convert(tags["case"], Case))
    if "article" in tags:
        build = builders.article_unicast if tags["article"] == "unicast" else builders.article_multicast
        return build(tags["pattern"], tags["iterations"], tags["cluster"])
    if tags.get("dsmem") == "push":
        return builders.dsmem_push(tags["cluster"], tags["tile"], tags["stages"], tags["iterations"])
    if tags.get("dsmem") == "pull":
        return builders.dsmem_pull(tags["cluster"], tags["tile"], tags["reuse"], tags["iterations"])
    return None
