"""A machine: specification, floorplan and tables together, with the origin of every number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from hoppersim.errors import InputError
from hoppersim.machine.floorplan import Floorplan
from hoppersim.machine.provenance import Origin
from hoppersim.machine.rules import closest
from hoppersim.machine.specification import Specification
from hoppersim.machine.tables import Table, digest

Index = NDArray[np.int64]

_HZ_PER_GHZ = 1e9


@dataclass(frozen=True, eq=False)
class Machine:
    """One part, ready to be simulated. Nothing of it can be changed.

    Parameters
    ----------
    spec
        All single numbers.
    floorplan
        Where the SMs sit.
    l2_latency
        Offsets from the mean L2 latency by SM and slice, in SM cycles.
    pair_latency
        Offsets from the mean SM-to-SM latency by sender and receiver, in SM cycles; pairs of different
        GPCs have no meaning.
    hbm_latency
        Offsets from the latency of a miss, in SM cycles; each DRAM page draws one.
    provenance
        Value, unit and origin of every parameter by its path.
    """

    spec: Specification
    floorplan: Floorplan
    l2_latency: Table
    pair_latency: Table
    hbm_latency: Table
    provenance: dict[str, Origin]

    def __repr__(self) -> str:
        chip = f"{self.sm_count} SMs in {self.gpc_count} GPCs, {self.spec.l2.slices} L2 slices"
        return f"<Machine {self.name}: {chip}, {self.spec.clocks.sm_ghz:g} GHz, hash {self.hash}>"

    @property
    def name(self) -> str:
        """Name of the preset."""
        return self.spec.name

    @property
    def sm_count(self) -> int:
        """SMs of the chip."""
        return self.floorplan.sm_count

    @property
    def gpc_count(self) -> int:
        """GPCs of the chip."""
        return len(self.floorplan.gpcs)

    @cached_property
    def hash(self) -> str:
        """Digest of everything that can change a result; names and origins do not count."""
        state = hashlib.sha256()
        numbers = msgspec.to_builtins(self.spec)
        del numbers["name"]
        state.update(msgspec.json.encode(numbers, order="deterministic"))
        state.update(msgspec.json.encode(self.floorplan.gpcs))
        for table in (self.l2_latency, self.pair_latency, self.hbm_latency):
            state.update(digest(table).encode())
        return state.hexdigest()[:16]

    @cached_property
    def provisional_count(self) -> int:
        """How many parameters still wait for a measurement."""
        return sum(origin.provisional for origin in self.provenance.values())

    @cached_property
    def taken_over_count(self) -> int:
        """How many parameters are those of another preset."""
        return sum(origin.taken_over for origin in self.provenance.values())

    @cached_property
    def gpc_of(self) -> Index:
        """GPC of every SM."""
        return self._index([[gpc.sms] for gpc in self.floorplan.gpcs])

    @cached_property
    def cpc_of(self) -> Index:
        """CPC of every SM; CPCs are numbered through the chip, GPC by GPC."""
        cpcs = [cpc for gpc in self.floorplan.gpcs for cpc in gpc.cpcs]
        return self._index(cpcs)

    @cached_property
    def tpc_of(self) -> Index:
        """TPC of every SM; TPCs are numbered through the chip, GPC by GPC."""
        tpcs = [tpc for gpc in self.floorplan.gpcs for tpc in gpc.tpcs]
        return self._index([[tpc] for tpc in tpcs])

    @cached_property
    def partition_of_gpc(self) -> Index:
        """L2 partition that every GPC is attached to."""
        return _frozen([gpc.partition for gpc in self.floorplan.gpcs])

    @cached_property
    def partition_of(self) -> Index:
        """L2 partition that every SM is attached to."""
        return _frozen(self.partition_of_gpc[self.gpc_of].tolist())

    @cached_property
    def slice_partition(self) -> Index:
        """Partition of every L2 slice: consecutive slices, shared out evenly."""
        l2 = self.spec.l2
        return _frozen([number * l2.partitions // l2.slices for number in range(l2.slices)])

    @property
    def slice_bytes_per_cycle(self) -> float:
        """What one L2 slice delivers, in B per SM cycle."""
        return self.spec.l2.slice_bytes_per_l2_cycle * self.spec.clocks.l2_ratio

    @property
    def channel_bytes_per_cycle(self) -> float:
        """What one HBM channel delivers to a stream, in B per SM cycle."""
        hbm = self.spec.hbm
        return hbm.bytes_per_second * hbm.efficiency / (self.cycles_per_second * hbm.channels)

    @property
    def cycles_per_second(self) -> float:
        """SM cycles of a second."""
        return self.spec.clocks.sm_ghz * _HZ_PER_GHZ

    def seconds(self, cycles: float) -> float:
        """Turn SM cycles into seconds."""
        return cycles / self.cycles_per_second

    def cost(self, key: str) -> float:
        """Give the cost of an operation in SM cycles.

        Raises
        ------
        InputError
            If the machine does not define it.
        """
        if key not in self.spec.costs:
            rule = "must be a cost that the machine defines"
            raise InputError(f"costs.{key}", None, rule, closest(key, self.spec.costs))
        return self.spec.costs[key]

    def require_costs(self, keys: Iterable[str]) -> None:
        """Check that every cost is defined.

        Raises
        ------
        InputError
            Naming the first cost that is missing.
        """
        for key in keys:
            self.cost(key)

    def _index(self, groups: Iterable[Iterable[Iterable[int]]]) -> Index:
        owner = np.zeros(self.sm_count, dtype=np.int64)
        for number, group in enumerate(groups):
            for sms in group:
                owner[list(sms)] = number
        owner.flags.writeable = False
        return owner


def _frozen(values: list[int]) -> Index:
    array = np.asarray(values, dtype=np.int64)
    array.flags.writeable = False
    return array
