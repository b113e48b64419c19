"""What sets the time of a run, in a sentence: what is busy, and whether relaxing that gains most."""

from __future__ import annotations

from hoppersim.result.relaxed import (
    COMPUTING,
    HALF_COST,
    HALF_TIME,
    HALF_WORK,
    NOTABLE,
    THREADS,
    TOGETHER,
    TWICE,
)
from hoppersim.result.schema import Limiter, Relaxation, Result

NOT_LITTLE = 0.40
"""Share of the run above which what is busiest is likely to matter beside latency."""
WHY = {
    TWICE: "requests come in bursts, and queue there although it is not always busy",
    HALF_TIME: "in between, others wait for what is under way",
    HALF_COST: "each round waits for its threads",
    HALF_WORK: "each round waits for it",
}
"""Why something else than what is busiest gains most, by how that is relaxed."""

_IN_FLIGHT = "More bytes in flight (stages, larger boxes) would help"
_FEWER = "Larger boxes or fewer operations a tile"
_UNTRIED = {
    "latency": f": latency is likely to set the time. {_IN_FLIGHT} then; a what-if run tells.",
    "issue": f". {_FEWER} may help; a what-if run tells.",
    "compute": ". Faster data are not likely to help; a what-if run tells.",
}
"""What is likely to follow from a limiter that is no resource."""


def explain_limiter(result: Result) -> str:
    """Say what sets the time, and by how much, where reruns say so."""
    claim, found = _claim(result.limiter), relaxations(result)
    if not found:
        return f"{claim}{_untried(result.limiter)}"
    best, own = found[0], _own(result)
    if best.speedup < NOTABLE:
        so = ": it sets the time, as" if result.limiter.name == "compute" else ", but"
        return f"{claim}{so} nothing that was relaxed would gain {NOTABLE - 1:.0%}."
    if own is not None and _is_most(own, best):
        return f"{claim}{_agreed(result, own)}"
    alone = f"{named(own)} {own.speedup:.2f}x" if own is not None else ""
    together = next((item for item in found if item.name == TOGETHER), None)
    if together and own and own.change == TWICE and _is_most(together, best):
        both = f"{named(together)} gives {together.speedup:.2f}x, {alone}"
        return f"{claim} and sets the time with others: {both}."
    less = f", {alone}" if alone else ""
    return f"{claim}, but {named(best)} gives {best.speedup:.2f}x{less}: {WHY[best.change]}."


def relaxations(result: Result) -> tuple[Relaxation, ...]:
    """Give what was relaxed in reruns, by gain; nothing where nothing was tried."""
    return result.what_if.relaxations if result.what_if is not None else ()


def gains_most(result: Result) -> str:
    """Say in a few words what gains most of what was relaxed in reruns."""
    best = relaxations(result)[0]
    if best.speedup < NOTABLE:
        return f"nothing tried gains {NOTABLE - 1:.0%}"
    return f"{best.name}: {best.speedup:.2f}x with {best.change}"


def named(item: Relaxation) -> str:
    """Name a change: twice the bandwidth of the GPC port."""
    return f"{item.change} of {_with_article(item.name)}"


def _is_most(item: Relaxation, best: Relaxation) -> bool:
    """Whether a rerun gains at least half of what the best one does."""
    return item.speedup >= NOTABLE and item.speedup - 1 >= (best.speedup - 1) / 2


def _claim(limiter: Limiter) -> str:
    """Say what was busy, without what follows from it."""
    if limiter.name == "latency":
        return f"Nothing is busy above {limiter.share:.0%}"
    if limiter.name in ("issue", "compute"):
        does = ", mostly computing" if limiter.name == "compute" else " with its own operations"
        whose = f"A thread of {limiter.role}" if limiter.role else "A thread"
        return f"{whose} is busy {limiter.share:.0%} of the time{does}"
    subject = _with_article(limiter.name)
    return f"{subject[0].upper()}{subject[1:]} is {limiter.share:.0%} busy"


def _untried(limiter: Limiter) -> str:
    """Say what is likely to follow from a limiter where nothing was tried."""
    if limiter.name == "latency" and limiter.share > NOT_LITTLE:
        return (
            ": latency, queues and what threads do in between are likely to set the time together; "
            "a what-if run tells."
        )
    return _UNTRIED.get(limiter.name, " and is likely to set the time.")


def _own(result: Result) -> Relaxation | None:
    """Give the rerun that relaxed what the limiter names; None where that was not tried alone."""
    name, found = result.limiter.name, relaxations(result)
    if name == "latency":
        return next((item for item in found if item.change == HALF_TIME), None)
    if name in ("issue", "compute"):
        own = THREADS if name == "issue" else COMPUTING
        return next((item for item in found if item.name == own), None)
    return next((item for item in found if (item.name, item.change) == (name, TWICE)), None)


def _agreed(result: Result, own: Relaxation) -> str:
    """Say what follows from a limiter whose own rerun gains most, or nearly."""
    if result.limiter.name == "latency":
        return _agreed_latency(relaxations(result), own)
    if result.limiter.name == "issue":
        best = relaxations(result)[0]
        also = f", {named(best)} {best.speedup:.2f}x" if best.speedup > own.speedup else ""
        return f": half their cost would make it {own.speedup:.2f}x as fast{also}. {_FEWER} would help."
    if result.limiter.name == "compute":
        return f": it sets the time, half of it would make it {own.speedup:.2f}x as fast."
    return " and sets the time."


def _agreed_latency(found: tuple[Relaxation, ...], own: Relaxation) -> str:
    """Say what follows where less latency gains most, or nearly; what else would help is named beside it."""
    best = found[0]
    also = {TWICE: "more bandwidth", HALF_COST: "cheaper operations of the threads"}
    helping = [
        text
        for change, text in also.items()
        if any(item.change == change and item.speedup >= NOTABLE for item in found)
    ]
    others = f"and so would {' and '.join(helping)}" if helping else "more bandwidth would not"
    alone = (
        ""
        if best is own
        else f" with others: {named(best)} {best.speedup:.2f}x, {named(own)} {own.speedup:.2f}x"
    )
    return f": latency sets the time{alone}. {_IN_FLIGHT}, {others}."


def _with_article(name: str) -> str:
    return name if name.startswith(("all ", "HBM", "TMA issue")) else f"the {name}"
