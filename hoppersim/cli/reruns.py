"""What `run` and `explain` add to a Result by running its work again, changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoppersim.machine.machine import Machine
    from hoppersim.program.case_spec import Case
    from hoppersim.program.work import Work
    from hoppersim.result.schema import Result


def with_what_if(machine: Machine, work: Work, result: Result) -> Result:
    """Add what relaxed reruns of the first tiles gain."""
    from msgspec.structs import replace

    from hoppersim.cli.render import busy
    from hoppersim.result.relaxed import relax

    with busy("Rerunning with one thing relaxed"):
        return replace(result, what_if=relax(machine, work, result))


def with_designs(machine: Machine, work: Work, result: Result, case: Case | None) -> Result:
    """Add what other stages, boxes and cluster sizes take; runs in several processes."""
    from msgspec.structs import replace

    from hoppersim.cli.progress import ProgressBar
    from hoppersim.pool import usable_cores
    from hoppersim.sweep.design import try_designs

    with ProgressBar("Trying other designs", 1) as bar:
        found = try_designs(machine, work, result, case, jobs=usable_cores(), on_count=bar.at)
    return replace(result, designs=found)
