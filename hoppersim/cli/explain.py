"""``hoppersim explain``: what the code of a rule or finding means, or what a stored Result says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def explain(
    what: Annotated[str, typer.Argument(help="A code, such as HS-MB-001, or a Result file.")],
) -> None:
    """Explain the code of a rule or of a race, or a Result file in a few sentences.

    Examples:

      hoppersim explain HS-MB-001

      hoppersim explain HS-RC-001

      hoppersim explain result.json
    """
    if what.endswith(".json") or Path(what).is_file():
        from hoppersim.result.explain import explain_result
        from hoppersim.result.export import read_result

        typer.echo("\n".join(explain_result(read_result(Path(what)))))
        return
    typer.echo(_page(what.upper()))


def _page(code: str) -> str:
    """Give the page of a rule, or else of what a run may come upon."""
    from hoppersim.engine.findings import TITLES, explain_finding
    from hoppersim.program.rules import RULES, explain_code

    return explain_finding(code) if code in TITLES and code not in RULES else explain_code(code)
