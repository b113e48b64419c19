"""A Result in the sentences that a colleague would say: what sets its time, and what would change it."""

from __future__ import annotations

from hoppersim.result.documents import Comparison
from hoppersim.result.relaxed import HALF_TIME, NOTABLE, THREADS, TOGETHER, TWICE
from hoppersim.result.schema import Relaxation, Result
from hoppersim.result.silicon import ModelError, model_error
from hoppersim.result.tiles import explain_tiles

PACE = 0.10
"""Difference between the whole run and one at the pace of its first trips that is worth a word [share]."""
MOST_NAMED = 3
"""Gains that are named one by one."""


def explain_result(result: Result) -> list[str]:
    """Say what a run did, what limits it, what would change it, and how far that can be trusted."""
    lines = [_what(result)]
    if result.hung:
        return [*lines, "It hangs:", *result.hang]
    lines += [explain_limiter(result), *explain_bound(result)]
    lines += explain_tiles(result.tiles) if result.tiles is not None else []
    lines += explain_gains(result)
    lines += [*explain_silicon(result), *explain_error(model_error(result))]
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
    return f"{ctas} on {result.sms_used} of {result.sms_of_chip} SMs"


def explain_limiter(result: Result) -> str:
    """Say what sets the time, and by how much, where reruns say so."""
    limiter = result.limiter
    if limiter.name == "latency":
        return _explain_latency(result)
    if limiter.name == "issue":
        return _explain_issue(result)
    named = _with_article(limiter.name)
    busy = f"{named[0].upper()}{named[1:]} is {limiter.share:.0%} busy"
    speedups = {item.name: item.speedup for item in _relaxations(result) if item.change == TWICE}
    own, together = speedups.get(limiter.name), speedups.get(TOGETHER, 1.0)
    if own is None or (own >= NOTABLE and own - 1 >= (together - 1) / 2):
        return f"{busy} and sets the time."
    if together < NOTABLE:
        return f"{busy}, but does not set the time: twice its bandwidth would change little."
    return (
        f"{busy} and sets the time together with others: twice its bandwidth alone gives {own:.2f}x, twice "
        f"that of {TOGETHER} {together:.2f}x."
    )


def _explain_latency(result: Result) -> str:
    """Say whether latency sets the time of a run in which nothing is busy."""
    busy = f"No resource is busy above {result.limiter.share:.0%}"
    gain, bandwidth = _best(result, HALF_TIME), _best(result, TWICE)
    if gain is not None and gain < NOTABLE:
        return f"{busy}, and half of any latency would gain less than {NOTABLE - 1:.0%}."
    others = "and so would more bandwidth" if (bandwidth or 1.0) >= NOTABLE else "more bandwidth would not"
    return f"{busy}: latency sets the time. More bytes in flight (stages, larger boxes) would help, {others}."


def _explain_issue(result: Result) -> str:
    """Say whether the operations of the threads set the time of a run in which one is mostly busy."""
    busy = f"The issuing thread is busy {result.limiter.share:.0%} of the time with its own operations"
    gains = _relaxations(result)
    own = next((item.speedup for item in gains if item.name == THREADS), None)
    if own is None:
        return f"{busy}; larger boxes or fewer operations a tile are likely to help, more bandwidth is not."
    if own < NOTABLE:
        return (
            f"{busy}, but does not set the time: half the cost of its operations would gain less than "
            f"{NOTABLE - 1:.0%}."
        )
    if gains[0].name != THREADS:
        return f"{busy}; what it waits for in between costs more."
    return (
        f"{busy}: half their cost would make it {own:.2f}x as fast. Larger boxes or fewer operations a tile "
        f"would help."
    )


def explain_bound(result: Result) -> list[str]:
    """Say how far the run is from the least time that its traffic can take."""
    bounds = result.bounds
    if bounds is None or not bounds.merged_cycles:
        return []
    text = (
        f"The traffic needs at least {bounds.merged_cycles:,.0f} cycles at {bounds.merged_link}; "
        f"the run takes {result.window_cycles / bounds.merged_cycles:.2f}x that."
    )
    return [text]


def explain_gains(result: Result) -> list[str]:
    """Say what the relaxed reruns gained, and whether that is more than the model's error."""
    if result.what_if is None:
        return []
    if result.what_if.note:
        return [f"What would change it was not tried: {result.what_if.note}."]
    found = _relaxations(result)
    helping = [item for item in found if item.speedup >= NOTABLE]
    rest = [item for item in found if item.speedup < NOTABLE]
    lines = [_gains(result, helping)] if helping else []
    if rest:
        names = ", ".join(_named(item) for item in rest)
        lines.append(f"Under {NOTABLE - 1:.0%} each: {names}.")
    drift = result.what_if.base_cycles / result.cycles - 1
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
    text = f"{_named(first)} would make it {first.speedup:.2f}x as fast"
    text += "".join(f", {_named(item)} {item.speedup:.2f}x" for item in others)
    more = len(helping) - MOST_NAMED
    text += f" ({more} more gain less)" if more > 0 else ""
    return f"{text[0].upper()}{text[1:]}{f', {where}' if where else ''}."


def explain_silicon(result: Result) -> list[str]:
    """Say what silicon took for the same work, where it was measured."""
    measured = result.measured
    if measured is None:
        return []
    how = f", in proportion from {measured.of_trips} trips" if measured.of_trips else ""
    side = "above" if measured.error > 0 else "below"
    text = (
        f"An {measured.device} took {measured.cycles:,.0f} cycles for this work{how} (repeats within "
        f"{measured.spread:.1%}); the simulator is {abs(measured.error):.1%} {side}."
    )
    return [text]


def explain_error(error: ModelError | None) -> list[str]:
    """Say how far simulated times were from measured ones on works of the kind."""
    if error is None:
        return []
    kind = f" ({error.kind})" if error.kind else ""
    text = (
        f"On {error.points} measured works that no fit has read{kind}, the simulated time was off by "
        f"{error.median:.0%} in the median and by up to {error.p90:.0%} in nine of ten: smaller differences "
        f"are within the error."
    )
    return [text]


def _what(result: Result) -> str:
    return (
        f"{result.work} on {result.machine}: {describe_launch(result)} received "
        f"{result.delivered_bytes / 1e6:,.2f} MB in {result.cycles:,.0f} cycles ({result.seconds * 1e6:,.2f} "
        f"us), {result.rates.used_sm:.1f} B/cycle per used SM."
    )


def _relaxations(result: Result) -> tuple[Relaxation, ...]:
    return result.what_if.relaxations if result.what_if is not None else ()


def _best(result: Result, change: str) -> float | None:
    """Give the largest gain of a kind of change; None where it was not tried."""
    return max((item.speedup for item in _relaxations(result) if item.change == change), default=None)


def _named(item: Relaxation) -> str:
    """Name a change: twice the bandwidth of the GPC port."""
    return f"{item.change} of {_with_article(item.name)}"


def _with_article(name: str) -> str:
    return name if name.startswith(("all ", "HBM", "TMA issue")) else f"the {name}"
