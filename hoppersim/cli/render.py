"""Tables and notes in the terminal; rich drops colours where there is no terminal or NO_COLOR is set."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from hoppersim.result.schema import Result
    from hoppersim.result.verdict import Verdict

_PIPE_WIDTH = 120


def console(*, stderr: bool = False) -> Console:
    """Make a console; a pipe gets a fixed width, so that its tables do not depend on the terminal."""
    width = (
        None if Console(stderr=stderr).is_terminal else max(_PIPE_WIDTH, shutil.get_terminal_size().columns)
    )
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def provisional_note(count: int) -> str:
    """Say how many numbers of the machine are not measured yet; empty when none."""
    if not count:
        return ""
    return f"{count} numbers of this machine are provisional: they still wait for a measurement."


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
        ("time [cycle]", [f"{result.cycles:,.0f}" for result in results]),
        ("time [us]", [f"{result.seconds * 1e6:,.2f}" for result in results]),
        (
            "CTAs, SMs used",
            [f"{result.ctas}, {result.sms_used} of {result.sms_of_chip}" for result in results],
        ),
        ("delivered [MB]", [f"{result.delivered_bytes / 1e6:,.2f}" for result in results]),
        ("rate, chip [B/cycle]", [f"{result.rates.chip:,.1f}" for result in results]),
        ("rate, used SM [B/cycle]", [f"{result.rates.used_sm:.1f}" for result in results]),
        ("rate, SM of the chip [B/cycle]", [f"{result.rates.chip_sm:.1f}" for result in results]),
        ("limited by", [f"{result.limiter.name}, {result.limiter.share:.0%} busy" for result in results]),
        ("bound [cycle]", [_bound(result) for result in results]),
        ("L2 reads [sector]", [f"{result.counters.get(reads, 0):,}" for result in results]),
        (
            "DRAM reads [MB]",
            [f"{result.counters.get('dram__bytes_read.sum', 0) / 1e6:,.2f}" for result in results],
        ),
    ]


def _bound(result: Result) -> str:
    if result.bounds is None:
        return "-"
    return f"{result.bounds.merged_cycles:,.0f}, {result.bounds.merged_link}"


def verdict_lines(verdict: Verdict) -> list[str]:
    """Write the difference and the verdict."""
    sign = "less" if verdict.difference_cycles > 0 else "more"
    cycles = f"{abs(verdict.difference_cycles):,.0f} cycles {sign}"
    lines = [f"{verdict.first} takes {cycles} than {verdict.second}."]
    if verdict.per_byte:
        lines.append("They deliver different amounts, so the verdict goes by time per byte.")
    return [*lines, f"Verdict: {verdict.text}."]
