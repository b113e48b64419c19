"""Where a command line begins: an interrupt ends it quietly, even while it still loads its parts."""

from __future__ import annotations

import sys
from importlib import import_module

from hoppersim.errors import EXIT_INTERRUPTED


def start(module: str) -> None:
    """Load the module of a command line, and run its `entry`.

    Parameters
    ----------
    module
        Its full name.
    """
    try:
        import_module(module).entry()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
