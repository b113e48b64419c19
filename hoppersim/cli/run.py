"""``hoppersim run``: simulate one work, or two against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hoppersim.cli.options import DEFAULT_PRESET, Fabric, Json, Plan, Preset, Settings
from hoppersim.errors import EXIT_HANG, InputError

if TYPE_CHECKING:
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Work
    from hoppersim.result.schema import Result
    from hoppersim.result.verdict import Verdict


def run(
    target: Annotated[
        str,
        typer.Argument(help="A flow file, or: unicast, unicast_distinct, multicast, multicast_slices."),
    ],
    against: Annotated[
        str | None, typer.Option("--against", "-a", metavar="TARGET", help="Run this too and compare.")
    ] = None,
    cluster: Annotated[
        int | None, typer.Option("--cluster", "-c", metavar="N", help="CTAs of a cluster.", show_default="1")
    ] = None,
    box: Annotated[
        str | None,
        typer.Option(
            "--box", "-b", metavar="ROWSxBYTES", help="Rows of a box, bytes of a row.", show_default="64x128"
        ),
    ] = None,
    boxes: Annotated[
        int | None, typer.Option("--boxes", metavar="N", help="Boxes of a stage.", show_default="1")
    ] = None,
    stages: Annotated[
        int | None, typer.Option("--stages", metavar="N", help="Stages of the ring.", show_default="4")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", "-n", metavar="N", help="Tiles a CTA.", show_default="64")
    ] = None,
    memory: Annotated[
        str, typer.Option("--memory", "-m", metavar="l2|hbm", help="Where tiles come from.")
    ] = "l2",
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", metavar="hot|sweep|one", help="Which tiles.", show_default="sweep"),
    ] = None,
    preset: Preset = DEFAULT_PRESET,
    settings: Settings = None,
    floorplan: Plan = None,
    fabric: Fabric = "compiled",
    max_cycles: Annotated[
        int | None, typer.Option("--max-cycles", min=1, metavar="N", help="Give up after so many SM cycles.")
    ] = None,
    checks: Annotated[
        bool,
        typer.Option(
            "--check/--no-check", help="Refuse what breaks a rule, watch for races; without, run it as it is."
        ),
    ] = True,
    hang_report: Annotated[
        Path | None,
        typer.Option(
            "--hang-report", metavar="FILE", help="If it hangs, who waits for whom: FILE.json, .png or .svg."
        ),
    ] = None,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Also write the Result as JSON.")
    ] = None,
) -> None:
    """Simulate a flow file, or a case said in one line.

    With --against, both are simulated with the same options; a verdict says
    which is faster, or that the difference lies within the model's error.
    Exit code 4 tells of a hang, or of a race that the run came upon.

    Examples:

      hoppersim run multicast --cluster 2 --box 64x128 --stages 4 --against unicast

      hoppersim run multicast -c 4 --box 256x128 --memory hbm --set xbar.gpc_bytes_per_cycle=1000

      hoppersim run flow.toml --json > result.json

      hoppersim run hanging_flow.toml --no-check --hang-report hang.svg
    """
    from hoppersim.cli.options import announce_compilation, open_machine, require_fabric
    from hoppersim.cli.target import CaseOptions, open_target
    from hoppersim.result.api import simulate
    from hoppersim.result.verdict import compare

    numbers = {"cluster": cluster, "boxes": boxes, "stages": stages, "iterations": iterations}
    options = CaseOptions(box, pattern, memory, numbers)
    names = [target] if against is None else [target, against]
    works = [open_target(name, options) for name in names]
    machine = open_machine(preset, settings, floorplan)
    if require_fabric(fabric) == "compiled":
        announce_compilation()
    results = [simulate(machine, work, fabric=fabric, max_cycles=max_cycles, checks=checks) for work in works]
    hung = any(result.hung for result in results)
    verdict = compare(results[0], results[1], (names[0], names[1])) if against and not hung else None
    _report(results, names, verdict, json=json, out=out)
    for work, result in zip(works, results, strict=True):
        if result.hung and hang_report is not None:
            _write_hang(machine, work, hang_report)
    if hung or any(result.hazards for result in results):
        raise typer.Exit(EXIT_HANG)


def _write_hang(machine: Machine, work: Work, path: Path) -> None:
    from hoppersim.engine.simulate import simulate_raw
    from hoppersim.plots.hang import draw_hang
    from hoppersim.result.export import to_json, write_text
    from hoppersim.result.hang import report_hang

    report = report_hang(machine, work, simulate_raw(machine, work, watch=False))
    if path.suffix == ".json":
        write_text(path, to_json(report))
    elif path.suffix in (".png", ".svg"):
        draw_hang(report, path)
    else:
        raise InputError(
            "--hang-report", str(path), "must end in .json, .png or .svg", path.with_suffix(".json")
        )


def _report(
    results: list[Result], names: list[str], verdict: Verdict | None, *, json: bool, out: Path | None
) -> None:
    from hoppersim.cli.render import console, provisional_note, result_table, verdict_lines
    from hoppersim.result.explain import explain_result
    from hoppersim.result.export import to_json, write_text

    whole = results[0] if len(results) == 1 else {"runs": results, "verdict": verdict}
    if out is not None:
        write_text(out, to_json(whole))
    if json:
        typer.echo(to_json(whole), nl=False)
        return
    screen = console()
    screen.print(result_table(results, names))
    for name, result in zip(names, results, strict=True):
        for line in (*result.hazards, *result.hang):
            screen.print(f"{name}: {line}", markup=False)
        if result.hung:
            screen.print(f"{name} hangs after {result.cycles:,.0f} cycles.", markup=False)
    if len(results) == 1 and not results[0].hung:
        for line in explain_result(results[0])[1:3]:
            screen.print(line, markup=False)
    for line in verdict_lines(verdict) if verdict is not None else ():
        screen.print(line, markup=False)
    note = provisional_note(results[0].provisional)
    if note:
        screen.print(note, markup=False)
