"""Tables and notes in the terminal; rich drops colours where there is no terminal or NO_COLOR is set."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    from hoppersim.result.schema import Measured, Result
    from hoppersim.result.verdict import Verdict

_PIPE_WIDTH, _WIDE = 120, 10_000


def console(*, stderr: bool = False, wide: bool = False) -> Console:
    """Make a console; a pipe gets a fixed width, so that its tables do not depend on the terminal.

    With `wide` the lines of a pipe are never broken.
    """
    if Console(stderr=stderr).is_terminal:
        width = None
    else:
        width = _WIDE if wide else max(_PIPE_WIDTH, shutil.get_terminal_size().columns)
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def busy(what: str) -> AbstractContextManager[object]:
    """Show on the standard error stream that something takes a while; only where somebody watches."""
    screen = console(stderr=True)
    return screen.status(f"{what} ...") if screen.is_terminal else nullcontext()


def provisional_note(count: int) -> str:
    """Say how many numbers of the machine are not measured yet; empty when none."""
    if not count:
        return ""
    return f"{count} numbers of this machine are provisional: they still wait for a measurement."


def show_files(screen: Console, files: Sequence[Path]) -> None:
    """List the files that a study has written, and say what would add Parquet where it is missing."""
    from hoppersim.result.table_files import INSTALL_PARQUET, has_parquet

    screen.print(f"Files: {', '.join(map(str, files))}", markup=False, soft_wrap=True)
    if not has_parquet():
        screen.print(f"No Parquet file without its package: {INSTALL_PARQUET}", markup=False)


def print_runs(
    screen: Console,
    results: Sequence[Result],
    names: Sequence[str],
    notes: Sequence[str],
    verdict: Verdict | None,
) -> None:
    """Print what ran, the figures side by side, what would change them, findings, and the verdict."""
    from hoppersim.result.explain import SLOWER
    from hoppersim.result.limiter_text import relaxations

    for note in notes:
        screen.print(note, markup=False)
    screen.print(result_table(results, names))
    if any(result.what_if is not None for result in results):
        screen.print(what_if_table(results, names))
        if any(round(gain.speedup, 2) < 1 for result in results for gain in relaxations(result)):
            screen.print(f"Below 1x it is slower: {SLOWER}.", markup=False)
    for name, result in zip(names, results, strict=True):
        if result.designs is not None:
            print_designs(screen, name, result)
    lines = tile_lines(results, names)
    for name, result in zip(names, results, strict=True):
        lines += [f"{name}: {line}" for line in (*result.hazards, *result.hang)]
        if result.hung:
            lines.append(f"{name} hangs after {result.cycles:,.0f} cycles.")
        if result.what_if is not None and result.what_if.note:
            lines.append(f"{name}: what would change it was not tried: {result.what_if.note}.")
    lines += limit_lines(results, names)
    if verdict is not None:
        lines += verdict_lines(verdict, waves=any(result.waves > 1 for result in results))
    for line in (*lines, *silicon_lines(results, names), provisional_note(results[0].provisional)):
        if line:
            screen.print(line, markup=False)


def tile_lines(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """Say for each run where a tile's time goes, on average, and what its stages are."""
    from hoppersim.result.tiles import describe_tiles, explain_stages

    several = len(results) > 1
    found = [(name, result.tiles.all) for name, result in zip(names, results, strict=True) if result.tiles]
    lines = [
        f"Where a tile's time goes{f', {name}' if several else ''}: {describe_tiles(times)}"
        for name, times in found
    ]
    return [*lines, f"({explain_stages([times for _, times in found])})"] if found else []


