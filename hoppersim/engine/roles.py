"""Roles as SimPy processes: a program's operations, each with its cost on the issuing thread.

Operations that only send (arrive, expect_tx, loads) do not stop the process: it keeps a debt of ticks and
pays it before it next has to look at something that others can change. What it sent carries the right tick.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

import simpy

from hoppersim.engine.context import Cta
from hoppersim.program.costs import cost_stem
from hoppersim.program.operands import Affine, mask_ranks, ring_of
from hoppersim.program.operations import For, Operand, Operation
from hoppersim.program.work import Role

Waiting = Generator[simpy.Event, Any, None]
Step = tuple[bool, Callable[[], Any]]
"""Whether the step can block (then it is a generator function), and the step."""


class RoleExit(Exception):
    """A role left by an exit operation."""


class Ring:
    """Stage and round of a loop that drives a ring of buffers."""

    __slots__ = ("round", "stage", "stages")

    def __init__(self, stages: int) -> None:
        self.stages = stages
        self.stage = 0
        self.round = 0

    def advance(self) -> None:
        """Go to the next stage; the round counts how often the ring came round."""
        self.stage += 1
        if self.stage == self.stages:
            self.stage = 0
            self.round += 1


class RoleRun:
    """One role of one CTA while it runs.

    Parameters
    ----------
    cta
        The CTA.
    role
        The role.
    slot
        Number of the role's first warp in its CTA.
    bind
        Turns an operation into a step of this run (see `hoppersim.engine.steps`).
    """

    def __init__(self, cta: Cta, role: Role, slot: int, bind: Callable[[RoleRun, Operation], Step]) -> None:
        self.cta = cta
        self.role = role
        self.flow = cta.flow
        self.clockwork = cta.flow.clockwork
        self.env = self.clockwork.env
        self.who = f"rank {cta.rank} {role.name}"
        self.order = (cta.sm << 20) | (cta.slot << 12) | slot
        self.debt = 0
        self.waited = 0
        """Ticks in which the thread waited for others or for data."""
        self.busy = 0
        """Ticks of its own operations, known at its end."""
        self.loops: dict[str, int] = {}
        self.enclosing: list[For] = []
        self.before: Operation | None = None
        self.waiting: tuple[Operation, str, int, int] | None = None
        self.since = 0  # tick at which the thread came to its last wait
        self.finished = False
        self.groups: list[int] = []
        self._rings: dict[int, Ring] = {}
        self._paths = {cta.sm: 0}
        self._bind = bind
        self._steps = [bind(self, operation) for operation in role.body]

    @property
    def time(self) -> int:
        """Tick at which the role's thread is."""
        return self.env._now + self.debt  # type: ignore[return-value]  # `now` would cost a call

    def cost(self, operation: Operation, part: str) -> int:
        """Cost of an operation of this role in ticks."""
        return self.flow.cost(f"{cost_stem(operation, self.role.width)}.{part}")

    def pay(self) -> Waiting:
        """Let the clock catch up with the thread."""
        if self.debt:
            yield self.settle()

    def path_to(self, sm: int) -> int:
        """One way from this role's SM to another, in ticks."""
        if sm not in self._paths:
            self._paths[sm] = self.flow.path_ticks(self.cta.sm, sm)
        return self._paths[sm]

    def settle(self) -> simpy.Timeout:
        """Give the event at which the clock has caught up with the thread."""
        debt, self.debt = self.debt, 0
        return self.env.timeout(debt)

    def process(self) -> Waiting:
        """Run the whole body; note the times of its start and end."""
        with suppress(RoleExit):
            yield from run_steps(self._steps)
        yield from self.pay()
        self.finished = True
        self.busy = int(self.env.now) - self.cta.start - self.waited
        self.cta.end = max(self.cta.end, int(self.env.now))
        self.cta.meeting.leave()
        if self.cta.cluster_meeting is not None:
            self.cta.cluster_meeting.leave()

    def bind_body(self, loop: For) -> list[Step]:
        """Turn the body of a loop into steps."""
        self.enclosing.append(loop)
        steps = []
        for before, operation in zip((None, *loop.body), loop.body, strict=False):
            self.before = before
            steps.append(self._bind(self, operation))
        self.enclosing.pop()
        return steps

    def ring(self, loop: For) -> Ring:
        """The ring that a loop drives; it keeps its position when the loop is entered again."""
        return self._rings.setdefault(id(loop), Ring(loop.stages))

    def ring_for(self, stages: int) -> Ring:
        """Give the ring that drives a buffer or barrier of that many stages; where none does, one at rest."""
        loop = ring_of(stages, self.enclosing)
        return Ring(1) if loop is None else self.ring(loop)

    def value(self, operand: Operand) -> Callable[[], int]:
        """Give a function for the present value of an operand in this CTA."""
        if isinstance(operand, int):
            return lambda: operand
        fixed = self._fixed_part(operand)
        wrap, loops, terms = operand.wrap, self.loops, tuple(operand.loops.items())
        if not terms:
            constant = fixed % wrap if wrap else fixed
            return lambda: constant
        if len(terms) == 1:
            ((name, step),) = terms
            if wrap:
                return lambda: (fixed + step * loops[name]) % wrap
            return lambda: fixed + step * loops[name]
        return lambda: self._sum(fixed, terms, wrap)

    def ranks(self, operand: Operand | None) -> Callable[[], tuple[int, ...]]:
        """Give a function for the ranks of a mask; the own rank where there is none."""
        if operand is None:
            own = (self.cta.rank,)
            return lambda: own
        mask = self.value(operand)
        known: dict[int, tuple[int, ...]] = {}

        def ranks() -> tuple[int, ...]:
            bits = mask()
            if bits not in known:
                known[bits] = mask_ranks(bits)
            return known[bits]

        return ranks

    def _fixed_part(self, operand: Affine) -> int:
        value = operand.base + operand.cluster * self.cta.cluster + operand.rank * self.cta.rank
        return value + (operand.by_rank[self.cta.rank] if operand.by_rank else 0)

    def _sum(self, fixed: int, terms: tuple[tuple[str, int], ...], wrap: int) -> int:
        value = fixed + sum(step * self.loops[name] for name, step in terms)
        return value % wrap if wrap else value


def run_steps(steps: list[Step]) -> Waiting:
    """Run steps one after the other."""
    for blocking, step in steps:
        if blocking:
            yield from step()
        else:
            step()
