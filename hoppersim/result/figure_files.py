"""Figures as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hoppersim.result.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("png", "svg")
"""Formats of figures."""


def write_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG beside each other; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        The figure.
    stem
        Name of the files without their suffixes.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    import matplotlib as mpl

    written = []
    for kind in FIGURES:
        path = stem.with_suffix(f".{kind}")
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        with mpl.rc_context({"svg.hashsalt": "hoppersim", "svg.fonttype": "none"}):
            write_whole(
                path,
                lambda file, kind=kind, metadata=metadata: figure.savefig(  # type: ignore[misc]
                    file, format=kind, dpi=150, metadata=metadata
                ),
            )
        written.append(path)
    return written
