"""The files that ``hoppersim run`` writes: refused before anything runs, written after it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hoppersim.errors import InputError

if TYPE_CHECKING:
    from hoppersim.engine.tiles import Tiles
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Work
    from hoppersim.result.schema import Result
    from hoppersim.trace.recorder import Recorder

_SHOWN = ("window", "clusters", "sms")


def require_formats(out: Path | None, hang_report: Path | None) -> None:
    """Refuse files that could not be written, before anything runs."""
    from hoppersim.result.files import require_place
    from hoppersim.result.table_files import require_format

    if out is not None:
        require_format("--out", out, (".json",))
    if hang_report is None:
        return
    if hang_report.suffix not in (".json", ".png", ".svg"):
        rule = "must end in .json, .png or .svg"
        raise InputError("--hang-report", str(hang_report), rule, hang_report.with_suffix(".json"))
    require_place("--hang-report", hang_report)


def require_different(files: dict[str, Path | None]) -> None:
    """Refuse two outputs in one file.

    Raises
    ------
    InputError
        Naming the second option of the same file.
    """
    seen: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            raise InputError(option, str(path), f"must be another file than that of {other}")


def followed_tiles(path: Path | None, against: str | None) -> Tiles | None:
    """Make what follows all tiles of a run whose times are to be written; None where they are not."""
    if path is None:
        return None
    from hoppersim.engine.tiles import Tiles
    from hoppersim.result.table_files import require_format

    require_format("--tiles", path)
    if against is not None:
        raise InputError("--tiles", str(path), "shows one run: leave --against out, or run each alone")
    return Tiles(whole=True)


def write_tiles(tiles: Tiles, path: Path) -> None:
    """Write where the time of every followed tile went."""
    from hoppersim.result.table_files import write_table
    from hoppersim.result.tiles import tile_rows

    write_table(path, tile_rows(tiles), field="--tiles")


def make_recorder(
    trace: Path | None, against: str | None, shown: tuple[str | None, str | None, str | None], limit: int
) -> Recorder | None:
    """Make the observer of a run that is to be traced; None without a trace."""
    if trace is None:
        named = [f"--trace-{name}" for name, text in zip(_SHOWN, shown, strict=True) if text is not None]
        if named:
            raise InputError(named[0], None, "has no meaning without --trace FILE", "--trace run.pftrace")
        return None
    from hoppersim.trace.perfetto_file import require_writer
    from hoppersim.trace.recorder import Recorder
    from hoppersim.trace.selection import make_selection

    if against is not None:
        raise InputError("--trace", str(trace), "shows one run: leave --against out, or trace each alone")
    require_writer("--trace", trace)
    return Recorder(make_selection(*shown, limit, prefix="--trace-"))


def write_trace(recorder: Recorder, result: Result, path: Path) -> None:
    """Write what a recorder saw of a run, and say what it holds."""
    from hoppersim.trace.save import save_trace

    for line in save_trace(recorder, result, path):
        typer.echo(line, err=True)


def write_hang(machine: Machine, work: Work, path: Path) -> None:
    """Write who waits for whom, as data or as a drawing."""
    from hoppersim.engine.simulate import simulate_raw
    from hoppersim.plots.hang import draw_hang
    from hoppersim.result.export import to_json
    from hoppersim.result.files import write_text
    from hoppersim.result.hang import report_hang

    report = report_hang(machine, work, simulate_raw(machine, work, watch=False))
    if path.suffix == ".json":
        write_text(path, to_json(report), "--hang-report")
    else:
        draw_hang(report, path)
