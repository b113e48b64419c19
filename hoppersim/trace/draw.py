"""From what a recorder noted to a timeline: a track for each role, TMA engine and barrier, and for links."""

from __future__ import annotations

from collections import defaultdict

from hoppersim.engine.context import Cta
from hoppersim.engine.roles import RoleRun
from hoppersim.errors import InputError
from hoppersim.program.operations import Arrive, Compute, For, StoreWait, Sync, Wait
from hoppersim.trace.parts import (
    draw_barrier,
    draw_engine,
    draw_links,
    is_asynchronous_store,
    names_of_barriers,
)
from hoppersim.trace.recorder import Act, Recorder
from hoppersim.trace.replay import History, Phase, Receipt, match_receipts, replay
from hoppersim.trace.timeline import Notes, Slice, Timeline, Track
from hoppersim.units import to_cycles


def draw_timeline(recorder: Recorder, title: str, notes: Notes) -> Timeline:
    """Draw what a recorder noted.

    Parameters
    ----------
    recorder
        After its run.
    title, notes
        Name of the whole, and what else to say about it.

    Raises
    ------
    InputError
        If nothing was noted: no such cluster ran, or the window lies behind the end of the run.
    """
    selection = recorder.selection
    if not recorder.ctas:
        chosen = sorted(selection.clusters) or sorted(selection.sms)
        what = "clusters" if selection.clusters else "SMs with clusters"
        raise InputError("trace", chosen, f"must name {what} that run", 0)
    last = max(recorder.now, *(act.end for act in recorder.acts), 1)
    if selection.begin >= last:
        rule = f"the window must begin before the run ends, at cycle {to_cycles(last):,.0f}"
        raise InputError("window", f"{to_cycles(selection.begin):,.0f}", rule, 0)
    return _Drawing(recorder, Timeline(selection.begin, min(last, recorder.stop))).draw(title, notes)