def limit_lines(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """Say for each run that ended what limits it, and how far it is from its bound."""
    from hoppersim.result.explain import explain_bound, explain_late
    from hoppersim.result.limiter_text import explain_limiter

    return [
        f"{f'{name}: ' if len(results) > 1 else ''}{line}"
        for name, result in zip(names, results, strict=True)
        if not result.hung
        for line in (explain_limiter(result), *explain_late(result), *explain_bound(result))
    ]


def silicon_lines(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """Say what silicon took for the same works, and how wrong the model is on works like them."""
    from hoppersim.result.explain import explain_error, explain_silicon

    several = len(results) > 1
    lines = [
        f"{f'{name}: ' if several else ''}{line}"
        for name, result in zip(names, results, strict=True)
        for line in explain_silicon(result)
    ]
    ended = [result for result in results if not result.hung]
    return [*lines, *explain_error(*ended)] if ended else lines


def what_if_table(results: Sequence[Result], names: Sequence[str]) -> Table:
    """Lay side by side how much faster runs would be with one thing relaxed, by the gain of the first."""
    tried = [result.what_if for result in results]
    title = ", ".join(
        f"{name}: {item.trips} of {item.of_trips} trips"
        for name, item in zip(names, tried, strict=True)
        if item is not None and not item.note
    )
    table = Table(title=f"times as fast with one thing relaxed ({escape(title)})", title_justify="left")
    table.add_column("relaxed")
    table.add_column("how")
    for name in names:
        table.add_column(escape(name), justify="right")
    gains = [
        {(gain.name, gain.change): gain.speedup for gain in item.relaxations} if item is not None else {}
        for item in tried
    ]
    for key in dict.fromkeys(key for found in gains for key in found):
        cells = (f"{found[key]:.2f}x" if key in found else "-" for found in gains)
        table.add_row(escape(key[0]), key[1], *cells)
    return table


def print_designs(screen: Console, name: str, result: Result) -> None:
    """Print what other stages, boxes and cluster sizes take, and why some were not run."""
    tried = result.designs
    assert tried is not None
    table = Table(title=f"other designs, {escape(name)}", title_justify="left")
    table.add_column("changed")
    for heading in ("time [cycle]", "CTAs", "times as fast per byte", "shared memory [KiB]", "fits"):
        table.add_column(escape(heading), justify="right")
    memory = f"{tried.smem_bytes / 1024:,.1f}"
    table.add_row("as it is", f"{tried.base_cycles:,.0f}", f"{tried.ctas}", "1.00x", memory, "yes")
    for step in tried.steps:
        time = "-" if step.cycles is None else f"{step.cycles:,.0f}"
        gain = "-" if step.speedup is None else f"{step.speedup:.2f}x"
        ctas, memory, fits = f"{step.ctas or '-'}", "-", "-"
        if step.smem_bytes:
            memory, fits = f"{step.smem_bytes / 1024:,.1f}", "yes" if step.fits else "no"
        table.add_row(f"{step.name} {step.value}", time, ctas, gain, memory, fits)
    if tried.steps:
        screen.print(table)
    for step in tried.steps:
        if step.reason:
            screen.print(f"{step.name} {step.value} was not run: {step.reason}.", markup=False)
    if tried.note:
        screen.print(f"Other designs of {name}: {tried.note}.", markup=False)


def result_table(results: Sequence[Result], names: Sequence[str]) -> Table:
    """Lay the figures of runs side by side."""
    table = Table(title=f"on {escape(results[0].machine)}", title_justify="left")
    table.add_column("figure")
    for name in names:
        table.add_column(escape(name), justify="right")
    for label, cells in _figures(results):
        table.add_row(escape(label), *(escape(cell) for cell in cells))
    return table


def _figures(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    reads = "lts__t_sectors_srcunit_tex_op_read.sum"
    return [
        ("time [cycle]", [_until(f"{result.run_cycles:,.0f}", result) for result in results]),
        *_waves(results),
        ("time [us]", [_until(f"{result.seconds * 1e6:,.2f}", result) for result in results]),
        (
            "CTAs, SMs used",
            [f"{result.ctas}, {result.sms_used} of {result.sms_of_chip}" for result in results],
        ),
        ("delivered [MB]", [f"{result.delivered_bytes / 1e6:,.2f}" for result in results]),
        ("rate, chip [B/cycle]", _of_ended(results, lambda result: f"{result.rates.chip:,.1f}")),
        ("rate, used SM [B/cycle]", _of_ended(results, lambda result: f"{result.rates.used_sm:.1f}")),
        ("rate, SM of the chip [B/cycle]", _of_ended(results, lambda result: f"{result.rates.chip_sm:.1f}")),
        _limits(results),
        ("bound, reads merged [cycle]", [_bound(result) for result in results]),
        ("L2 reads [sector]", [f"{result.counters.get(reads, 0):,}" for result in results]),
        (
            "DRAM reads [MB]",
            [f"{result.counters.get('dram__bytes_read.sum', 0) / 1e6:,.2f}" for result in results],
        ),
        *_silicon(results),
        ("simulated [line/s]", [f"{result.speed.lines_per_second:,.0f}" for result in results]),
        ("simulated [cycle/s]", [f"{result.speed.cycles_per_second:,.0f}" for result in results]),
    ]


def _limits(results: Sequence[Result]) -> tuple[str, list[str]]:
    """Give the row of what sets the time: as reruns say, where there are any."""
    from hoppersim.result.limiter_text import gains_most, relaxations

    if any(not relaxations(result) for result in results):
        return "likely limit", _of_ended(results, lambda result: str(result.limiter))
    return "gains most, by reruns", [gains_most(result) for result in results]


def _waves(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Give the rows that tell the time of the slowest CTA from that of the whole, where any run has waves."""
    if all(result.waves == 1 for result in results):
        return []
    return [
        ("waves of CTAs", [f"{result.waves}" for result in results]),
        ("slowest CTA [cycle]", [f"{result.cycles:,.0f}" for result in results]),
    ]


def _until(time: str, result: Result) -> str:
    """Say of a time that it is not that of a whole run, where it is not."""
    return f"hung at {time}" if result.hung else time


def _of_ended(results: Sequence[Result], write: Callable[[Result], str]) -> list[str]:
    """Write a figure of each run; one that hung has none."""
    return ["-" if result.hung else write(result) for result in results]


def _silicon(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Give the rows of what was measured, where anything was."""
    found = [result.measured for result in results]
    device = next((item.device for item in found if item is not None), None)
    if device is None:
        return []
    return [
        (f"{device} [cycle]", ["-" if item is None else _measured(item) for item in found]),
        ("simulator's error", ["-" if item is None else f"{item.error:+.1%}" for item in found]),
    ]


def _measured(item: Measured) -> str:
    scaled = f", scaled from {item.of_trips} trips" if item.of_trips else ""
    return f"{item.cycles:,.0f}{scaled}"


def _bound(result: Result) -> str:
    if result.bounds is None:
        return "-"
    return f"{result.bounds.merged_cycles:,.0f}, {result.bounds.merged_link}"


def verdict_lines(verdict: Verdict, *, waves: bool) -> list[str]:
    """Write the difference and the verdict."""
    sign = "less" if verdict.difference_cycles > 0 else "more"
    cycles = f"{abs(verdict.difference_cycles):,.0f} cycles {sign}"
    lines = [f"Simulated, {verdict.first} takes {cycles} than {verdict.second}."]
    if waves:
        lines.append("Both are compared from the first start to the last end of their CTAs.")
    if verdict.per_byte:
        lines.append("They deliver different amounts, so the verdict goes by time per byte.")
    return [*lines, f"Verdict: {verdict.text}."]
