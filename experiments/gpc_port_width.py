"""How wide must the GPC port be for multicast not to matter? The study is gpc_port_width.toml."""

from pathlib import Path

from hoppersim import SweepResult, load_sweep, run_sweep

PORT, SLICE = "xbar.gpc_bytes_per_cycle", "l2.slice_bytes_per_l2_cycle"
MATTERS = 1.05
"""Multicast matters while distinct tiles by unicast take more than this many times as long."""


def report(done: SweepResult) -> list[str]:
    """Write the gain by width of the port, and the answer."""
    gains = {
        (row[SLICE], row[PORT]): row for row in done.rows if row["mode"] == "multicast" and row["speedup"]
    }
    slices, ports = (sorted(set(values)) for values in zip(*gains, strict=True))
    lines = ["GPC port [B/cycle]" + "".join(f"{f'gain, L2 slice {width:g} B':>24}" for width in slices)]
    for port in ports:
        cells = (f"{gains[width, port]['speedup']:>24.2f}" for width in slices)
        lines.append(f"{port:>18,g}" + "".join(cells))
    return lines + [f"L2 slices of {width:g} B a cycle: {_answer(done, width)}" for width in slices]


def _answer(done: SweepResult, width: float) -> str:
    """Say from which port on multicast does not matter, with L2 slices of a width."""
    rows = [row for row in done.rows if row[SLICE] == width]
    multicast = [row for row in rows if row["mode"] == "multicast" and row["speedup"]]
    enough = [row[PORT] for row in multicast if row["speedup"] <= MATTERS]
    if enough:
        return f"from {min(enough):,g} B/cycle on, multicast gains less than {MATTERS - 1:.0%}."
    widest = max(multicast, key=lambda row: row[PORT])
    (distinct,) = (row for row in rows if row["mode"] != "multicast" and row[PORT] == widest[PORT])
    return (
        f"no port up to {widest[PORT]:,g} B/cycle is wide enough. Multicast still gains "
        f"{widest['speedup'] - 1:.0%} there: {distinct['limiter']} limits distinct tiles."
    )


if __name__ == "__main__":
    study = load_sweep(Path(__file__).with_suffix(".toml"))
    result = run_sweep(study, jobs=2, folder=Path("out") / study.name)
    result.write(Path("out") / study.name)
    print("\n".join(report(result)))
