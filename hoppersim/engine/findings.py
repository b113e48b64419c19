"""What a run finds out while it runs: accesses that must not happen, with those who perform them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hoppersim.units import to_cycles

HALF_FILLED = "HS-RC-001"
OVERWRITTEN = "HS-RC-002"
UNSEEN = "HS-RC-003"
AFTER_EXIT = "HS-EX-001"
BEFORE_START = "HS-EX-002"
NO_SUCH_RANK = "HS-MC-002"

SENT_TO_NOBODY = frozenset({AFTER_EXIT, BEFORE_START, NO_SUCH_RANK})
"""Findings after which bytes that the program sends arrive nowhere."""

TITLES = {
    HALF_FILLED: "a tile is read before all of it is there",
    OVERWRITTEN: "a tile is overwritten while it is still needed",
    UNSEEN: "a buffer is overwritten although nobody waited for its previous phase",
    AFTER_EXIT: "a CTA is accessed after it has exited",
    BEFORE_START: "a CTA is accessed before it has started",
    NO_SUCH_RANK: "a rank is accessed that the cluster does not have",
}
REMEDIES = {
    HALF_FILLED: "wait for the phase that announces all bytes of the tile, with the parity of that phase",
    OVERWRITTEN: "let the writer wait for an arrival of this reader before it fills the stage again",
    UNSEEN: "wait for each phase before the stage is filled again",
    AFTER_EXIT: "keep the exit sync (a cluster barrier before every return)",
    BEFORE_START: "keep the entry sync (a cluster barrier after the initialisation)",
    NO_SUCH_RANK: "name ranks of the cluster only",
}
_PAGES = {
    HALF_FILLED: """\
The reader's wait returned before the phase that announces the tile was complete: its barrier expects fewer
bytes than come, the wait asks for another parity, or there is no wait.
""",
    OVERWRITTEN: """\
Between a reader's wait and its next arrival or sync, somebody issued a write into the stage. In a cluster the
usual cause is a leader that waits for its own consumer only.
""",
    UNSEEN: """\
A phase was completed and its data were replaced in the next one, and no wait had returned for it. A wait
knows phases by their parity: a barrier two phases ahead looks as if it stood still.
""",
}


@dataclass(frozen=True)
class Access:
    """One party of a finding: who did what, where and when.

    Attributes
    ----------
    flow, cluster, rank, sm
        The CTA.
    role
        The role; empty where the party is the CTA as a whole.
    operation
        Name of the operation.
    iteration
        Enclosing loops with their trip counts, outermost first.
    start, end
        Ticks between which it lasts; `end` is -1 where it had not ended.
    phases
        Phases of the own CTA's barriers that the role had seen completed: (barrier, stage, phases).
    """

    flow: int
    cluster: int
    rank: int
    sm: int
    role: str
    operation: str
    iteration: tuple[tuple[str, int], ...] = ()
    start: int = -1
    end: int = -1
    phases: tuple[tuple[str, int, int], ...] = ()

    def __str__(self) -> str:
        loops = ", ".join(f"{name} {trip}" for name, trip in self.iteration)
        where = f"cluster {self.cluster} rank {self.rank} (SM {self.sm})"
        who = f"role {self.role} of {where}" if self.role else where
        what = f"{self.operation} by {who}" if self.operation else who
        return f"{what}{f' in iteration {loops}' if loops else ''}{self._time()}"

    def _time(self) -> str:
        if self.start < 0:
            return ""
        if self.end <= self.start:
            return f" at cycle {to_cycles(self.start):,.0f}"
        return f" from cycle {to_cycles(self.start):,.0f} to {to_cycles(self.end):,.0f}"


@dataclass(frozen=True)
class Finding:
    """One kind of illegal access: its first case, and how many there were.

    Attributes
    ----------
    code
        A stable code; see `TITLES`.
    first
        Who writes, or who accesses the absent CTA.
    second
        Who reads, or the absent CTA; None where there is no other party.
    buffer, stage
        What is accessed; an empty name where it is a barrier or a whole CTA.
    detail
        What happened, in words.
    count
        Cases of this kind in the run.
    """

    code: str
    first: Access
    second: Access | None
    buffer: str
    stage: int
    detail: str
    count: int = 1

    @property
    def remedy(self) -> str:
        """The smallest change that mends it."""
        return REMEDIES.get(self.code, "")

    def __str__(self) -> str:
        place = f"stage {self.stage} of {self.buffer}: " if self.buffer else ""
        second = f"; {self.second}" if self.second is not None else ""
        more = f"; {self.count} cases" if self.count > 1 else ""
        return f"{self.code}: {place}{self.detail}: {self.first}{second}{more}. Fix: {self.remedy}."


def explain_finding(code: str) -> str:
    """Give the page of a finding's code: what it means, and the fix.

    Raises
    ------
    KeyError
        If no finding has this code.
    """
    page = f"{_PAGES[code]}\n" if code in _PAGES else ""
    return f"{code}: {TITLES[code]}.\n\n{page}Fix: {REMEDIES[code]}.\n"


class Findings:
    """Collects findings; cases that differ only in CTA, stage, time or iteration count as one kind."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, ...], Finding] = {}

    def seen(self, key: tuple[str, ...]) -> bool:
        """Count one more case of a kind that is known; false where it is new."""
        known = self._found.get(key)
        if known is not None:
            self._found[key] = replace(known, count=known.count + 1)
        return known is not None

    def add(self, key: tuple[str, ...], finding: Finding) -> None:
        """Keep the first case of a kind."""
        self._found[key] = finding

    def note_absent(self, code: str, own: Access, target: Access | None, detail: str) -> None:
        """Note an access to a CTA that is not there."""
        key = (code, own.role, own.operation)
        if not self.seen(key):
            self.add(key, Finding(code, own, target, "", 0, detail))

    def all(self) -> tuple[Finding, ...]:
        """All kinds, in the order in which they came up."""
        return tuple(self._found.values())
