"""The one place that writes to the standard streams."""

import errno
import os
import sys
from collections.abc import Iterable
from typing import IO, TextIO

import click


class OutputClosedError(Exception):
    """Whoever read our output has gone, as in `riven ... | head`: there is nobody left to tell anything."""


def prepare_streams() -> None:
    """Let no character that the terminal's encoding lacks end the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """One or more lines on standard output; styles only where they are shown."""
    _write(sys.stdout, text + "\n")


def say_block(text: str) -> None:
    """Text as it is, for other programs: never styled, its line breaks its own."""
    _guarded(sys.stdout, text)


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
    except OutputClosedError:
        return


def speaks_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "ascii").lower().replace("-", "") in {"utf8", "utf16", "utf32"}


def shows_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


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
    context = click.get_current_context(silent=True)
    wanted = shows_terminal(stream) and not (context is not None and context.color is False)
    _guarded(stream, text if wanted else click.unstyle(text))


def _guarded(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        raise _translated(error) from None


def _translated(error: OSError) -> Exception:
    return OutputClosedError() if error.errno in {errno.EPIPE, errno.EIO} else error
