"""Finds studies: every module of this package that defines ``STUDY``."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules

import hoppersim.experiments
from hoppersim.errors import InputError
from hoppersim.experiments.study import Study

_MACHINERY = frozenset({"registry", "runner", "silicon", "study"})


def study_names() -> list[str]:
    """List the names of all studies."""
    modules = (module.name for module in iter_modules(hoppersim.experiments.__path__))
    return sorted(name for name in modules if name not in _MACHINERY)


def find_study(name: str) -> Study:
    """Load a study by name.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    names = study_names()
    if name not in names:
        nearest = get_close_matches(name, names, n=1, cutoff=0.0)
        rule = f"must be one of: {', '.join(names)}"
        raise InputError("experiment", name, rule, nearest[0] if nearest else None)
    study = import_module(f"hoppersim.experiments.{name}").STUDY
    assert isinstance(study, Study)
    return study
