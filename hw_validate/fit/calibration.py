"""Works the steps out one after the other; each begins with the machine that the steps before it left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hoppersim.pool import MachineRequest
from hw_validate.fit.outcome import Context, Outcome, Step


@dataclass(frozen=True)
class Calibration:
    """What became of the steps.

    Parameters
    ----------
    outcomes
        Of the steps that were done, in their order.
    request
        The machine with all that they found.
    todo
        Names of the steps that an interrupt kept from being done.
    """

    outcomes: tuple[Outcome, ...]
    request: MachineRequest
    todo: tuple[str, ...] = ()


def calibrate(
    steps: Sequence[Step], context: Context, on_step: Callable[[Step], object] = lambda step: None
) -> Calibration:
    """Work steps out; after an interrupt, give what the steps before it found.

    Parameters
    ----------
    steps, context
        The steps in their order, and what they work with.
    on_step
        Called with each step before it begins.
    """
    done: list[Outcome] = []
    for number, step in enumerate(steps):
        on_step(step)
        try:
            outcome = step.run(context)
        except KeyboardInterrupt:
            return Calibration(tuple(done), context.request, tuple(item.name for item in steps[number:]))
        done.append(outcome)
        found = [text for estimate in outcome.estimates for text in estimate.settings]
        request = MachineRequest(context.request.preset, (*context.request.overrides, *found))
        context = replace(context, request=request)
    return Calibration(tuple(done), context.request)
