"""Cluster size against stages under a limit of shared memory. The study is cluster_stages_smem.toml."""

from pathlib import Path

from hoppersim import SweepResult, load_sweep, run_sweep

LEVEL = 0.95
"""Rates from this share of the best one on count as level with it."""


def report(done: SweepResult) -> list[str]:
    """Write the delivered bandwidth of each combination, and the answer."""
    rates = {(row["cluster"], row["stages"]): row["tb_per_second"] for row in done.rows}
    clusters, stages = (sorted(set(values)) for values in zip(*rates, strict=True))
    lines = ["delivered to the whole chip [TB/s]; -: outside the limit, or cannot be launched"]
    lines.append("cluster" + "".join(f"{f'{count} stages':>10}" for count in stages))
    for cluster in clusters:
        cells = (rates[cluster, count] for count in stages)
        lines.append(
            f"{cluster:>7}" + "".join(f"{'-' if rate is None else f'{rate:.2f}':>10}" for rate in cells)
        )
    known = {key: rate for key, rate in rates.items() if rate is not None}
    best = max(known, key=known.__getitem__)
    lines.append(f"Best: clusters of {best[0]} with {best[1]} stages, {known[best]:.2f} TB/s.")
    level = [key for key, rate in known.items() if rate >= LEVEL * known[best]]
    least = min(level, key=lambda key: (key[1], key[0]))
    lines.append(
        f"Fewest stages within {1 - LEVEL:.0%} of it: {least[1]}, in clusters of {least[0]}, "
        f"{known[least]:.2f} TB/s."
    )
    return lines


if __name__ == "__main__":
    study = load_sweep(Path(__file__).with_suffix(".toml"))
    result = run_sweep(study, jobs=2, folder=Path("out") / study.name)
    result.write(Path("out") / study.name)
    print("\n".join(report(result)))
