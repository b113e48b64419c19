"""The article's hot loop in full: 132 CTAs, 5,000 iterations, 84.5 million lines by unicast.

Usage: python benchmarks/article.py [--iterations 5000] [--kernel unicast]
"""

from __future__ import annotations

import argparse
import os
import resource
from time import process_time

from hoppersim.engine.simulate import simulate_raw
from hoppersim.machine import Machine, load_machine
from hoppersim.program.article import HOT_ITERATIONS
from hoppersim.program.builders import article_multicast, article_unicast
from hoppersim.units import TICKS_PER_CYCLE

KERNELS = {"unicast": article_unicast, "multicast": article_multicast}
TARGET_SECONDS = 90.0
TARGET_MEGABYTES = 500.0


def measure(machine: Machine, kernel: str, iterations: int) -> float:
    """Run a loop, print what it cost, and return processor seconds a line."""
    work = KERNELS[kernel]("hot", iterations)
    began = process_time()
    output = simulate_raw(machine, work, watch=False)
    used, seconds = process_time() - began, output.wall_seconds
    cycles = output.ticks / TICKS_PER_CYCLE
    print(
        f"{kernel}, {iterations:5} iterations: {output.lines / 1e6:6.2f} M lines in {seconds:6.1f} s"
        f" ({used:.1f} s of processor)  {output.lines / seconds / 1e6:.3f} M lines/s"
        f"  {cycles / seconds / 1e3:.1f} k cycles/s",
        flush=True,
    )
    return used / max(1, output.lines)


def main() -> None:
    """Run a tenth and the whole loop; print both beside the targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=HOT_ITERATIONS)
    parser.add_argument("--kernel", choices=sorted(KERNELS), default="unicast")
    options = parser.parse_args()
    machine = load_machine("h200_sxm")
    measure(machine, options.kernel, 1)
    short = measure(machine, options.kernel, max(1, options.iterations // 10))
    whole = measure(machine, options.kernel, options.iterations)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"target for all {HOT_ITERATIONS:,} iterations by unicast: {TARGET_SECONDS:.0f} s")
    print(f"growth: processor seconds a line, whole over a tenth: {whole / short:.2f}")
    print(f"peak memory: {memory:.0f} MB, target {TARGET_MEGABYTES:.0f} MB")
    print("load average: " + " ".join(f"{value:.1f}" for value in os.getloadavg()))


if __name__ == "__main__":
    main()
