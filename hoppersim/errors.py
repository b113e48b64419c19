"""The one tree of errors, and the exit codes of every command."""

from __future__ import annotations

EXIT_OK = 0
EXIT_INTERNAL = 1
EXIT_INPUT = 2
EXIT_VIOLATIONS = 3
EXIT_HANG = 4
EXIT_TOLERANCE = 5
EXIT_INTERRUPTED = 130  # what shells give for a command that was interrupted


class HopperSimError(Exception):
    """Any error that the package raises on purpose; `exit_code` is what a command returns."""

    exit_code = EXIT_INTERNAL


class InputError(HopperSimError):
    """A value that breaks a rule.

    Parameters
    ----------
    field
        Dotted path of the offending field, for example ``launch.cluster``.
    value
        What was given.
    rule
        What the field must satisfy, as a full sentence without the final dot.
    nearest
        The nearest legal value, where one can be named.
    """

    exit_code = EXIT_INPUT

    def __init__(self, field: str, value: object, rule: str, nearest: object = None) -> None:
        self.field = field
        self.value = value
        self.rule = rule
        self.nearest = nearest
        super().__init__(str(self))

    def __str__(self) -> str:
        hint = f"; nearest legal value: {self.nearest}" if self.nearest is not None else ""
        return f"{self.field} = {self.value!r}: {self.rule}{hint}"

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return (type(self), (self.field, self.value, self.rule, self.nearest))


class InternalError(HopperSimError):
    """The simulator broke one of its own invariants; a defect, never the user's fault."""
