"""``hoppersim run``: simulate one work, or two against each other."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hoppersim.cli.options import DEFAULT_PRESET, Fabric, Json, Plan, Preset, Settings
from hoppersim.cli.run_files import (
    followed_tiles,
    make_recorder,
    require_different,
    require_formats,
    write_hang,
    write_tiles,
    write_trace,
)
from hoppersim.errors import EXIT_HANG

if TYPE_CHECKING:
    from hoppersim.cli.target import CaseOptions
    from hoppersim.program.case_spec import Case
    from hoppersim.result.schema import Result
    from hoppersim.result.verdict import Verdict

_TRACE = "Trace"


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
    grid: Annotated[
        int | None,
        typer.Option("--grid", "-g", metavar="N", help="CTAs.", show_default="as many as fit at once"),
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
    what_if: Annotated[
        bool,
        typer.Option("--what-if", help="Also rerun the first tiles with one bandwidth or latency relaxed."),
    ] = False,
    what_if_design: Annotated[
        bool,
        typer.Option(
            "--what-if-design", help="Also rerun them with other stages, boxes and clusters (a flow: stages)."
        ),
    ] = False,
    hang_report: Annotated[
        Path | None,
        typer.Option(
            "--hang-report", metavar="FILE", help="If it hangs, who waits for whom: FILE.json, .png or .svg."
        ),
    ] = None,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write all as FILE.json, or the figures as .csv or .parquet."
        ),
    ] = None,
    tiles: Annotated[
        Path | None,
        typer.Option(
            "--tiles", metavar="FILE", help="Write where the time of every tile went, FILE.csv or .parquet."
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace", metavar="FILE", help="Write a Perfetto trace, FILE.pftrace.", rich_help_panel=_TRACE
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--trace-window", metavar="START:LENGTH", help="Only these SM cycles.", rich_help_panel=_TRACE
        ),
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--trace-clusters",
            metavar="LIST",
            help="Clusters to show, as in 0-3,8.",
            show_default="the first 8 CTAs",
            rich_help_panel=_TRACE,
        ),
    ] = None,
    sms: Annotated[
        str | None,
        typer.Option(
            "--trace-sms", metavar="LIST", help="SMs whose clusters to show.", rich_help_panel=_TRACE
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--trace-limit", metavar="MB", help="Largest size.", rich_help_panel=_TRACE)
    ] = 32,
) -> None:
    """Simulate a flow file, or a case said in one line.

    With --against, both are simulated with the same options; a verdict says
    which is faster, or that the difference lies within the model's error.
    Exit code 4 tells of a hang, or of a race that the run came upon.

    Examples:

      hoppersim run multicast --cluster 2 --box 64x128 --stages 4 --against unicast

      hoppersim run multicast -c 4 --box 256x128 --memory hbm --set xbar.gpc_bytes_per_cycle=1000

      hoppersim run multicast -c 2 --what-if --out result.json

      hoppersim run multicast -c 2 --stages 3 --what-if-design

      hoppersim run multicast -c 2 --trace run.pftrace --trace-window 2000:500

      hoppersim run multicast -c 2 --tiles tiles.csv

      hoppersim run flow.toml --grid 8 --json > result.json

      hoppersim run hanging_flow.toml --no-check --hang-report hang.svg
    """
    from hoppersim.cli.notes import notes_on
    from hoppersim.cli.options import announce_compilation, open_machine, require_fabric
    from hoppersim.cli.reruns import with_designs, with_what_if
    from hoppersim.cli.target import CaseOptions, open_target, require_alike
    from hoppersim.result.api import simulate

    numbers = {"cluster": cluster, "boxes": boxes, "stages": stages, "iterations": iterations, "grid": grid}
    options = CaseOptions(box, pattern, memory, numbers)
    names = [target] if against is None else [target, against]
    require_alike(target, against)
    works = [open_target(name, options) for name in names]
    recorder = make_recorder(trace, against, (window, clusters, sms), limit)
    require_formats(out, hang_report)
    require_different({"--out": out, "--tiles": tiles, "--trace": trace, "--hang-report": hang_report})
    followed = followed_tiles(tiles, against)
    machine = open_machine(preset, settings, floorplan)
    if require_fabric(fabric) == "compiled":
        announce_compilation()
    once = partial(
        simulate,
        machine,
        fabric=fabric,
        max_cycles=max_cycles,
        checks=checks,
        observer=recorder,
        tiles=followed,
    )
    results = [once(work) for work in works]
    cases = [_case(name, options) for name in names]
    if what_if:
        results = [with_what_if(machine, *run) for run in zip(works, results, strict=True)]
    if what_if_design:
        results = [with_designs(machine, *run) for run in zip(works, results, cases, strict=True)]
    results = [_with_measured(result, case) for result, case in zip(results, cases, strict=True)]
    notes = [_echo(name, result, case) for name, result, case in zip(names, results, cases, strict=True)]
    notes += [
        f"{name}: {line}"
        for name, work, result in zip(names, works, results, strict=True)
        for line in ([] if result.hung else notes_on(machine, work))
    ]
    if followed is not None and tiles is not None:
        write_tiles(followed, tiles)
    if recorder is not None and trace is not None:
        write_trace(recorder, results[0], trace)
    _report(results, names, notes, _verdict(results, names), json=json, out=out)
    for work, result in zip(works, results, strict=True):
        if result.hung and hang_report is not None:
            write_hang(machine, work, hang_report)
    if any(result.hung or result.hazards for result in results):
        raise typer.Exit(EXIT_HANG)


def _case(name: str, options: CaseOptions) -> Case | None:
    """Give the case of a one-line target; None for a flow file."""
    from hoppersim.cli.target import make_case
    from hoppersim.program.case_spec import MODES

    mode = name.replace("-", "_")
    return make_case(mode, options) if mode in MODES else None


def _with_measured(result: Result, case: Case | None) -> Result:
    """Add what silicon took for the same work, where it was measured."""
    from msgspec.structs import replace

    from hoppersim.result.silicon import find_measured

    return replace(result, measured=find_measured(result, case))


def _verdict(results: list[Result], names: list[str]) -> Verdict | None:
    """Compare two runs within the error that the model showed against silicon."""
    from hoppersim.result.silicon import model_error
    from hoppersim.result.verdict import compare

    if len(results) == 1 or any(result.hung for result in results):
        return None
    error = model_error(*results)
    return compare(results[0], results[1], (names[0], names[1]), error.p90 if error else None)


def _echo(name: str, result: Result, case: Case | None) -> str:
    """Say in one line what ran."""
    from hoppersim.result.explain import describe_launch

    if case is None:
        return f"{name}: {result.work}; {describe_launch(result)}"
    boxes = f"{case.boxes} boxes of " if case.boxes > 1 else ""
    return (
        f"{name}: {case.iterations} tiles of {case.tile_bytes:,} B ({boxes}{case.rows}x{case.row_bytes}) to "
        f"each CTA, {case.pattern} in {case.memory.upper()}, {case.stages} stages; {describe_launch(result)}"
    )


def _report(
    results: list[Result],
    names: list[str],
    notes: list[str],
    verdict: Verdict | None,
    *,
    json: bool,
    out: Path | None,
) -> None:
    from hoppersim.cli.render import console, print_runs
    from hoppersim.result.documents import Comparison
    from hoppersim.result.export import to_json, write_document

    document = results[0] if len(results) == 1 else Comparison(runs=tuple(results), verdict=verdict)
    if out is not None:
        write_document(out, document)
    if json:
        typer.echo(to_json(document), nl=False)
    else:
        print_runs(console(), results, names, notes, verdict)
