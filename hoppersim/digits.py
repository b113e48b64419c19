"""Numbers on a command line are written with the digits 0 to 9; Python would read those of any script."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from unicodedata import digit

from hoppersim.errors import InputError

_BETWEEN = frozenset(" +-.,:_xXeEkKmMgGiIbB")
"""What else may stand in a number, a size, a box or a list of numbers."""


def require_plain_digits(arguments: Sequence[str]) -> None:
    """Refuse arguments that are numbers in other digits.

    Raises
    ------
    InputError
        Naming the option or setting before the number.
    """
    for before, argument in pairwise(("command", *arguments)):
        name, equals, value = argument.rpartition("=")
        if value.isascii() or not all(letter.isdigit() or letter in _BETWEEN for letter in value):
            continue
        plain = "".join(str(digit(letter, letter)) for letter in value)
        raise InputError(name if equals else before, value, "must be written with the digits 0 to 9", plain)
