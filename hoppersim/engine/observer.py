"""Somebody who writes down what happens in a run; without one, nothing is paid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hoppersim.engine.clockwork import Clockwork
from hoppersim.engine.interface import Fabric
from hoppersim.engine.roles import RoleRun, Step
from hoppersim.program.operations import Operation

Bind = Callable[[RoleRun, Operation], Step]
"""Turns an operation of a role's run into a step."""


class Observer(Protocol):
    """What a run asks of an observer before it starts. An observer changes no time and no order."""

    def clockwork(self, fabric: Fabric) -> Clockwork:
        """Make the clockwork of the run, one that notes what passes through it."""

    def bind(self, bind: Bind) -> Bind:
        """Give a binder whose steps do what those of `bind` do, and note it."""
