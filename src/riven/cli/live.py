"""A run on a terminal: the picture drawn anew ten times a second, questions below it, log lines above."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from riven.cli.ending import Ending
from riven.cli.keyboard import Keyboard
from riven.cli.lettering import printable
from riven.cli.output import OutputClosedError, speaks_unicode
from riven.cli.progress import Progress, Row
from riven.cli.questions import Answer, Question, Questions
from riven.cli.tree import TreeView, end_line
from riven.core.ids import NodePath
from riven.nodes.contract import Clock

_INTERVAL = 0.1
_SHOW_CURSOR = b"\x1b[?25h\r\n"


class LiveScreen:
    def __init__(
        self,
        name: str,
        progress: Progress,
        clock: Clock,
        answer: Callable[[Answer], str | None],
        fail: Callable[[Exception], None],
        *,
        coloured: bool,
    ) -> None:
        """`answer` is told what was typed and may give the reason why that cannot be: it is asked again then.

        `fail` is told when the terminal has gone.
        """
        self._console = console = terminal(coloured=coloured)
        self._unicode = speaks_unicode(sys.stdout)
        self._view = TreeView(name, progress, clock.now(), clock.now, unicode=self._unicode)
        self._live = Live(self._view, console=console, auto_refresh=False, vertical_overflow="crop")
        self._keyboard = Keyboard()
        self._questions = Questions()
        self._answer = answer
        self._fail = fail
        self._refreshing: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._live.start()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCONT, self._continued)
        self._refreshing = loop.create_task(self._refresh())

    def changed(self, row: Row) -> None:
        """It will be seen with the next picture."""

    def ask(self, question: Question) -> bool:
        if not self._keyboard.opened:
            if not self._keyboard.usable():
                return False
            self._keyboard.open()
            asyncio.get_running_loop().add_reader(self._keyboard.number, self._typed)
        self._questions.ask(question)
        self._view.question = self._questions.lines()
        return True

    def withdraw(self, path: NodePath) -> None:
        self._questions.withdraw(path)
        self._asked()

    def notice(self, text: str) -> None:
        self._view.notice = text
        self._live.refresh()

    def logged(self, text: str) -> None:
        self._console.print(Text(printable(text)))

    def ended(self, ending: Ending) -> None:
        self._view.ended = ending.status
        self._view.notice = None
        self._live.vertical_overflow = "visible"
        self.close()
        self._console.print(end_line(ending.status, ending.sentence(), unicode=self._unicode))
        for line in ending.output_lines():
            self._console.print(Text(line), soft_wrap=True)

    def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
            self._refreshing = None
            asyncio.get_running_loop().remove_signal_handler(signal.SIGCONT)
        self._close_keyboard()
        self._view.question = ()
        if self._live.is_started:
            self._live.refresh()
            self._live.stop()

    def abandon(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # a terminal that is gone needs nothing
            self._keyboard.close()
            os.write(1, _SHOW_CURSOR)  # this may interrupt a write of the stream's own

    async def _refresh(self) -> None:
        try:
            while True:
                self._live.refresh()
                await asyncio.sleep(_INTERVAL)
        except OSError:
            self._fail(OutputClosedError())

    def _continued(self) -> None:
        """After Ctrl-Z and `fg`: the shell has set the terminal as it likes it."""
        if self._keyboard.opened and self._keyboard.usable():
            self._keyboard.open()

    def _typed(self) -> None:
        data = self._keyboard.read()
        if not data:
            self._close_keyboard()
        for question, answer in self._questions.feed(data):
            refusal = self._answer(answer)
            if refusal is not None:
                self._questions.refuse(question, refusal)
        self._asked()
        self._live.refresh()

    def _asked(self) -> None:
        self._view.question = self._questions.lines()
        if self._questions.current is None:
            self._close_keyboard()

    def _close_keyboard(self) -> None:
        if self._keyboard.opened:
            asyncio.get_running_loop().remove_reader(self._keyboard.number)
            self._keyboard.close()


def terminal(*, coloured: bool) -> Console:
    """Standard output; rich itself looks at NO_COLOR."""
    return Console(highlight=False, markup=False, emoji=False, no_color=None if coloured else True)
