"""How the parts of the compiled loop are compiled: into the entry points of the kernel, and nowhere else.

Numba would give each part two more entry points of its own, for Python and for C; unpacking all tables and
arrays there takes longer to compile than all the rest.
"""

from __future__ import annotations

from typing import Any

import numba

inlined: Any = numba.njit(  # type: ignore[call-overload]
    _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
"""Decorator of a function that only compiled functions call."""
