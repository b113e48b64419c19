"""Traces read back with the format's own classes: they tell the run as it was, and change nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hoppersim.errors import InputError
from hoppersim.machine.machine import Machine
from hoppersim.program import (
    Affine,
    Barrier,
    Buffer,
    For,
    Role,
    StoreWait,
    TensorMap,
    TmaStore,
    Wait,
    builders,
    make_work,
)
from hoppersim.program.case_spec import Case
from hoppersim.program.cases import build_case
from hoppersim.program.work import Work
from hoppersim.result.api import simulate
from hoppersim.result.schema import Result
from hoppersim.trace.perfetto_file import nanoseconds
from hoppersim.trace.recorder import Recorder
from hoppersim.trace.save import save_trace
from hoppersim.trace.selection import make_selection
from hoppersim.units import to_cycles, to_ticks

protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

MULTICAST = build_case(Case("multicast", cluster=2, rows=16, boxes=2, iterations=12, pattern="sweep"))


@dataclass
class Read:
    """One slice as the file has it; times in nanoseconds of the viewer."""

    path: tuple[str, ...]
    name: str
    start: int
    leaving: list[int]
    arriving: list[int]
    notes: dict[str, int | str]
    end: int = -1
    inside: list[str] = field(default_factory=list)


@dataclass
class Trace:
    """A trace file: tracks by id, slices, values of counters by path, and the times of events by track."""

    paths: dict[int, tuple[str, ...]]
    units: dict[tuple[str, ...], str]
    slices: list[Read]
    values: dict[tuple[str, ...], list[tuple[int, float]]]
    times: dict[int, list[int]]
    left_open: int

    def on(self, *parts: str) -> list[Read]:
        """List the slices on tracks whose path has all these parts."""
        return [
            item for item in self.slices if all(any(part in name for name in item.path) for part in parts)
        ]


def read_trace(path: Path) -> Trace:
    """Parse a file with the format's own classes."""
    packets = protos.Trace.FromString(path.read_bytes()).packet
    described = [packet.track_descriptor for packet in packets if packet.HasField("track_descriptor")]
    by_id = {track.uuid: track for track in described}

    def names(uuid: int) -> tuple[str, ...]:
        track = by_id[uuid]
        return (*(names(track.parent_uuid) if track.HasField("parent_uuid") else ()), track.name)

    paths = {uuid: names(uuid) for uuid in by_id}
    units = {paths[track.uuid]: track.counter.unit_name for track in described if track.HasField("counter")}
    trace = Trace(paths, units, [], defaultdict(list), defaultdict(list), 0)
    stacks: dict[int, list[Read]] = defaultdict(list)
    for packet in packets:
        if not packet.HasField("track_event"):
            continue
        event, time = packet.track_event, packet.timestamp
        uuid, stack = event.track_uuid, stacks[event.track_uuid]
        trace.times[uuid].append(time)
        if event.type == protos.TrackEvent.TYPE_COUNTER:
            trace.values[paths[uuid]].append((time, event.double_counter_value))
        elif event.type == protos.TrackEvent.TYPE_SLICE_BEGIN:
            notes = {
                note.name: note.int_value if note.HasField("int_value") else note.string_value
                for note in event.debug_annotations
            }
            ids = list(event.flow_ids), list(event.terminating_flow_ids)
            made = Read(paths[uuid], event.name, time, *ids, notes)
            if stack:
                stack[-1].inside.append(event.name)
            stack.append(made)
            trace.slices.append(made)
        else:
            stack.pop().end = time
    trace.left_open = sum(map(len, stacks.values()))
    return trace


def traced(
    machine: Machine,
    work: Work,
    path: Path,
    *,
    checks: bool = True,
    fabric: str = "compiled",
    **shown: object,
) -> tuple[Result, Trace, list[str]]:
    """Run and trace a work, and read the trace back."""
    recorder = Recorder(make_selection(**shown))  # type: ignore[arg-type]
    result = simulate(machine, work, observer=recorder, checks=checks, fabric=fabric)
    said = save_trace(recorder, result, path)
    return result, read_trace(path), said


