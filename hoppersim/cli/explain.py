"""``hoppersim explain``: what the code of a rule or finding means, or what a stored Result says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hoppersim.cli.options import Json
from hoppersim.errors import InputError

if TYPE_CHECKING:
    from hoppersim.result.documents import Comparison
    from hoppersim.result.schema import Result


def explain(
    what: Annotated[str, typer.Argument(help="A code, such as HS-MB-001, or a file that run --out wrote.")],
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if/--no-what-if", help="Rerun its first tiles with one bandwidth or latency relaxed."
        ),
    ] = True,
    json: Json = False,
) -> None:
    """Explain the code of a rule or of a race, or a stored Result in a few sentences.

    A Result is explained by what limits it, and by what would change it: its
    work runs again with shortened loops, one thing relaxed at a time.

    Examples:

      hoppersim explain HS-MB-001

      hoppersim explain HS-RC-001

      hoppersim explain result.json

      hoppersim explain result.json --no-what-if
    """
    if Path(what).suffix == "" and not Path(what).is_file():
        _print([_page(what.upper())], json=json)
        return
    _require_result(what)
    from hoppersim.result.documents import Comparison
    from hoppersim.result.explain import explain_comparison, explain_result
    from hoppersim.result.export import read_document

    document = read_document(Path(what))
    if what_if:
        document = _with_reruns(document)
    explained = explain_comparison if isinstance(document, Comparison) else explain_result
    _print(explained(document), json=json)  # type: ignore[arg-type]


def _require_result(what: str) -> None:
    """Refuse a file that cannot be a Result, and say what would take it."""
    if Path(what).suffix == ".toml":
        rule = "must be a code, or a file that run --out wrote, .json; this may be a flow file"
        raise InputError("what", what, rule, f"hoppersim check {what}")
    if not Path(what).is_file():
        raise InputError("what", what, "must be a code such as HS-MB-001, or a file that exists")


def _with_reruns(document: Result | Comparison) -> Result | Comparison:
    """Add relaxed reruns where a Result has none and holds what it takes to run it again."""
    from msgspec.structs import replace

    from hoppersim.cli.options import announce_compilation
    from hoppersim.cli.reruns import with_what_if
    from hoppersim.result.documents import Comparison
    from hoppersim.result.relaxed import not_tried
    from hoppersim.result.source import reopen

    def tried(result: Result) -> Result:
        if result.what_if is not None or result.source is None or result.hung:
            return result
        announce_compilation()
        try:
            machine, work = reopen(result)
        except InputError:
            return replace(
                result, what_if=not_tried("the file holds a machine of another version of the model")
            )
        return with_what_if(machine, work, result)

    if isinstance(document, Comparison):
        return replace(document, runs=tuple(tried(result) for result in document.runs))
    return tried(document)


def _print(lines: list[str], *, json: bool) -> None:
    if json:
        from hoppersim.result.export import to_json

        typer.echo(to_json(lines), nl=False)
    else:
        typer.echo("\n".join(lines))


def _page(code: str) -> str:
    """Give the page of a rule, or else of what a run may come upon."""
    from hoppersim.engine.findings import TITLES, explain_finding
    from hoppersim.program.rules import RULES, explain_code

    return explain_finding(code) if code in TITLES and code not in RULES else explain_code(code)
