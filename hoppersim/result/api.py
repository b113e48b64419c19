"""From a machine and a work to a Result: the call that users make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from hoppersim.errors import EXIT_INPUT, HopperSimError, InputError
from hoppersim.program.rules import check, check_needed
from hoppersim.result.build import build_result
from hoppersim.result.source import make_source
from hoppersim.units import to_cycles

if TYPE_CHECKING:
    from hoppersim.engine.guests import Extra
    from hoppersim.engine.observer import Observer
    from hoppersim.engine.output import RunOutput
    from hoppersim.engine.tiles import Tiles
    from hoppersim.machine.machine import Machine
    from hoppersim.program.rules import Violation
    from hoppersim.program.work import Work
    from hoppersim.result.schema import Result


MOST_LISTED = 20
"""Broken rules that an error lists one by one."""


class IllegalWorkError(HopperSimError):
    """A work that breaks rules; `violations` has all of them."""

    exit_code = EXIT_INPUT

    def __init__(self, violations: list[Violation]) -> None:
        self.violations = violations
        listed = "; ".join(str(violation) for violation in violations[:MOST_LISTED])
        more = len(violations) - MOST_LISTED
        listed += f"; and {more} more: `hoppersim check` lists them" if more > 0 else ""
        super().__init__(f"the work breaks {len(violations)} rule(s): {listed}")


def simulate(  # noqa: PLR0913 - what a run can be given beside its work
    machine: Machine,
    work: Work,
    *,
    fabric: str = "compiled",
    max_cycles: int | None = None,
    extras: tuple[Extra, ...] = (),
    checks: bool = True,
    observer: Observer | None = None,
    tiles: Tiles | None = None,
) -> Result:
    """Simulate a work on a machine.

    Parameters
    ----------
    machine
        From `hoppersim.load_machine`.
    work
        Programs and launches, for example from `hoppersim.build_case` or `hoppersim.load_work`.
    fabric
        ``compiled``, or ``reference`` for small cases.
    max_cycles
        Give up after so many SM cycles [cycle]; None runs to the end or to a hang.
    extras
        Functions that start SimPy processes of your own beside the work: monitors and traffic sources. Each
        is called once, with a `hoppersim.engine.guests.Guest`.
    checks
        Refuse works that break a rule, and watch the run for races. Without, an illegal program is simulated
        as it is, up to its hang if it has one; what no GPU could start is refused all the same.
    observer
        Notes what happens, for a trace (see `hoppersim.trace`); the Result is the same.
    tiles
        Follows tiles: with ``Tiles(whole=True)`` all of them, whose times are then in its ``table()``.
        Without, a part is followed, for the figures in the Result.

    Returns
    -------
    Result
        Times, rates, counters, limiter and bounds; a hang is a Result too.

    Raises
    ------
    IllegalWorkError
        If the work breaks a rule; nothing is simulated then.
    InputError
        If an argument is of another type, or the machine cannot hold the launch.
    RunTooLongError
        If `max_cycles` passed.
    InternalError
        If the simulation broke one of its own invariants.
    """
    _require(machine, work, extras)
    return _simulate(machine, work, fabric, max_cycles, extras, checks, observer, tiles)[0]


def _require(machine: object, work: object, extras: object) -> None:
    """Refuse what is no machine, no work or one without flows, or not a tuple of functions.

    Raises
    ------
    InputError
        Naming the argument, and what makes the right thing.
    """
    from hoppersim.machine.machine import Machine
    from hoppersim.program.work import Work, require_flows

    if not isinstance(machine, Machine):
        raise InputError("machine", machine, "must be a Machine", f"load_machine({machine!r})")
    if not isinstance(work, Work):
        raise InputError("work", work, "must be a Work", "build_case(case) or load_work(path)")
    require_flows(work)
    if not isinstance(extras, tuple):
        raise InputError("extras", extras, "must be a tuple of functions", "extras=(function,)")


def simulate_with_stamps(machine: Machine, work: Work) -> tuple[Result, dict[str, list[list[float]]]]:
    """Simulate as `simulate` does, and give what the work's stamps noted as well.

    Returns
    -------
    tuple
        The Result; and times by ``role.name`` of the stamp, CTA by CTA, in order [cycle].
    """
    result, output = _simulate(machine, work)
    stamps: dict[str, list[list[float]]] = {}
    for number, cta in enumerate(output.ctas):
        for role, name, tick in cta.stamps:
            ctas = stamps.setdefault(f"{role}.{name}", [[] for _ in output.ctas])
            ctas[number].append(to_cycles(tick))
    return result, stamps


def _simulate(  # noqa: PLR0913, PLR0917 - passes on what `simulate` takes
    machine: Machine, work: Work, fabric: str = "compiled", max_cycles: int | None = None,
    extras: tuple[Extra, ...] = (), checks: bool = True, observer: Observer | None = None,
    tiles: Tiles | None = None,
) -> tuple[Result, RunOutput]:  # fmt: skip
    from hoppersim.engine.simulate import simulate_raw
    from hoppersim.engine.tiles import Tiles

    violations = check(work, machine) if checks else check_needed(work, machine)
    if violations:
        raise IllegalWorkError(violations)
    tiles = tiles or Tiles()
    output = simulate_raw(
        machine, work, fabric=fabric, max_cycles=max_cycles, extras=extras, watch=checks, observer=observer,
        tiles=tiles,
    )  # fmt: skip
    result = build_result(machine, work, output, alone=not extras, tiles=tiles)
    return replace(result, machine_hash=machine.hash, source=make_source(machine, work)), output
