"""Global addresses of a launch's allocations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hoppersim.errors import InputError

PAGE_BYTES = 2 * 2**20
"""Allocations start at multiples of this, plus their own base offset."""
MOST_BYTES = 2**38 - PAGE_BYTES
"""What all allocations together take at most, in whole pages: the fabrics number lines with 31 bits."""


@dataclass(frozen=True)
class Region:
    """One allocation in the address space; `start` and `bytes` in bytes."""

    name: str
    start: int
    bytes: int

    @property
    def end(self) -> int:
        """First address behind the allocation."""
        return self.start + self.bytes


@dataclass(frozen=True)
class AddressMap:
    """Where the allocations of a work lie. Address 0 stays free."""

    regions: dict[str, Region]

    @classmethod
    def place(cls, allocations: Iterable[tuple[str, int, int]]) -> AddressMap:
        """Lay allocations out one behind the other.

        Parameters
        ----------
        allocations
            (name, bytes, base offset from a page boundary), in order.

        Raises
        ------
        InputError
            If a name is used twice, a size is below one byte, a base lies outside the first page, or all
            together take more than `MOST_BYTES`.
        """
        regions: dict[str, Region] = {}
        page = PAGE_BYTES
        for name, size, base in allocations:
            _check(name, size, base, regions)
            regions[name] = Region(name, page + base, size)
            page += -(-(base + size) // PAGE_BYTES) * PAGE_BYTES
            if page > PAGE_BYTES + MOST_BYTES:
                rule = f"all allocations together take at most {MOST_BYTES} bytes"
                raise InputError(f"allocation.{name}.bytes", size, rule, MOST_BYTES)
        return cls(regions)

    @property
    def end(self) -> int:
        """First address behind all allocations."""
        return max((region.end for region in self.regions.values()), default=PAGE_BYTES)

    def base(self, name: str) -> int:
        """Give the address of an allocation's first byte."""
        return self.regions[name].start

    def require_inside(self, name: str, address: int, count: int = 1) -> None:
        """Check that `count` bytes from `address` lie inside an allocation.

        Raises
        ------
        InputError
            If they do not.
        """
        region = self.regions[name]
        if region.start <= address and address + count <= region.end:
            return
        nearest = min(max(address, region.start), max(region.start, region.end - count))
        rule = f"{count} bytes must lie within {region.start} to {region.end}"
        raise InputError(f"allocation.{name}", address, rule, nearest)

    def owner(self, address: int) -> Region | None:
        """Give the allocation that holds an address, None where there is none."""
        holders = (region for region in self.regions.values() if region.start <= address < region.end)
        return next(holders, None)


def _check(name: str, size: int, base: int, regions: dict[str, Region]) -> None:
    if name in regions:
        raise InputError(f"allocation.{name}", name, "must have a name of its own", f"{name}_2")
    if size < 1:
        raise InputError(f"allocation.{name}.bytes", size, "must be at least one byte", 1)
    if not 0 <= base < PAGE_BYTES:
        nearest = min(max(base, 0), PAGE_BYTES - 1)
        raise InputError(f"allocation.{name}.base", base, f"must lie from 0 to {PAGE_BYTES - 1}", nearest)
