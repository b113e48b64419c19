"""A Result in the sentences that a colleague would say."""

from __future__ import annotations

from hoppersim.result.schema import Result


def explain_result(result: Result) -> list[str]:
    """Say what a run did, what limits it and how far it is from its bound."""
    lines = [_what(result)]
    if result.hung:
        return [*lines, "It hangs:", *result.hang]
    lines.append(_limiter(result))
    bounds = result.bounds
    if bounds is not None and bounds.merged_cycles:
        lines.append(
            f"The traffic needs at least {bounds.merged_cycles:,.0f} cycles at {bounds.merged_link}; "
            f"the run takes {result.window_cycles / bounds.merged_cycles:.2f}x that."
        )
    if result.provisional:
        lines.append(f"{result.provisional} numbers of the machine are provisional: not measured yet.")
    return [*lines, *result.hazards]


def _what(result: Result) -> str:
    return (
        f"{result.work} on {result.machine}: {result.ctas} CTAs in clusters of {result.cluster} on "
        f"{result.sms_used} of {result.sms_of_chip} SMs received {result.delivered_bytes / 1e6:,.2f} MB in "
        f"{result.cycles:,.0f} cycles ({result.seconds * 1e6:,.2f} us), {result.rates.used_sm:.1f} B/cycle "
        f"per used SM."
    )


def _limiter(result: Result) -> str:
    limiter = result.limiter
    if limiter.name == "latency":
        return (
            f"No resource is busy above {limiter.share:.0%}: latency sets the time. More bytes in flight "
            f"(stages, larger boxes) would help, more bandwidth would not."
        )
    if limiter.name == "issue":
        return (
            f"The issuing thread is busy {limiter.share:.0%} of the time with its own operations; larger "
            f"boxes or fewer operations a tile would help, more bandwidth would not."
        )
    return f"The {limiter.name} is {limiter.share:.0%} busy and sets the time."
