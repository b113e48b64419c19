"""``python -m hw_validate``: probe a GPU, run works on it, compare with the simulator."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hoppersim.command import run_command, run_process
from hoppersim.errors import InputError

if TYPE_CHECKING:
    from hw_validate.bundle import Point

RUNNER = Path(__file__).resolve().with_name("runner.py")
app = typer.Typer(
    name="hw_validate",
    help="Run the simulator's programs on a real H100 or H200, and compare.",
    epilog="Start with: python -m hw_validate run --out measured.jsonl",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="JSON lines; rows are appended.")]
Budget = Annotated[
    float, typer.Option("--budget", metavar="SECONDS", help="Stop after that, between points.")
]
BundleOnly = Annotated[
    Path | None, typer.Option("--bundle-only", metavar="DIR", help="Only write what a GPU machine needs.")
]


@app.command()
def probe(
    out: Out = Path("probe.jsonl"),
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="STEP", help="One step; repeatable.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Only print what FILE holds; needs no GPU.")] = False,
    tables: Annotated[
        Path | None, typer.Option("--tables", metavar="DIR", help="Also write floorplan and latency tables.")
    ] = None,
    bundle_only: BundleOnly = None,
) -> None:
    """Measure this machine's part: clocks, counters, floorplan, occupancy, and latencies of L2, SMEM and HBM.

    Takes about a minute. Steps: device, occupancy, floorplan, l2, smem, hbm, counters, clocks. The same
    command resumes an interrupted probe. Without a usable GPU this says so in one line, with exit code 2.

    Examples:

      python -m hw_validate probe --out probe.jsonl

      python -m hw_validate probe --only l2 --only smem

      python -m hw_validate probe --show --tables my_part
    """
    from hw_validate import probe_command

    probe_command.check_steps(only or [])
    if bundle_only is None and not show:
        _require_gpu(out)
    code = 0 if show else probe_command.measure(out, only or [], bundle_only)
    if bundle_only is None and code not in probe_command.NOTHING_TO_SHOW:
        probe_command.show(out, tables)
    if code:
        raise typer.Exit(code)


@app.command()
def run(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Flow files; none: the cluster-scaling study.")
    ] = None,
    out: Out = Path("measured.jsonl"),
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", help="Timed launches of a point.")] = 7,
    verify: Annotated[bool, typer.Option(help="Check the received data in a launch of its own.")] = True,
    budget: Budget = 0.0,
    bundle_only: BundleOnly = None,
    emit: Annotated[
        Path | None,
        typer.Option("--emit", metavar="FILE.cu", help="Write the first work as source and stop."),
    ] = None,
) -> None:
    """Measure works on this machine's GPU; an interrupted run is resumed by the same command.

    Without a usable GPU this says so in one line and returns exit code 2.

    Examples:

      python -m hw_validate run --out measured.jsonl

      python -m hw_validate run flow.toml --emit flow.cu

      python -m hw_validate run --bundle-only bundle && python hw_validate/runner.py bundle measured.jsonl
    """
    if repeats < 1:
        raise InputError("--repeats", repeats, "must be at least 1", 1)
    points = _points(files or [], repeats, verify)
    if emit is not None:
        from hw_validate.emit import emit as write_source

        emit.write_text(write_source(points[0].work), encoding="utf-8")
        typer.echo(f"{emit} written; its second line says how to build it")
        return
    _execute(points, out, bundle_only, probe=not files, budget=budget)


@app.command()
def compare(
    measured: Annotated[
        Path | None,
        typer.Argument(help="Rows of a run, or a CSV of yours; none: the dataset.", show_default=False),
    ] = None,
    points: Annotated[
        str,
        typer.Option("--points", metavar="WHICH", help="Of the dataset: set-aside, training, scaling, all."),
    ] = "training",
    only: Annotated[str, typer.Option("--only", metavar="REGEX", help="Labels that match only.")] = "",
    run_name: Annotated[
        str, typer.Option("--run", metavar="NAME", help="Run of the dataset.", show_default="the first")
    ] = "",
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="plan.json of the bundle.", show_default="beside it"),
    ] = None,
    preset: Annotated[str, typer.Option("--preset", "-p", metavar="NAME", help="Machine.")] = "h200_sxm",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="PATH=VALUE", help="Change one number; repeatable."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", help="Processes.", show_default="one a core")
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", help="Seeds for points whose repeats or merging differ.")
    ] = 1,
    ablations: Annotated[
        int,
        typer.Option(
            "--ablations",
            metavar="N",
            help="N of the points also without one block of the model after the other.",
        ),
    ] = 0,
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", metavar="X", help="Exit code 5 if the median error is larger."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Keep the scores in the shipped dataset.")] = False,
    readme: Annotated[
        list[Path] | None,
        typer.Option(
            "--readme", metavar="FILE", help="Rewrite its generated blocks from the kept scores; repeatable."
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write a line a point.")] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Draw simulated against measured.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Simulate what was measured and show both times, with (simulated - measured) / the smaller as error.

    Simulations are kept, so an interrupted comparison goes on where it was. Looks at the score of points set
    aside are logged with the dataset of a source checkout. docs/calibration.md lists the columns of a CSV.

    Examples:

      python -m hw_validate compare --points training -j 4

      python -m hw_validate compare --ablations 100 --figures figures

      python -m hw_validate compare --write --seeds 8 --readme README.md --readme docs/deviations.md

      python -m hw_validate compare --ablations 40 --write --readme docs/calibration.md

      python -m hw_validate compare measured.jsonl --tolerance 0.1

      python -m hw_validate compare my_times.csv
    """
    from hoppersim.pool import MachineRequest
    from hw_validate.compare_command import Wanted, compare_dataset, compare_file, rewrite_files

    request = MachineRequest(preset, tuple(settings or ()))
    if readme and not write and measured is None:
        rewrite_files(readme)
        return
    if tolerance is not None and not tolerance >= 0:
        raise InputError("--tolerance", tolerance, "must be a share of at least 0", 0.1)
    wanted = Wanted(request, jobs, seeds, ablations, csv, figures, json, tolerance)
    if measured is not None:
        if write or readme:
            raise InputError("--write", str(measured), "only the shipped dataset has scores to keep")
        compare_file(wanted, measured, plan or bundle_beside(measured) / "plan.json", only)
        return
    compare_dataset(wanted, points, only, run_name, write=write)
    if readme:
        rewrite_files(readme)


