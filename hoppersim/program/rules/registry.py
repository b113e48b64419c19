"""The registry of rules: each has a code, a page that explains it, and a function that finds violations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hoppersim.errors import InputError
from hoppersim.program.operands import nearest_name
from hoppersim.program.rules.context import Context


class Finding(NamedTuple):
    """What a rule found: a field inside the flow, its value, the rule in words, the nearest legal value."""

    field: str
    value: object
    rule: str
    nearest: object = None


class Violation(NamedTuple):
    """A finding with the code of its rule; `field` is the path inside the work."""

    code: str
    field: str
    value: object
    rule: str
    nearest: object = None

    def __str__(self) -> str:
        hint = f"; smallest change: {self.nearest}" if self.nearest is not None else ""
        return f"{self.code} {self.field} = {self.value!r}: {self.rule}{hint}"


Checker = Callable[[Context], Iterator[Finding]]
Turn = Literal["first", "plain", "deep"]


@dataclass(frozen=True)
class Rule:
    """One rule, checked in its turn: those of a later turn only where no rule of an earlier one is broken.

    First come the limits within which the others can count, last those that follow the program's course. What
    breaks a `needed` rule cannot be simulated at all, not even to see how it fails.
    """

    code: str
    title: str
    source: str
    checker: Checker
    turn: Turn
    needed: bool


RULES: dict[str, Rule] = {}
"""All rules by code, in the order in which they are checked."""


def rule(
    code: str, title: str, source: str, *, turn: Turn = "plain", needed: bool = False
) -> Callable[[Checker], Checker]:
    """Register a checker; its docstring is the page that explains the rule, with an example and the fix.

    Parameters
    ----------
    code
        Stable code, ``HS-XX-000``.
    title
        The rule in one sentence.
    source
        The text or measurement that the rule comes from.
    turn, needed
        When it is checked, and whether a simulation depends on it (see `Rule`).
    """

    def register(checker: Checker) -> Checker:
        if code in RULES:
            raise ValueError(f"the code {code} is taken")
        RULES[code] = Rule(code, title, source, checker, turn, needed)
        return checker

    return register


def explain_code(code: str) -> str:
    """Give the page of a rule: the rule, why it holds, its source, an example and the fix.

    Raises
    ------
    InputError
        If no rule has this code.
    """
    if code.upper() not in RULES:
        rule_text = f"must be the code of a rule, {next(iter(RULES))} to {list(RULES)[-1]}"
        raise InputError("code", code, rule_text, nearest_name(code.upper(), RULES))
    found = RULES[code.upper()]
    page = inspect.getdoc(found.checker) or ""
    return f"{found.code}: {found.title}\n\n{page}\n\nSource: {found.source}\n"
