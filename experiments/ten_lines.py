"""From preset to result in ten lines: multicast against unicast for two CTAs that want the same tile."""

from hoppersim import Case, build_case, load_machine, simulate

machine = load_machine("h200_sxm")
for mode in ("unicast_distinct", "unicast", "multicast"):
    work = build_case(Case(mode, cluster=2, rows=256, pattern="sweep", iterations=8))
    result = simulate(machine, work)
    rate = f"{result.rates.used_sm:5.1f} B/cycle per SM"
    print(f"{mode:17} {result.cycles:8,.0f} cycles  {rate}  limited by {result.limiter.name}")
