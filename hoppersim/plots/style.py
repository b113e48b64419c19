"""One look for all figures: colours that also differ in grey, and a marker and dash for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INK = "#222222"
MUTED = "#777777"


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
