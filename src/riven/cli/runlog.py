"""What `log` nodes write, shown as it comes."""

import logging
from collections.abc import Callable
from typing import Self

from riven.cli.ending import json_text
from riven.cli.lettering import printable
from riven.nodes.builtin.log import LOGGER


class ShownLog(logging.Handler):
    """Between enter and exit the messages of `log` nodes go to `show`; the engine's own records go nowhere.

    The screen tells what the engine's records would.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._show = show
        self._silence = logging.NullHandler()
        self._level = logging.NOTSET

    def __enter__(self) -> Self:
        logging.getLogger("riven").addHandler(self._silence)
        LOGGER.addHandler(self)
        self._level = LOGGER.level
        LOGGER.setLevel(logging.INFO)
        return self

    def __exit__(self, *_: object) -> None:
        LOGGER.setLevel(self._level)
        LOGGER.removeHandler(self)
        logging.getLogger("riven").removeHandler(self._silence)

    def emit(self, record: logging.LogRecord) -> None:
        path = getattr(record, "nodePath", "")
        level = "" if record.levelno == logging.INFO else f" {record.levelname.lower()}:"
        data = getattr(record, "data", None)
        more = "" if data is None else f" {json_text(data)}"
        self._show(printable(f"{path}:{level} {record.getMessage()}{more}"))
