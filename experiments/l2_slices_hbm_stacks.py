"""L2 slices against HBM stacks: memory bandwidth of each design. The study is l2_slices_hbm_stacks.toml."""

from pathlib import Path

from msgspec.structs import replace

from hoppersim import SweepResult, load_sweep, run_sweep

CHANNELS_PER_STACK = 8
ENOUGH = 0.98
"""A design reaches another one's bandwidth at this share of it."""


def report(hbm: SweepResult, l2: SweepResult) -> list[str]:
    """Write both bandwidths of each design, and the answer."""
    from_hbm, from_l2 = (_by_design(done) for done in (hbm, l2))
    stacks, slices = (sorted(set(values)) for values in zip(*from_hbm, strict=True))
    lines = ["bandwidth from HBM / from the L2 [TB/s]"]
    lines.append("HBM stacks" + "".join(f"{f'{count} L2 slices':>16}" for count in slices))
    for stack in stacks:
        cells = (_cell(from_hbm.get((stack, count)), from_l2.get((stack, count))) for count in slices)
        lines.append(f"{stack:>10}" + "".join(f"{cell:>16}" for cell in cells))
    for stack in stacks:
        fewest, rate = _fewest(
            {count: from_hbm[key] for count in slices if (key := (stack, count)) in from_hbm}
        )
        lines.append(f"{stack} stacks: {fewest} slices pass on all that HBM gives, {rate:.2f} TB/s.")
    fewest, rate = _fewest({count: rate for (_, count), rate in from_l2.items()})
    lines.append(f"Tiles in the L2 gain from up to {fewest} slices: {rate:.2f} TB/s.")
    return lines


def _by_design(done: SweepResult) -> dict[tuple[int, int], float]:
    """Give the bandwidth [TB/s] by stacks and slices, where the design ran."""
    return {
        (row["hbm.channels"] // CHANNELS_PER_STACK, row["l2.slices"]): row["tb_per_second"]
        for row in done.rows
        if row["status"] == "ok"
    }


def _cell(hbm: float | None, l2: float | None) -> str:
    return " / ".join("failed" if rate is None else f"{rate:.2f}" for rate in (hbm, l2))


def _fewest(rates: dict[int, float]) -> tuple[int, float]:
    """Give the fewest slices that reach the best bandwidth, and that bandwidth [TB/s]."""
    best = max(rates.values())
    return min(count for count, rate in rates.items() if rate >= ENOUGH * best), best


if __name__ == "__main__":
    study = load_sweep(Path(__file__).with_suffix(".toml"))
    in_l2 = replace(study, name=f"{study.name}_in_l2", case={**study.case, "memory": "l2"})
    results = [run_sweep(one, jobs=2, folder=Path("out") / one.name) for one in (study, in_l2)]
    for result in results:
        result.write(Path("out") / result.plan.sweep.name)
    print("\n".join(report(*results)))
