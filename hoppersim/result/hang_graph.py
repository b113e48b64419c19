"""Who waits for whom in one cluster, as a networkx graph, with its dead ends and cycles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hoppersim.engine.output import BarrierState, RoleState
from hoppersim.program.work import Program
from hoppersim.result.hang_acts import Effect, all_acts, effect, passed, remaining, roles_of

if TYPE_CHECKING:
    import networkx as nx

RoleKey = tuple[int, str]
"""Rank and role."""
BarrierKey = tuple[int, str, int]
"""Rank, barrier and stage."""
SYNCS = ("cta sync", "cluster sync")


@dataclass(frozen=True)
class ClusterState:
    """One cluster that hangs: its blocked roles and its barriers."""

    program: Program
    cluster: int
    size: int
    blocked: dict[RoleKey, RoleState]
    barriers: dict[BarrierKey, BarrierState]

    @property
    def finished(self) -> list[RoleKey]:
        """Roles that have ended."""
        keys = [(rank, role.name) for rank in range(self.size) for role in roles_of(self.program, rank)]
        return [key for key in keys if key not in self.blocked]

    def waited(self, key: RoleKey) -> BarrierKey:
        """What a blocked role waits for: a barrier; of a sync the rank is -1 where it joins the cluster."""
        state = self.blocked[key]
        if state.barrier in SYNCS:
            return (-1 if state.barrier == SYNCS[1] else key[0], state.barrier, 0)
        return key[0], state.barrier, state.stage

    def suppliers(self, target: BarrierKey) -> list[RoleKey]:
        """Blocked roles that could still supply what a barrier or sync lacks."""
        if target[1] in SYNCS:
            return [
                key
                for key in self.blocked
                if target[0] in (-1, key[0]) and self.blocked[key].barrier != target[1]
            ]
        state = self.barriers.get(target)
        return [] if state is None else [key for key in self.blocked if self._supplies(key, target, state)]

    def _supplies(self, key: RoleKey, target: BarrierKey, state: BarrierState) -> bool:
        """Tell whether a role could; one that has acted in this phase can only go on with the same trip."""
        role = next(role for role in self.program.roles if role.name == key[1])
        here, actor = self.blocked[key], (self.cluster, key[0])
        acted = any(who == f"rank {key[0]} {key[1]}" for _, who, _, _ in state.log)
        if acted and not any(effect(self.program, act, actor, target) for act in passed(role, here)):
            return False
        for act in remaining(role, here):
            found = effect(self.program, act, actor, target)
            if found and _helps(found, state) and not (acted and act.later):
                return True
        return False

    def former(self, target: BarrierKey) -> Iterator[RoleKey]:
        """Yield the roles that have ended and whose program arrives on a barrier."""
        for rank, name in self.finished:
            role = next(role for role in self.program.roles if role.name == name)
            found = (effect(self.program, act, (self.cluster, rank), target) for act in all_acts(role))
            if any(part and part.arrives for part in found):
                yield rank, name


def _helps(found: Effect, state: BarrierState) -> bool:
    """Tell whether an effect is what a barrier lacks; an arrival where none is pending is one too many."""
    if state.pending > 0 and found.arrives:
        return True
    if state.tx < 0:
        return found.announces and not found.arrives
    return state.tx > 0 and found.delivers


def wait_graph(state: ClusterState) -> nx.DiGraph:
    """Build the wait-for graph: a role points at what it waits for, that at those who could supply it."""
    import networkx as nx  # slow to import, and only a hang needs it

    graph = nx.DiGraph()
    for key in state.blocked:
        target = state.waited(key)
        graph.add_edge(key, target)
        for supplier in state.suppliers(target):
            graph.add_edge(target, supplier)
    return graph


def dead_ends(state: ClusterState, graph: nx.DiGraph) -> list[BarrierKey]:
    """List what is waited for and nobody can supply."""
    targets = dict.fromkeys(state.waited(key) for key in state.blocked)
    return [target for target in targets if not graph.out_degree(target)]


def cycle(graph: nx.DiGraph) -> list[RoleKey | BarrierKey]:
    """Find a cycle of waits, a shortest one; empty if there is none."""
    import networkx as nx

    found: list[RoleKey | BarrierKey] = min(nx.simple_cycles(graph, length_bound=12), key=len, default=[])
    if not found:
        return []
    first = next(number for number, node in enumerate(found) if len(node) == 2)
    return [*found[first:], *found[:first]]