class _Drawing:
    """Draws one timeline, part by part."""

    def __init__(self, recorder: Recorder, timeline: Timeline) -> None:
        self.recorder = recorder
        self.timeline = timeline
        self.receipts, self.owners = match_receipts(recorder.sent, recorder.posts)
        self.names: dict[int, str] = {}
        for cta in recorder.ctas:
            self.names |= names_of_barriers(cta.barriers)
        self.histories = self._replay()
        self.by_act: dict[int, Slice | None] = {}
        self.by_receipt: dict[int, Slice | None] = {}
        self.waits: list[tuple[Act, Slice]] = []

    def draw(self, title: str, notes: Notes) -> Timeline:
        """Draw all parts, then the arrows between them."""
        timeline = self.timeline
        root = timeline.track(title)
        timeline.slice(root, title, timeline.begin, timeline.end, notes)
        draw_links(timeline, timeline.track("link use", root), self.recorder.readings)
        self._engines(timeline.track("TMA engines", root))
        acts = self._acts_by_role()
        for cta in self.recorder.ctas:
            if cta.rank == 0:
                self._cluster(cta, root, acts)
        self._arrows()
        return timeline

    def _replay(self) -> dict[int, History]:
        posts: dict[int, list[int]] = defaultdict(list)
        for number, post in enumerate(self.recorder.posts):
            posts[post.barrier].append(number)
        born: dict[int, int] = {}
        for cta in self.recorder.ctas:
            born |= dict.fromkeys(names_of_barriers(cta.barriers), cta.start)
        return {
            barrier: replay(count, born.get(barrier, 0), self.recorder.posts, posts[barrier])
            for barrier, count in self.recorder.counts.items()
        }

    def _engines(self, group: Track) -> None:
        engines: dict[tuple[int, str], list[list[Receipt]]] = defaultdict(list)
        for receipts in self.receipts:
            name = "asynchronous stores" if is_asynchronous_store(receipts) else "TMA engine"
            engines[receipts[0].sent.transfer.sm, name].append(receipts)
        for (sm, name), transfers in sorted(engines.items()):
            transfers.sort(key=lambda receipts: receipts[0].sent.transfer.tick)
            self.by_receipt |= draw_engine(self.timeline, group, f"SM {sm}, {name}", transfers)

    def _acts_by_role(self) -> dict[int, list[tuple[RoleRun, list[Act]]]]:
        """Sort operations by CTA and role, in the order in which they began."""
        by_run: dict[RoleRun, list[Act]] = defaultdict(list)
        for act in sorted((*self.recorder.acts, *self.recorder.unfinished()), key=lambda act: act.number):
            by_run[act.run].append(act)
        found: dict[int, list[tuple[RoleRun, list[Act]]]] = defaultdict(list)
        for run, acts in by_run.items():
            found[id(run.cta)].append((run, acts))
        return found

    def _cluster(self, first: Cta, root: Track, acts: dict[int, list[tuple[RoleRun, list[Act]]]]) -> None:
        gpc = int(first.flow.machine.gpc_of[first.sm])
        several = max(cta.flow.index for cta in self.recorder.ctas) > 0
        flow = f"flow {first.flow.index}, " if several else ""
        cluster = self.timeline.track(f"{flow}cluster {first.cluster}, GPC {gpc}", root)
        for cta in first.peers:
            group = self.timeline.track(f"rank {cta.rank}, SM {cta.sm}", cluster)
            for run, performed in acts[id(cta)]:
                track = self.timeline.track(run.role.name, group)
                for act in performed:
                    self._act(track, act)
            barriers = self.timeline.track("barriers", group)
            for number, name in names_of_barriers(cta.barriers).items():
                draw_barrier(self.timeline, barriers, name, self.histories[number])

    def _act(self, track: Track, act: Act) -> None:
        """Draw one operation, and in a wait that blocked the time from the completion to the wake-up."""
        end = act.end if act.end >= 0 else self.timeline.end
        notes: Notes = dict(act.loops)
        if act.phase >= 0:
            notes["phase"] = act.phase
        drawn = self.timeline.slice(track, self._label(act), act.start, end, notes, act.depth)
        self.by_act[act.number] = drawn
        phase = self._phase(act)
        if drawn is None or phase is None or phase.end < 0:
            return
        if act.blocked:
            drawn = self.timeline.slice(track, "wake", max(phase.end, act.start), end, None, act.depth + 1)
        if drawn is not None:
            self.waits.append((act, drawn))

    def _label(self, act: Act) -> str:
        operation, barrier = act.operation, self.names.get(act.barrier, "")
        tag = str(type(operation).__struct_config__.tag)
        match operation:
            case For(name=name, n=n):
                return f"for {name} ({n} trips)"
            case Sync(scope=scope):
                return f"sync {scope}"
            case Compute() | StoreWait():
                return tag
            case _:
                return f"{tag} {barrier}".rstrip()

    def _phase(self, act: Act) -> Phase | None:
        """Find the phase that an operation waited for."""
        if act.phase < 0 or not isinstance(act.operation, Wait | StoreWait):
            return None
        phases = self.histories[act.barrier].phases
        return phases[act.phase] if act.phase < len(phases) else None

    def _arrows(self) -> None:
        """Draw arrows from issue to transfer, and from what completed a phase to who waited for it."""
        for receipts in self.receipts:
            for receipt in receipts:
                self.timeline.arrow(self.by_act.get(receipt.sent.act.number), self.by_receipt[id(receipt)])
        for act, woken in self.waits:
            phase = self._phase(act)
            assert phase is not None
            for number in phase.posts:
                self.timeline.arrow(self._cause(phase, number), woken)

    def _cause(self, phase: Phase, number: int) -> Slice | None:
        """Give the slice of what brought bytes, an arrival, or the completion itself; None for the rest."""
        post = self.recorder.posts[number]
        if number in self.owners:
            return self.by_receipt[id(self.owners[number])]
        if post.act is None:
            return None
        counts = post.bytes > 0 or isinstance(post.act.operation, Arrive) or number == phase.posts[-1]
        return self.by_act.get(post.act.number) if counts else None
