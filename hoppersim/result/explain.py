"""A Result in the sentences that a colleague would say: what sets its time, and what would change it."""

from __future__ import annotations

from hoppersim.machine.inheritance import preset_names
from hoppersim.result.documents import Comparison
from hoppersim.result.limiter_text import explain_limiter, named, relaxations
from hoppersim.result.relaxed import NOTABLE
from hoppersim.result.schema import Relaxation, Result
from hoppersim.result.silicon import ModelError, model_error
from hoppersim.result.tiles import explain_tiles

PACE = 0.10
"""Difference between the whole run and one at the pace of its first trips that is worth a word [share]."""
MOST_NAMED = 3
"""Gains that are named one by one."""

SLOWER = "requests then meet in another order, so that other queues grow or fewer reads merge"
"""Why a run can be slower with something relaxed."""


def explain_result(result: Result) -> list[str]:
    """Say what a run did, what limits it, what would change it, and how far that can be trusted."""
    lines = [_what(result)]
    if result.hung:
        return [*lines, "It hangs:", *result.hang]
    lines += [explain_limiter(result), *explain_late(result), *explain_bound(result)]
    lines += explain_tiles(result.tiles) if result.tiles is not None else []
    lines += explain_gains(result)
    lines += [*explain_silicon(result), *explain_error(result)]
    if result.provisional:
        lines.append(f"{result.provisional} numbers of the machine are provisional: not measured yet.")
    return [*lines, *result.hazards]


def explain_comparison(comparison: Comparison) -> list[str]:
    """Say what each of two runs did, and which is faster, if the model can tell."""
    lines = [line for result in comparison.runs for line in (*explain_result(result), "")]
    verdict = comparison.verdict
    return [*lines, f"Verdict: {verdict.text}."] if verdict is not None else lines[:-1]


def describe_launch(result: Result) -> str:
    """Say in a few words what was launched: CTAs, clusters, SMs."""
    ctas = f"{result.ctas} CTAs"
    if result.cluster > 1:
        ctas += f" in {result.ctas // result.cluster} clusters of {result.cluster}"
    waves = f", in {result.waves} waves" if result.waves > 1 else ""
    return f"{ctas} on {result.sms_used} of {result.sms_of_chip} SMs{waves}"


def explain_late(result: Result) -> list[str]:
    """Say that bytes land when the last CTA has ended, if any do."""
    if not result.late_cycles:
        return []
    text = (
        f"Nobody waits for the last bytes: they land {result.late_cycles:,.0f} cycles after the last CTA has "
        f"ended. Rates and shares count up to then, the time of the CTAs does not."
    )
    return [text]


def explain_bound(result: Result) -> list[str]:
    """Say how far the run is from the least time that its traffic can take."""
    bounds = result.bounds
    if bounds is None or not bounds.merged_cycles:
        return []
    window = result.window_cycles
    if bounds.unmerged_cycles < bounds.merged_cycles * NOTABLE:
        text = (
            f"The traffic needs at least {bounds.merged_cycles:,.0f} cycles at {bounds.merged_link}; "
            f"the run takes {window / bounds.merged_cycles:.2f}x that."
        )
        return [text]
    text = (
        f"If all reads of one line by a cluster merged into one, the traffic would need at least "
        f"{bounds.merged_cycles:,.0f} cycles at {bounds.merged_link}, if none did "
        f"{bounds.unmerged_cycles:,.0f} at {bounds.unmerged_link}; the run takes "
        f"{window / bounds.merged_cycles:.2f}x the former."
    )
    return [text]


def explain_gains(result: Result) -> list[str]:
    """Say what the relaxed reruns gained, and whether that is more than the model's error."""
    if result.what_if is None:
        return []
    if result.what_if.note:
        return [f"What would change it was not tried: {result.what_if.note}."]
    found = relaxations(result)
    helping = [item for item in found if item.speedup >= NOTABLE]
    slower = [item for item in found if item.speedup <= 1 / NOTABLE]
    rest = [item for item in found if 1 / NOTABLE < item.speedup < NOTABLE]
    lines = [_gains(result, helping)] if helping else []
    if rest:
        names = ", ".join(named(item) for item in rest)
        lines.append(f"Under {NOTABLE - 1:.0%} each: {names}.")
    if slower:
        names = ", ".join(f"{named(item)} ({item.speedup:.2f}x)" for item in slower)
        lines.append(f"Slower with {names}: {SLOWER}.")
    drift = result.what_if.base_cycles / result.run_cycles - 1
    if abs(drift) > PACE:
        lines.append(f"The first trips are not like the others: at their pace it would take {drift:+.0%}.")
    error = model_error(result)
    if helping and error is not None and helping[0].speedup - 1 <= error.p90:
        lines.append(f"Each of these gains is within the model's error of {error.p90:.0%}.")
    return lines


def _gains(result: Result, helping: list[Relaxation]) -> str:
    tried = result.what_if
    assert tried is not None
    where = f"by the first {tried.trips} of {tried.of_trips} trips" if tried.trips < tried.of_trips else ""
    first, *others = helping[:MOST_NAMED]
    text = f"{named(first)} would make it {first.speedup:.2f}x as fast"
    text += "".join(f", {named(item)} {item.speedup:.2f}x" for item in others)
    more = len(helping) - MOST_NAMED
    text += f" ({more} more gain less)" if more > 0 else ""
    return f"{text[0].upper()}{text[1:]}{f', {where}' if where else ''}."


def explain_silicon(result: Result) -> list[str]:
    """Say what silicon took for the same work, where it was measured."""
    measured = result.measured
    if measured is None:
        return []
    how = f", in proportion from {measured.of_trips} trips" if measured.of_trips else ""
    how += ", in its slowest CTA" if result.waves > 1 else ""
    side = "above" if measured.error > 0 else "below"
    text = (
        f"An {measured.device} took {measured.cycles:,.0f} cycles for this work{how} (repeats within "
        f"{measured.spread:.1%}); the simulator is {abs(measured.error):.1%} {side}."
    )
    return [text]


def explain_error(*results: Result) -> list[str]:
    """Say how far simulated times were from measured ones on works of the kind, or what is known instead."""
    error, machine = model_error(*results), results[0].machine
    if error is None:
        return [f"Nothing measured says how far times of {machine} are off."]
    kind = f" ({error.kind})" if error.kind else ""
    if machine != error.preset:
        return [_unmeasured(error, machine, kind)]
    text = (
        f"On {error.points} measured works that no fit has read{kind}, the simulated time was off by "
        f"{error.median:.0%} in the median and by up to {error.p90:.0%} in nine of ten: differences "
        f"below {error.p90:.0%} are within the error."
    )
    return [text]


def _unmeasured(error: ModelError, machine: str, kind: str) -> str:
    """Say what is known of a machine that was never measured and takes numbers over from one that was."""
    published = ""
    if machine in preset_names():
        published = f" Which published figures {machine} reproduces, and which not, is in docs/hardware.md."
    return (
        f"No silicon was measured for {machine}. On {error.preset}, whose numbers it takes over, nine of ten "
        f"measured works of this kind{kind} were within {error.p90:.0%}: expect no less here.{published}"
    )


def _what(result: Result) -> str:
    rate = "" if result.hung else f", {result.rates.used_sm:.1f} B/cycle per used SM"
    return (
        f"{result.work} on {result.machine}: {describe_launch(result)} received "
        f"{result.delivered_bytes / 1e6:,.2f} MB in {result.run_cycles:,.0f} cycles "
        f"({result.seconds * 1e6:,.2f} us){rate}."
    )
