"""Draws a study's figures if there is a module of its name here, and writes them as PNG and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hoppersim.experiments.study import Row, Study
from hoppersim.result.figure_files import write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_study(study: Study, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw the figure of a study into `folder`.

    Returns
    -------
    list of Path
        The files written; empty when the study has no figure.
    """
    module = f"hoppersim.plots.{study.name}"
    if find_spec(module) is None:
        return []
    figure: Figure = import_module(module).draw(study, rows)
    return write_figure(figure, folder / study.name)
