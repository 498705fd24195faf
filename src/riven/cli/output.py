"""The one place that writes to the standard streams."""

import errno
import os
import select
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TextIO

import click

LINES_ONLY = "riven.lines_only"
"""Set in Click's context for a terminal that can only go on to the next line."""


class OutputClosedError(Exception):
    """Whoever read our output has gone, as in `riven ... | head`: there is nobody left to tell anything."""


class OutputError(Exception):
    """Our output cannot be written, and somebody should know why: a full disk."""


def prepare_streams() -> None:
    """Let neither a character that the terminal's encoding lacks end the command nor a stream closed beforehand."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends
            setattr(sys, name, nowhere)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """One or more lines on standard output; styles only where they are shown."""
    _write(sys.stdout, text + "\n")


def say_lines(lines: Iterable[str]) -> None:
    """Plain lines in one go."""
    _guarded(sys.stdout, "".join(f"{line}\n" for line in lines))


def say_bytes(data: bytes) -> None:
    """JSON is UTF-8 whatever the terminal speaks."""
    try:
        sys.stdout.flush()
        buffer: IO[bytes] | None = getattr(sys.stdout, "buffer", None)
        if buffer is None:
            sys.stdout.write(data.decode())
            return
        buffer.write(data)
        buffer.flush()
    except OSError as error:
        raise _translated(error) from None


def complain(text: str) -> None:
    """One line on standard error. If nobody listens there either, so be it."""
    try:
        _write(sys.stderr, text + "\n")
    except (OutputClosedError, OutputError):
        return


def say_if_heard(text: str) -> None:
    """For programs that go on whether or not somebody reads: a pipe that is full, or closed, holds nothing up."""
    try:
        if select.select([], [sys.stdout], [], 0)[1]:
            say(text)
    except (OutputClosedError, OutputError, OSError, ValueError):
        return


def speaks_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "ascii").lower().replace("-", "") in {"utf8", "utf16", "utf32"}


def shows_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def coloured() -> bool:
    """Whether colours are wanted where they can be shown."""
    context = click.get_current_context(silent=True)
    return context is None or context.color is not False


def draws_pictures() -> bool:
    """Whether standard output is a terminal on which a picture can be drawn over."""
    context = click.get_current_context(silent=True)
    return shows_terminal(sys.stdout) and (context is None or LINES_ONLY not in context.meta)


def silence() -> None:
    """After the reader has gone: what is still buffered goes nowhere, so that the interpreter ends without a word."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return
    finally:
        os.close(nowhere)


def _write(stream: TextIO, text: str) -> None:
    _guarded(stream, text if coloured() and shows_terminal(stream) else click.unstyle(text))


def _guarded(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        raise _translated(error) from None


def _translated(error: OSError) -> Exception:
    if error.errno in {errno.EPIPE, errno.EIO}:
        return OutputClosedError()
    return OutputError(f"the output cannot be written: {error.strerror}")
