"""``hw_validate compare`` and ``calibrate``: measured times beside simulated ones, and the fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoppersim.errors import InputError
from hw_validate.cli_measure import bundle_beside

Preset = Annotated[str, typer.Option("--preset", "-p", metavar="NAME", help="Machine.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="PATH=VALUE", help="Change one number first; repeatable."),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", help="Processes.", show_default="one a core")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


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
    sample: Annotated[
        int,
        typer.Option("--sample", metavar="N", help="N of the points, of all kinds.", show_default="all"),
    ] = 0,
    run_name: Annotated[
        str, typer.Option("--run", metavar="NAME", help="Run of the dataset.", show_default="the first")
    ] = "",
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="plan.json of the bundle.", show_default="beside it"),
    ] = None,
    preset: Preset = "h200_sxm",
    settings: Settings = None,
    jobs: Jobs = None,
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
    json: Json = False,
) -> None:
    """Simulate what was measured and show both times, with (simulated - measured) / the smaller as error.

    Simulations are kept, so an interrupted comparison goes on where it was. Looks at the score of points set
    aside are logged with the dataset of a source checkout. docs/calibration.md lists the columns of a CSV.

    Examples:

      python -m hw_validate compare --sample 100

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
    wanted = Wanted(request, jobs, seeds, ablations, csv, figures, json, tolerance, sample)
    if measured is not None:
        if write or readme:
            raise InputError("--write", str(measured), "only the shipped dataset has scores to keep")
        compare_file(wanted, measured, plan or bundle_beside(measured) / "plan.json", only)
        return
    compare_dataset(wanted, points, only, run_name, write=write)
    if readme:
        rewrite_files(readme)


def calibrate(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="STEP", help="One step; repeatable.")
    ] = None,
    dataset: Annotated[
        str, typer.Option("--dataset", metavar="NAME", help="Shipped dataset, or a folder of your own.")
    ] = "h200",
    preset: Preset = "h200_sxm",
    settings: Settings = None,
    jobs: Jobs = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE.toml", help="Write the machine, or the floorplan.")
    ] = None,
    json: Json = False,
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