@pytest.fixture(scope="module")
def trace(tiny: Machine, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Trace a small multicast."""
    return traced(tiny, MULTICAST, tmp_path_factory.mktemp("trace") / "run.pftrace")[1]


def _plain(result: Result) -> dict[str, object]:
    return {name: getattr(result, name) for name in result.__struct_fields__ if name != "speed"}


@pytest.mark.parametrize("fabric", ["compiled", "reference"])
def test_a_trace_changes_no_result(tiny: Machine, tmp_path: Path, fabric: str) -> None:
    result, _, _ = traced(tiny, MULTICAST, tmp_path / "run.pftrace", fabric=fabric)
    assert _plain(result) == _plain(simulate(tiny, MULTICAST, fabric=fabric))


def test_names_of_notes_are_such_as_the_viewer_keeps(trace: Trace) -> None:
    names = {name for item in trace.slices for name in item.notes}
    assert {"cycles of the run", "completed", "bytes"} <= names
    # Its importer writes an underscore for brackets, dots and the like.
    assert [name for name in names if not re.fullmatch(r"[\w ]+", name)] == []


def test_the_same_run_gives_the_same_bytes(tiny: Machine, tmp_path: Path) -> None:
    files = [tmp_path / "first.pftrace", tmp_path / "second.pftrace"]
    for file in files:
        traced(tiny, MULTICAST, file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_time_goes_on_along_every_track_and_slices_nest(trace: Trace) -> None:
    assert all(times == sorted(times) for times in trace.times.values())
    assert trace.left_open == 0
    assert all(item.start <= item.end for item in trace.slices)


def test_there_is_a_track_for_each_role_engine_and_barrier(trace: Trace) -> None:
    paths = set(trace.paths.values())
    ends = {path[-2:] for path in paths}
    for rank, roles in ((0, ("leader", "consumer")), (1, ("arm", "consumer"))):
        group = next(path[-1] for path in paths if path[-1].startswith(f"rank {rank}, SM "))
        assert {(group, role) for role in roles} <= ends
    assert {("barriers", f"{name}[{stage}]") for name in ("full", "free") for stage in range(4)} <= ends
    assert any(path[-2] == "TMA engines" for path in paths if len(path) > 1)


def test_every_operation_of_a_role_has_a_slice(trace: Trace) -> None:
    names = [item.name.split("[")[0] for item in trace.on("cluster 0,", "leader")]
    assert names[0] == "for tile (12 trips)"
    for name, count in (("wait free", 12), ("expect_tx full", 12), ("tma_load full", 24)):
        assert names.count(name) == count


def test_every_wait_ends_at_or_after_the_completion_that_it_waits_for(trace: Trace) -> None:
    completions = {
        (item.path[:-2], item.path[-1], int(item.name.removeprefix("phase "))): item.end
        for item in trace.on("barriers")
        if item.notes["completed"]
    }
    waits = [item for item in trace.slices if item.name.startswith("wait ") and "phase" in item.notes]
    assert len(waits) > 100
    for item in waits:
        completed = completions[item.path[:-1], item.name.removeprefix("wait "), int(item.notes["phase"])]
        assert item.end >= completed
        assert ("wake" in item.inside) == (item.start < completed)


def test_arrows_lead_from_issue_to_transfer_to_the_waiter(trace: Trace) -> None:
    source = {number: item for item in trace.slices for number in item.leaving}
    target = {number: item for item in trace.slices for number in item.arriving}
    assert source.keys() == target.keys()
    assert len(source) == sum(len(item.leaving) for item in trace.slices)
    assert all(source[number].start <= target[number].start for number in source)
    receipts = [item for item in trace.on("TMA engines") if item.name.startswith("to SM ")]
    assert len(receipts) == 4 * 12 * 2 * 2  # clusters, tiles, boxes, receivers
    for item in receipts:
        (issue,) = (source[number] for number in item.arriving)
        assert issue.name.startswith("tma_load full[")
        woken = [target[number] for number in item.leaving]
        assert {one.name.split()[0].split("[")[0] for one in woken} <= {"wake", "wait"}
        assert all(one.start >= item.end for one in woken)
        assert any("consumer" in one.path for one in woken)


def test_an_arrival_that_frees_a_stage_points_at_who_waited_for_it(trace: Trace) -> None:
    source = {number: item for item in trace.slices for number in item.leaving}
    freed = [item for item in trace.on("cluster 0,", "leader") if item.arriving]
    assert len(freed) == 8  # the first round of a ring of four finds its stages free
    for item in freed:
        causes = [source[number] for number in item.arriving]
        assert len(causes) == 2
        assert all(cause.name.startswith("arrive free[") for cause in causes)


def test_counters_of_a_barrier_end_where_nothing_is_missing(trace: Trace) -> None:
    for name, unit in (("bytes missing", "B"), ("arrivals missing", "arrivals")):
        found = {path: values for path, values in trace.values.items() if path[-1].endswith(name)}
        assert len(found) == 8 * 2 * 4  # stages of two barriers in eight CTAs
        assert all(trace.units[path] == unit for path in found)
    missing = {path: values for path, values in trace.values.items() if path[-1].endswith("bytes missing")}
    assert all(values[-1][1] == 0 for values in missing.values())
    assert max(value for values in missing.values() for _, value in values) == 2 * 16 * 128


def test_use_of_links_has_units_and_adds_up_to_the_traffic(tiny: Machine, tmp_path: Path) -> None:
    work = build_case(Case("unicast_distinct", rows=64, iterations=40, pattern="sweep"))
    result, trace, _ = traced(tiny, work, tmp_path / "run.pftrace")
    links = {path: values for path, values in trace.values.items() if "link use" in path}
    assert {trace.units[path] for path in links} == {"%", "B/cycle"}
    for path, values in links.items():
        if trace.units[path] == "%":
            assert min(value for _, value in values) >= 0
            assert max(value for _, value in values) <= 100
    (loaded,) = (values for path, values in links.items() if path[-1].startswith("loaded into"))
    ends = [time for time, _ in loaded[1:]]
    total = sum(value * (end - time) / 1000 for (time, value), end in zip(loaded, ends, strict=False))
    assert 0.7 * result.delivered_bytes < total <= result.delivered_bytes


def test_a_window_clips_slices_and_keeps_states(tiny: Machine, tmp_path: Path, trace: Trace) -> None:
    _, short, said = traced(tiny, MULTICAST, tmp_path / "run.pftrace", window="1000:500")
    begin, end = (nanoseconds(to_ticks(cycles)) for cycles in (1000, 1500))
    assert all(begin <= time <= end for times in short.times.values() for time in times)
    assert "cycles 1,000 to 1,500" in said[0]
    whole = {(item.path, item.start, item.name) for item in trace.slices}
    inside = [item for item in short.slices if item.start > begin and "TMA" not in str(item.path)]
    assert inside
    assert all((item.path, item.start, item.name) in whole for item in inside)


@pytest.mark.parametrize(("shown", "groups"), [({"clusters": "1,3"}, {"1", "3"}), ({"sms": "0"}, None)])
def test_chosen_clusters_are_shown_whole(
    tiny: Machine, tmp_path: Path, shown: dict[str, str], groups: set[str] | None
) -> None:
    _, trace, _ = traced(tiny, MULTICAST, tmp_path / "run.pftrace", **shown)
    clusters = {
        name.split()[1].rstrip(",") for path in trace.paths.values() for name in path if "cluster" in name
    }
    clusters -= {"on"}
    sms = [path[-1] for path in trace.paths.values() if path[-1].startswith("rank ")]
    assert len(sms) == 2 * len(clusters)
    assert clusters == groups if groups else any(name.endswith("SM 0") for name in sms)


def test_the_size_limit_holds_and_says_what_was_cut(tiny: Machine, tmp_path: Path) -> None:
    work = build_case(Case("multicast", cluster=4, rows=8, boxes=4, iterations=300, pattern="one"))
    file = tmp_path / "run.pftrace"
    result, trace, said = traced(tiny, work, file, megabytes=1)
    assert 100_000 < file.stat().st_size <= 1_000_000
    last = max(time for times in trace.times.values() for time in times) / 1000
    assert last < result.cycles
    assert f"The trace ends at cycle {last:,.0f}, where it reached its limit of 1 MB" in said[1]
    assert trace.left_open == 0


def test_a_hang_shows_who_waits_to_the_end(tiny: Machine, tmp_path: Path) -> None:
    work = make_work("stuck", roles=(Role("waiter", (Wait("full"),)),), barriers=(Barrier("full", 1),))
    result, trace, _ = traced(tiny, work, tmp_path / "run.pftrace", checks=False)
    assert _plain(result) == _plain(simulate(tiny, work, checks=False))
    assert result.hung
    (waiting, *_) = trace.on("waiter")
    assert waiting.name == "wait full[0]"
    assert waiting.end == max(item.end for item in trace.slices)
    assert not trace.on("barriers")[0].notes["completed"]


def test_stores_and_copies_point_at_who_waits_for_them(tiny: Machine, tmp_path: Path) -> None:
    body = (TmaStore("out", (0, Affine(loops={"i": 8}, wrap=64)), "tile"), StoreWait())
    stores = make_work(
        "stores",
        roles=(Role("writer", (For(4, body),)),),
        buffers=(Buffer("tile", 1024),),
        maps=(TensorMap("out", "out", (64, 64), (64, 8)),),
    )
    pushes = builders.dsmem_push(2, 1024, 2, 4)
    for work, kind in ((stores, "store 1,024 B"), (pushes, "copy 1,024 B")):
        _, trace, _ = traced(tiny, work, tmp_path / "run.pftrace", clusters="0")
        transfers = [item for item in trace.on("TMA engines") if item.name == kind]
        assert transfers
        assert all(item.arriving and item.leaving for item in transfers)


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ({"clusters": "77"}, "must name clusters that run"),
        ({"sms": "999"}, "must name SMs with clusters that run"),
        ({"window": "999999:10"}, "must begin before the run ends"),
    ],
)
def test_what_shows_nothing_is_bad_input_and_leaves_no_file(
    tiny: Machine, tmp_path: Path, shown: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        traced(tiny, MULTICAST, tmp_path / "run.pftrace", **shown)
    assert list(tmp_path.iterdir()) == []


def test_a_microsecond_is_a_cycle_and_no_two_ticks_fall_together() -> None:
    assert nanoseconds(to_ticks(7)) == 7000
    times = [nanoseconds(tick) for tick in range(600)]
    assert len(set(times)) == 600
    assert times == sorted(times)
    assert to_cycles(256) == 1


def test_the_documented_example_runs_as_written(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "traces.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Trace of 2 of 132 CTAs (1 cluster), cycles 500 to 1,500: run.pftrace")
