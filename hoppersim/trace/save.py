"""From a recorder whose run has ended to a trace file, and what to say about it."""

from __future__ import annotations

from pathlib import Path

from hoppersim.result.schema import Result
from hoppersim.trace.draw import draw_timeline
from hoppersim.trace.perfetto_file import write_trace
from hoppersim.trace.recorder import Recorder
from hoppersim.trace.timeline import Notes
from hoppersim.units import to_cycles

VIEWER = "ui.perfetto.dev"


def save_trace(recorder: Recorder, result: Result, path: Path) -> list[str]:
    """Write what a recorder noted of a run as a file in Perfetto's format.

    Parameters
    ----------
    recorder
        The observer of the run (see `hoppersim.result.api.simulate`).
    result
        What the run said.
    path
        File to write, whole or not at all.

    Returns
    -------
    list of str
        What the trace shows, and what was cut.

    Raises
    ------
    InputError
        If nothing was noted, or the file cannot be written.
    """
    notes: Notes = {
        "machine": result.machine,
        "machine hash": result.machine_hash,
        "work hash": result.work_hash,
        "one microsecond in the viewer": "one SM cycle",
        "cycles of the run": round(result.run_cycles),
    }
    if recorder.was_cut:
        notes["cut"] = f"the size limit of {recorder.selection.megabytes} MB was reached"
    timeline = draw_timeline(recorder, f"{result.work} on {result.machine}", notes)
    write_trace(timeline, path)
    begin, end = to_cycles(timeline.begin), to_cycles(timeline.end)
    clusters = len({(cta.flow.index, cta.cluster) for cta in recorder.ctas})
    counted = f"{clusters} cluster{'s' * (clusters > 1)}"
    shown = (
        f"Trace of {len(recorder.ctas)} of {result.ctas} CTAs ({counted}), cycles {begin:,.0f} to "
        f"{end:,.0f}: {path} ({path.stat().st_size / 1e6:,.2f} MB). Open it at {VIEWER}; a microsecond "
        f"there is an SM cycle."
    )
    lines = [shown]
    if recorder.was_cut:
        lines.append(
            f"The trace ends at cycle {end:,.0f}, where it reached its limit of "
            f"{recorder.selection.megabytes} MB: choose a window, fewer clusters, or a higher limit."
        )
    return lines
