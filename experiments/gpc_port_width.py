"""How wide must the GPC port be for multicast not to matter? Copy, edit, run."""

from hoppersim import Case, build_case, load_machine, simulate

WIDTHS = (400, 650, 900, 1300, 1800)
CLUSTER = 2

print("GPC port [B/cycle]  unicast [cycle]  multicast [cycle]  gain")
for width in WIDTHS:
    machine = load_machine("h200_sxm", [f"xbar.gpc_bytes_per_cycle={width}"])
    cycles = {}
    for mode in ("unicast_distinct", "multicast"):
        case = Case(mode, cluster=CLUSTER, rows=256, pattern="sweep", iterations=8)
        cycles[mode] = simulate(machine, build_case(case)).cycles
    gain = cycles["unicast_distinct"] / cycles["multicast"]
    print(f"{width:18,} {cycles['unicast_distinct']:16,.0f} {cycles['multicast']:18,.0f} {gain:5.2f}")
