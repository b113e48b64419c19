"""What a study of a design space says: a base, what varies, and what counts."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Aim = Literal["min", "max"]
Settings = dict[str, Any]
"""Values by the name of their parameter."""

DEFAULT_COLUMNS = (
    "cycles",
    "used_sm_bytes_per_cycle",
    "tb_per_second",
    "limiter",
    "limiter_share",
)


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    """Values from `start` to `end`, both included if the pace meets them; the pace is one of the others.

    Parameters
    ----------
    start, end
        First value and upper end; ``from`` and ``to`` in a file.
    step
        Added at each step; 1 if nothing else is given.
    factor
        Multiplied by at each step.
    count
        Values, evenly spread.
    """

    start: float
    end: float
    step: float | None = None
    factor: float | None = None
    count: int | None = None


class Draw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a parameter is drawn at random: exactly one of `uniform`, `log` and `choice`.

    Parameters
    ----------
    uniform, log
        Lowest and highest value, drawn evenly, or evenly over orders of magnitude.
    choice
        Values to choose from.
    step
        Keeps `uniform` and `log` to multiples of it, counted from the lowest value.
    """

    uniform: tuple[float, float] | None = None
    log: tuple[float, float] | None = None
    choice: list[Any] | None = None
    step: float | None = None


class Random(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Random samples: `count` of them, each with a value of every parameter of `axes` (see `Draw`).

    The samples depend on `seed` and on the name of the parameter alone: more samples, or another parameter
    beside it, leave those that there were.
    """

    count: int
    axes: dict[str, Any]
    seed: int = 0


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a column may be, both ends included; a size in bytes may have a suffix."""

    min: float | str | None = None
    max: float | str | None = None


class Sweep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"settings": "set"}):
    """A study of a design space; a study file has the same fields (`settings` is the table ``[set]``).

    Parameters
    ----------
    name
        Names the files of the study: letters, digits, ``_`` and ``-``.
    question
        What the study answers.
    preset, floorplan, settings
        The base machine, and the numbers of it that are changed at every point, by dotted name.
    case
        The base work: a `hoppersim.Case`, or its fields.
    flow
        A flow file, instead of a case.
    axes
        Grid: for each parameter a list of values or a `Range`. The first one varies slowest. A parameter is
        a number of the machine by its dotted name, a field of the case (``sms.per_gpc`` reaches inside),
        ``preset``, ``floorplan``, ``flow``, or a path in the flow file such as ``flows[0].launch.seed``.
    linked
        Groups of parameters that change together: the lists of a group have one length.
    random
        Random samples, each combined with the whole grid.
    against
        Values that single out the baseline of each point among those that agree in all else; gives the
        column ``speedup``, by time per delivered byte.
    columns
        Figures to keep beside the parameters.
    objectives
        Columns by which points are compared, and whether less (``min``) or more (``max``) is better.
    limits
        Columns that must lie in a range; points outside stay as rows, and are not simulated where that is
        known before.
    max_cycles
        Give a point up after so many SM cycles [cycle].

    Examples
    --------
    >>> from hoppersim import Case
    >>> sweep = Sweep("stages", case=Case("unicast"), axes={"stages": range(1, 9)})
    """

    name: str
    question: str = ""
    preset: str = "h200_sxm"
    floorplan: str | None = None
    settings: Settings = {}
    case: Any = None
    flow: str | None = None
    axes: dict[str, Any] = {}
    linked: tuple[dict[str, Any], ...] = ()
    random: Random | None = None
    against: Settings = {}
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    objectives: dict[str, Aim] = {}
    limits: dict[str, Limit] = {}
    max_cycles: int | None = None

    @property
    def varied(self) -> tuple[str, ...]:
        """Names of the parameters that vary, as often as they are given."""
        drawn = self.random.axes if self.random is not None else {}
        return tuple(name for table in (drawn, *self.linked, self.axes) for name in table)
