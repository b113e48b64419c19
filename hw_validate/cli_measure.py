"""``hw_validate probe``, ``run`` and ``record``: measure on a GPU, and keep what was measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hoppersim.errors import InputError

if TYPE_CHECKING:
    from hw_validate.bundle import Point

RUNNER = Path(__file__).resolve().with_name("runner.py")

Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="JSON lines; rows are appended.")]
Budget = Annotated[
    float, typer.Option("--budget", metavar="SECONDS", help="Stop after that, between points.")
]
BundleOnly = Annotated[
    Path | None, typer.Option("--bundle-only", metavar="DIR", help="Only write what a GPU machine needs.")
]


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
    onto: Annotated[
        str | None,
        typer.Option("--onto", metavar="NAME", help="Dataset, by name or folder, to put these runs behind."),
    ] = None,
) -> None:
    """Write measured rows as a dataset: small tables and a manifest, whole or not at all.

    Examples:

      python -m hw_validate record measured.jsonl --counters counters.jsonl --out my_dataset

      python -m hw_validate record more.jsonl --onto my_dataset --out my_dataset
    """
    from hw_validate.record import record as write_dataset

    manifest = write_dataset(
        rows, out, counters=counters or (), litmus=litmus, flows=flows, plan=plan, onto=onto
    )
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
