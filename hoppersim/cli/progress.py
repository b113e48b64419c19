"""A bar with the time left, for commands that take long."""

from __future__ import annotations

from types import TracebackType


class ProgressBar:
    """A bar on the standard error stream, where that is a terminal.

    Parameters
    ----------
    name
        What goes on.
    total
        Steps.
    """

    def __init__(self, name: str, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Left

        from hoppersim.cli.render import console

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        screen = console(stderr=True)
        # A bar in a file or a pipe would only leave empty lines there.
        self._bar = Progress(
            *columns,
            TextColumn("left"),
            Left(),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )
        self._task = self._bar.add_task(name, total=total)
        self._begun = False

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def at(self, done: int, total: int) -> None:
        """Show how many of all steps are done; those of the first call do not count for the time left."""
        if not self._begun:
            self._bar.reset(self._task, completed=done, total=total)
        else:
            self._bar.update(self._task, completed=done, total=total)
        self._begun = True
