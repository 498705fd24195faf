"""Where a run is shown: as plain lines, or not at all. The live picture is in `live`."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from riven.cli.ending import Ending
from riven.cli.output import OutputClosedError, OutputError, complain, say_lines
from riven.cli.plain import PlainLines
from riven.cli.progress import Progress, Row
from riven.cli.questions import Answer, Question
from riven.core.graph import Graph
from riven.core.ids import NodePath
from riven.core.messages import NodeStatus
from riven.nodes.contract import Clock

_A_WHILE = 1.0
"""Seconds after which a node that runs gets a line."""


class Screen(Protocol):
    """Everything is called in the event loop, between `start` and `close`, but `abandon`."""

    def start(self) -> None: ...
    def changed(self, row: Row) -> None: ...

    def ask(self, question: Question) -> bool:
        """Whether somebody is there to be asked."""

    def withdraw(self, path: NodePath) -> None: ...
    def notice(self, text: str) -> None: ...
    def logged(self, text: str) -> None: ...
    def ended(self, ending: Ending) -> None: ...
    def close(self) -> None: ...

    def abandon(self) -> None:
        """The process ends now: leave the terminal as it was."""


class OpenScreen(Protocol):
    """What `live.LiveScreen` is for those who do not import it."""

    def __call__(
        self,
        name: str,
        progress: Progress,
        clock: Clock,
        answer: Callable[[Answer], str | None],
        fail: Callable[[Exception], None],
        *,
        coloured: bool,
    ) -> Screen: ...


class QuietScreen:
    """For `--json`: the object at the end says it all. Notices and log lines go to standard error."""

    def start(self) -> None:
        pass

    def changed(self, row: Row) -> None:
        pass

    def ask(self, question: Question) -> bool:
        del question
        return False

    def withdraw(self, path: NodePath) -> None:
        pass

    def notice(self, text: str) -> None:
        complain(f"riven: {text}")

    def logged(self, text: str) -> None:
        complain(text)

    def ended(self, ending: Ending) -> None:
        pass

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class PlainScreen(QuietScreen):
    """One line for each change, but that a node began only when it goes on for a while: most are over at once.

    Lines are written in one go for all that changes together.
    """

    def __init__(self, graph: Graph, clock: Clock, fail: Callable[[Exception], None]) -> None:
        """`fail` is told when the lines can no longer be written."""
        self._lines = PlainLines(graph)
        self._clock = clock
        self._fail = fail
        self._waiting: list[str] = []
        self._running: dict[NodePath, asyncio.TimerHandle] = {}

    def changed(self, row: Row) -> None:
        begun = self._running.pop(row.path, None)
        if begun is not None:
            begun.cancel()
        if row.status is NodeStatus.RUNNING:
            later = asyncio.get_running_loop().call_later(_A_WHILE, self._goes_on, row)
            self._running[row.path] = later
        else:
            self._line(row)

    def logged(self, text: str) -> None:
        self._write()
        complain(text)

    def ended(self, ending: Ending) -> None:
        self.close()
        say_lines([ending.plain_line()])

    def close(self) -> None:
        for later in self._running.values():
            later.cancel()
        self._running.clear()
        lines, self._waiting = self._waiting, []
        say_lines(lines)

    def _goes_on(self, row: Row) -> None:
        self._running.pop(row.path, None)
        self._line(row)

    def _line(self, row: Row) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._write)
        self._waiting.append(self._lines.line(row, self._clock.now()))

    def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        try:
            say_lines(lines)
        except (OutputClosedError, OutputError) as error:
            self._fail(error)
