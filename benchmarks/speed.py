"""How fast the simulator is: lines and chip cycles a second, where the time goes, growth, start, memory.

Usage: python benchmarks/speed.py [--rounds 3] [--iterations 40] [--no-start]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from hoppersim.engine import simulate
from hoppersim.machine import Machine, load_machine
from hoppersim.program.cases import Case, build_case
from hoppersim.units import TICKS_PER_CYCLE

START = "from speed import load_machine, measure; measure(load_machine('h200_sxm'), 1)"


class Measured(NamedTuple):
    """One run: line requests, chip cycles, seconds in all and seconds inside the fabric."""

    lines: int
    cycles: float
    seconds: float
    inside: float


def timed(call: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    """Wrap a function so that its seconds are noted."""

    def wrapper(*arguments: Any) -> Any:
        began = perf_counter()
        try:
            return call(*arguments)
        finally:
            spent.append(perf_counter() - began)

    return wrapper


def measure(machine: Machine, iterations: int, fabric: str = "compiled", watch: bool = False) -> Measured:
    """Run tiles of 16 KiB into four stages of every SM, all different and all in the L2."""
    spent: list[float] = []
    make = simulate.make_fabric

    def make_timed(*arguments: Any) -> Any:
        made = make(*arguments)
        for name in ("inject", "advance", "warm"):
            setattr(made, name, timed(getattr(made, name), spent))
        return made

    work = build_case(Case("unicast_distinct", rows=128, stages=4, iterations=iterations))
    simulate.make_fabric = make_timed  # type: ignore[assignment]
    try:
        output = simulate.simulate_raw(machine, work, fabric, watch=watch)
    finally:
        simulate.make_fabric = make
    return Measured(output.lines, output.ticks / TICKS_PER_CYCLE, output.wall_seconds, sum(spent))


def report(name: str, runs: list[Measured]) -> float:
    """Print the medians of some equal runs; return lines a second."""
    seconds, inside = median(run.seconds for run in runs), median(run.inside for run in runs)
    lines, cycles = runs[0].lines, runs[0].cycles
    share = inside / seconds
    print(
        f"{name:26} {lines / 1e6:7.3f} M lines {seconds:7.2f} s  {lines / seconds / 1e6:7.4f} M lines/s"
        f"  {cycles / seconds / 1e3:8.1f} k cycles/s  fabric {share:4.0%} SimPy {1 - share:4.0%}"
    )
    return lines / seconds


def report_starts() -> None:
    """Time a process that compiles the kernel, and one that finds it in the cache."""
    folder = Path(__file__).parent
    with tempfile.TemporaryDirectory() as cache:
        for name in ("first start, compiles", "second start"):
            began = perf_counter()
            environment = {**os.environ, "HOPPERSIM_CACHE": cache}
            subprocess.run([sys.executable, "-c", START], cwd=folder, env=environment, check=True)
            print(f"{name:26} {perf_counter() - began:.1f} s, one tile an SM included")


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=40, help="tiles an SM of the smallest compiled run")
    parser.add_argument("--no-start", action="store_true", help="do not time the compilation")
    options = parser.parse_args()
    machine, size = load_machine("h200_sxm"), options.iterations
    if not options.no_start:
        report_starts()
    measure(machine, 1)
    kinds: dict[str, Callable[[], Measured]] = {
        "compiled, 1x": lambda: measure(machine, size),
        "compiled, 2x": lambda: measure(machine, 2 * size),
        "compiled, 4x": lambda: measure(machine, 4 * size),
        "compiled, 1x, race watch": lambda: measure(machine, size, watch=True),
        "reference, one tile an SM": lambda: measure(machine, 1, "reference"),
    }
    runs: dict[str, list[Measured]] = {name: [] for name in kinds}
    for _ in range(options.rounds):
        for name, run in kinds.items():
            runs[name].append(run())
    rates = {name: report(name, runs[name]) for name in kinds}
    print(f"compiled to reference: {rates['compiled, 4x'] / rates['reference, one tile an SM']:.0f}x")
    print(f"growth: seconds a line at 4x over 1x: {rates['compiled, 1x'] / rates['compiled, 4x']:.2f}")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