@app.command()
def calibrate(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="STEP", help="One step; repeatable.")
    ] = None,
    dataset: Annotated[
        str, typer.Option("--dataset", metavar="NAME", help="Shipped dataset, or a folder of your own.")
    ] = "h200",
    preset: Annotated[
        str, typer.Option("--preset", "-p", metavar="NAME", help="Machine to start from.")
    ] = "h200_sxm",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="PATH=VALUE", help="Start from another number; repeatable."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", help="Processes.", show_default="one a core")
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE.toml", help="Write the machine, or the floorplan.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    list_steps: Annotated[bool, typer.Option("--list", help="List the steps, and do nothing.")] = False,
    floorplan_only: Annotated[
        Path | None,
        typer.Option("--floorplan-only", metavar="FILE", help="Only make a floorplan of a probe's rows."),
    ] = None,
    run_name: Annotated[
        str, typer.Option("--run", metavar="NAME", help="Run of a file with several floorplans.")
    ] = "",
) -> None:
    """Fit the machine to measurements: small steps in a stated order, each from the points that isolate it.

    Points that are set aside are never read. Works offline; what is done is kept, so an interrupted
    calibration goes on where it was.

    Examples:

      python -m hw_validate calibrate --list

      python -m hw_validate calibrate --only gpc_port -j 2

      python -m hw_validate calibrate --write fitted.toml && hoppersim run multicast --preset fitted.toml

      python -m hw_validate calibrate --floorplan-only probe.jsonl --write my_part.floorplan.toml
    """
    from hoppersim.pool import MachineRequest
    from hw_validate.fit import command

    if list_steps:
        command.list_steps()
    elif floorplan_only is not None:
        command.make_floorplan(floorplan_only, run_name, write)
    else:
        wanted = command.Wanted(
            MachineRequest(preset, tuple(settings or ())), dataset, tuple(only or ()), jobs
        )
        command.calibrate(wanted, write, json=json)


@app.command()
def record(
    rows: Annotated[list[Path], typer.Argument(help="Rows of the runs, the main run first.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the dataset.")],
    counters: Annotated[
        list[Path] | None,
        typer.Option("--counters", metavar="FILE", help="Rows of hardware counters of one run; may repeat."),
    ] = None,
    litmus: Annotated[
        Path | None, typer.Option("--litmus", metavar="FILE", help="Rows of litmus flows.")
    ] = None,
    flows: Annotated[Path, typer.Option("--flows", metavar="DIR", help="Where the litmus flows lie.")] = Path(
        "tests/litmus"
    ),
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", metavar="PLAN.json", help="Plan of the bundle: keep registers and instruction counts."
        ),
    ] = None,
) -> None:
    """Write measured rows as a dataset: small tables and a manifest, whole or not at all.

    Examples:

      python -m hw_validate record measured.jsonl --counters counters.jsonl --out my_dataset
    """
    from hw_validate.record import record as write_dataset

    manifest = write_dataset(rows, out, counters=counters or (), litmus=litmus, flows=flows, plan=plan)
    for run_of in manifest.runs:
        typer.echo(f"{run_of.run}: {run_of.statuses}")
    typer.echo(f"{out} written; check it with: python -m hoppersim data verify {out}")


def _points(files: Sequence[Path], repeats: int, verify: bool) -> list[Point]:
    """Load flow files as points; without files, take the cluster-scaling study."""
    from hoppersim import load_work
    from hw_validate.bundle import Point
    from hw_validate.plans.scaling import points

    if not files:
        return points()
    return [Point(load_work(file), file.stem, repeats, verify) for file in files]


def bundle_beside(out: Path) -> Path:
    """Give the folder in which the bundle of a run stands."""
    return out.with_name(f"{out.stem}.bundle")


def _execute(
    points: Sequence[Point], out: Path, bundle_only: Path | None, *, probe: bool, budget: float
) -> None:
    """Make the bundle and, unless only that is wanted, run it in a process of its own."""
    from hw_validate.bundle import make_bundle

    if bundle_only is None:
        _require_gpu(out)
    plan = make_bundle(points, bundle_only or bundle_beside(out), probe=probe)
    if bundle_only is not None:
        typer.echo(f"{plan} written; run it with: python {RUNNER} {bundle_only} {out}")
        return
    command = [sys.executable, str(RUNNER), str(plan.parent), str(out), "--budget", str(budget)]
    code = subprocess.run(command, check=False).returncode
    if code:
        raise typer.Exit(code)


def _require_gpu(out: Path) -> None:
    """Refuse to go on without a usable GPU."""
    command = [sys.executable, str(RUNNER), str(out), str(out), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    if checked.returncode:
        reason = (checked.stderr.strip() or "the check failed").splitlines()[-1]
        rule = f"{reason}; --bundle-only writes what another machine can run"
        raise InputError("GPU", "none", rule)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    return run_command(app, "hw_validate", arguments)


def entry() -> None:
    """Run the command line of this process."""
    run_process(app, "hw_validate")
