"""``hoppersim explain``: what the code of a rule means, or what a stored Result says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def explain(
    what: Annotated[str, typer.Argument(help="Code of a rule, such as HS-MB-001, or a Result file.")],
) -> None:
    """Explain a rule by its code, or a Result file in a few sentences.

    Examples:

      hoppersim explain HS-MB-001

      hoppersim explain result.json
    """
    if what.endswith(".json") or Path(what).is_file():
        from hoppersim.result.explain import explain_result
        from hoppersim.result.export import read_result

        typer.echo("\n".join(explain_result(read_result(Path(what)))))
        return
    from hoppersim.program.rules import explain_code

    typer.echo(explain_code(what))
