"""Where a number comes from."""

from __future__ import annotations

from typing import NamedTuple

from hoppersim.errors import InputError
from hoppersim.machine.rules import closest

KINDS = ("measured", "published", "fitted", "assumed", "provisional")
SET_BY_USER = "assumed: set by the user"
TAKEN_OVER = "taken over from"


class Origin(NamedTuple):
    """One parameter with its unit and its origin.

    A table is one parameter; its value is the name of the file that holds it, and a floorplan's value
    is its name.
    """

    value: int | float | str
    unit: str
    origin: str

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return self.origin.partition(":")[0]

    @property
    def taken_over(self) -> bool:
        """Whether the number is that of another preset (see `hoppersim.machine.inheritance`)."""
        return self.origin.partition(":")[2].strip().startswith(TAKEN_OVER)

    @property
    def provisional(self) -> bool:
        """Whether the number still waits for a measurement."""
        return self.kind == "provisional"


def check_origin(path: str, origin: object) -> str:
    """Return the origin if it is a kind, a colon and the evidence.

    Raises
    ------
    InputError
        If the kind is unknown or the evidence is missing.
    """
    rule = f"must read 'kind: evidence', with kind one of {', '.join(KINDS)}"
    if not isinstance(origin, str):
        raise InputError(f"{path}.origin", origin, rule)
    kind, _, evidence = origin.partition(":")
    if kind not in KINDS:
        raise InputError(f"{path}.origin", origin, rule, closest(kind, KINDS))
    if not evidence.strip():
        raise InputError(f"{path}.origin", origin, rule, f"{kind}: <evidence>")
    return origin
