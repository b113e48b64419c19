"""What a rule sees: one flow, with its operations listed and its names looked up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hoppersim.machine import Machine
from hoppersim.program.operands import evaluate
from hoppersim.program.operations import Affine, Operand
from hoppersim.program.rules.course import Course
from hoppersim.program.tiles import Ints, loop_steps, operand_values
from hoppersim.program.walk import Visit, role_runs_on, walk
from hoppersim.program.work import Allocation, Barrier, Buffer, Flow, Launch, Program, TensorMap

_CLUSTERS_TRIED = 4


@dataclass(frozen=True)
class Context:
    """One flow on one machine; None leaves the rules out that need a machine."""

    flow: Flow
    machine: Machine | None

    @property
    def program(self) -> Program:
        """The flow's program."""
        return self.flow.program

    @property
    def launch(self) -> Launch:
        """The flow's launch."""
        return self.flow.launch

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster, at least 1."""
        return max(1, self.flow.launch.cluster_size)

    @cached_property
    def visits(self) -> tuple[Visit, ...]:
        """Every operation with its path (below the flow) and its loops."""
        return tuple(visit._replace(path=f"program.{visit.path}") for visit in walk(self.program))

    @cached_property
    def course(self) -> Course:
        """The program's course without time; only for flows that break no plain rule."""
        return Course(self.flow)

    @cached_property
    def buffers(self) -> dict[str, Buffer]:
        """Buffers by name."""
        return {item.name: item for item in self.program.buffers}

    @cached_property
    def barriers(self) -> dict[str, Barrier]:
        """Barriers by name."""
        return {item.name: item for item in self.program.barriers}

    @cached_property
    def maps(self) -> dict[str, TensorMap]:
        """Tensor maps by name."""
        return {item.name: item for item in self.program.maps}

    @cached_property
    def allocations(self) -> dict[str, Allocation]:
        """Allocations by name."""
        return {item.name: item for item in self.launch.allocations}

    def ranks(self, visit: Visit) -> Iterator[int]:
        """Yield the cluster ranks that perform an operation."""
        return (rank for rank in range(self.cluster_size) if role_runs_on(visit.role, rank))

    def values(self, operand: Operand, visit: Visit) -> Iterator[tuple[int, Ints]]:
        """Yield (rank, distinct values over all loops) of an operand; the first few clusters are tried.

        Ranks for which the operand has no value are left out: another rule reports those.
        """
        if isinstance(operand, Affine) and (
            set(operand.loops) - set(visit.loop_names) or (0 < len(operand.by_rank) < self.cluster_size)
        ):
            return
        steps = loop_steps((operand,), visit.loops).columns[0]
        clusters = _CLUSTERS_TRIED if isinstance(operand, Affine) and operand.cluster else 1
        for rank in self.ranks(visit):
            for cluster in range(clusters):
                yield rank, operand_values(operand, steps, cluster, rank)

    def first_value(self, operand: Operand, rank: int) -> int:
        """Give the value of an operand at the start of its loops, in the first cluster."""
        loops = dict.fromkeys(operand.loops, 0) if isinstance(operand, Affine) else {}
        return evaluate(operand, 0, rank, loops)
