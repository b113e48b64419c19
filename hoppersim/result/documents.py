"""The documents that hold several runs: two with their verdict, a study, a sweep. Each names its schema."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from hoppersim.result.schema import Result
from hoppersim.result.verdict import Verdict

COMPARISON = "hoppersim.comparison/1"
STUDY = "hoppersim.study/1"
SWEEP = "hoppersim.sweep/1"


def _of(description: str, unit: str = "") -> msgspec.Meta:
    return msgspec.Meta(description=description, extra={"unit": unit})


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Common shape of all documents."""


class Comparison(_Document, frozen=True, kw_only=True):
    """What `run --against` says: both runs, and which is faster."""

    schema: Annotated[str, _of("version of this schema")] = COMPARISON
    runs: Annotated[tuple[Result, ...], _of("the runs, the target first")]
    verdict: Annotated[Verdict | None, _of("which is faster; null where one of them hangs")]


class Study(_Document, frozen=True, kw_only=True):
    """What `experiment` writes: the rows of a study and what they show."""

    schema: Annotated[str, _of("version of this schema")] = STUDY
    study: Annotated[str, _of("name of the study")]
    title: Annotated[str, _of("heading of its table and figure")]
    finding: Annotated[list[str], _of("what the rows show, in sentences")]
    rows: Annotated[list[dict[str, Any]], _of("one row a point; units follow from the names of the columns")]


class Sweep(_Document, frozen=True, kw_only=True):
    """What `sweep` writes: a point of the design space a row, and what stands out."""

    schema: Annotated[str, _of("version of this schema")] = SWEEP
    study: Annotated[str, _of("name of the study")]
    question: Annotated[str, _of("what it asks")]
    machines: Annotated[list[str], _of("machines that ran")]
    provisional: Annotated[int, _of("numbers of the machine that are not measured yet, at most", "number")]
    parameters: Annotated[list[str], _of("columns that vary")]
    units: Annotated[dict[str, str], _of("unit of each column that has one")]
    objectives: Annotated[dict[str, str], _of("columns of the Pareto set, and which way is better")]
    finding: Annotated[list[str], _of("what the rows show, in sentences")]
    rows: Annotated[list[dict[str, Any]], _of("one row a point; `status` is `ok` or says why there is none")]
