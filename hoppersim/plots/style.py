"""One look for all figures: colours that also differ in grey, and a marker and dash for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

INK = "#222222"
MUTED = "#777777"
FAINT = "#e9e9e9"


@dataclass(frozen=True)
class Series:
    """How one series looks: a colour, a marker and a dash, each enough to tell it from the others."""

    colour: str
    marker: str
    dash: str

    @property
    def line(self) -> dict[str, Any]:
        """Keywords of a line."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.dash,
            "linewidth": 1.8,
            "markersize": 6,
        }


# Dark to light, so that a grey print keeps the order.
SERIES = (
    Series("#b2182b", "s", "--"),
    Series("#4d4d4d", "o", ":"),
    Series("#2166ac", "^", "-"),
    Series("#5aae61", "D", "-."),
)

BOUND_LINE: dict[str, Any] = {"linewidth": 0.9, "linestyle": "-", "alpha": 0.7, "zorder": 1.8}
"""How bounds look: thin and unbroken, where series are thick or broken."""
SILICON_NAME = "measured on an H200"


def silicon(axes: Axes, x: Sequence[float], y: Sequence[float], look: Series) -> None:
    """Draw measured values of a series as large hollow marks."""
    axes.scatter(x, y, s=80, facecolors="none", edgecolors=look.colour, marker=look.marker, zorder=4)


def silicon_key() -> Line2D:
    """Make the legend's entry for measured values."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=MUTED, linestyle="", marker="o", markersize=9, fillstyle="none", label=SILICON_NAME
    )


def bound_key(name: str = "bound") -> Line2D:
    """Make the legend's entry for bounds."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=INK, label=name, **BOUND_LINE)


def band(axes: Axes, error: float) -> None:
    """Shade the ratios around 1 that an error may explain; a thin line marks 1."""
    axes.axhline(1, color=INK, linewidth=0.8, zorder=1)
    axes.axhspan(1 / (1 + error), 1 + error, color=FAINT, zorder=0.5)


def band_key() -> Patch:
    """Make the legend's entry for what an error may explain."""
    from matplotlib.patches import Patch

    return Patch(facecolor=FAINT, label="within the model's error")


def doubling(axes: Axes, values: Iterable[float], names: Sequence[str] | None = None) -> None:
    """Give the x axis a step for each doubling, and a tick for each value alone."""
    ticks = sorted(set(values))
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, names or [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


RC: Any = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.facecolor": "white",
}
